#!/usr/bin/env python3
"""The first table of docs/real-programs.md says what is met, and `--goals` runs what it is about; without network, without MPI."""
import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parent))
import page  # noqa: E402
import programs  # noqa: E402
import runs  # noqa: E402
import summary  # noqa: E402
import trees  # noqa: E402
from apps import PROGRAMS  # noqa: E402

CIRCUMSTANCES = page.Circumstances("2026-11-23", "abc1234", 2, 0.01, "./run programs demo")


def timed(case, ranks, ours_s, peer=1.0, complaint=""):
    """A row whose runs took so long; `peer`: its seconds, or a Seen."""
    peer = peer if isinstance(peer, runs.Seen) else runs.Seen(seconds=[peer])
    return runs.Row(case, ranks, {runs.OURS: runs.Seen(seconds=[ours_s]), "openmpi": peer}, complaint=complaint)


class Summary(unittest.TestCase):
    def test_a_goal_is_met_by_the_sum_of_the_cases_and_the_slowest_case_is_named(self):
        line = summary.row("demo", [timed("a", 2, 0.5), timed("b", 2, 1.5), timed("a", 8, 1.01)], CIRCUMSTANCES)
        self.assertEqual([cell.strip() for cell in line.split("|")[1:-1]],
                         ["demo", "1.00 (2.0 / 2.0 s, 2 cases)", "<= 1.03: met", "b: 1.50",
                          "1.01 (1.0 / 1.0 s, 1 case)", "<= 1.00: **not met**", "a: 1.01", "none",
                          "2026-11-23, abc1234, 0.01 cores by others"])
        busy = page.Circumstances("2026-11-23", "abc1234", 2, 0.5, "./run programs demo")
        self.assertIn("<= 1.03: met (busy)", summary.row("demo", [timed("a", 2, 0.5)], busy))
        self.assertEqual(line.count("|"), summary.heading().splitlines()[0].count("|"))

    def test_cases_that_one_of_them_did_not_end_are_not_added(self):
        rows = [timed("a", 2, 0.5), timed("b", 2, 9.0, runs.Seen("timeout", "no end", [30.0])),
                timed("c", 2, 9.0, complaint="status 1")]
        self.assertEqual(summary.of_rows(rows, 2), summary.Sum(1, 0.5, 1.0, "a", 0.5))
        self.assertIn("| not compared |  |  | 1 |", summary.row("demo", rows, CIRCUMSTANCES))
        self.assertIsNone(summary.row("demo", rows[1:], CIRCUMSTANCES))

    def test_a_line_takes_the_place_of_the_one_before_in_the_order_of_the_programs(self):
        text = "prose\n" + summary.BEGIN + summary.heading() + summary.END + "more\n"
        for name, line in (("b", "| b | 1 |\n"), ("a", "| a | 2 |\n"), ("b", "| b | 3 |\n")):
            text = summary.put(text, name, line, ["a", "b"])
        self.assertEqual(text, "prose\n" + summary.BEGIN + summary.heading() + "| a | 2 |\n| b | 3 |\n" + summary.END + "more\n")
        with self.assertRaises(page.PageError):
            summary.put("prose\n", "a", "| a |\n", ["a"])

    def test_goals_are_about_two_and_eight_ranks_of_what_is_built(self):
        self.assertEqual(programs.parse_arguments(["--goals"]).ranks, [2, 8])
        with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
            programs.parse_arguments(["--goals", "--no-peers"])
        program, found = SimpleNamespace(name="demo"), [SimpleNamespace(name="ours"), SimpleNamespace(name="openmpi")]
        with tempfile.TemporaryDirectory() as folder:
            for name in ("ours", "openmpi"):
                self.assertFalse(programs.is_built(program, found, Path(folder)))
                Path(folder, f"demo-{name}").mkdir()
                Path(folder, f"demo-{name}", trees.STAMP).touch()
            self.assertTrue(programs.is_built(program, found, Path(folder)))

    def test_the_page_of_this_project_has_its_table(self):
        names = [program.name for program in PROGRAMS]
        text = summary.put(page.PAGE.read_text(encoding="utf-8"), names[0], f"| {names[0]} |\n", names)
        self.assertEqual(text.count(summary.BEGIN), 1)


if __name__ == "__main__":
    unittest.main()
