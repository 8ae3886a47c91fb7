#!/usr/bin/env python3
"""bench/hosts, bench/interrupts and bench/net: what they make of samples; wrong options. Measures nothing.

usage: hosts.py --source SOURCE
"""
import argparse
import importlib.machinery
import importlib.util
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path


def load(name):
    """A program of bench/ as a module."""
    loader = importlib.machinery.SourceFileLoader(f"{name}_program", str(OPTIONS.source / "bench" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def sample(figures, error=""):
    return machine.Sample(figures=figures, error=error)


class Sections(unittest.TestCase):
    PAGE = "# Page\n\n## One\n\n| a |\n\n### Part\n\ntext\n\n## Two\n\nlast\n"

    def test_a_section_is_replaced_and_the_others_stay(self):
        text = sections.put(self.PAGE, "One", "new\n")
        self.assertEqual(text, "# Page\n\n## One\n\nnew\n\n## Two\n\nlast\n")
        self.assertEqual(sections.put(text, "One", "new"), text)

    def test_a_new_one_comes_last(self):
        self.assertEqual(sections.put(self.PAGE, "Three", "x"), self.PAGE + "\n## Three\n\nx\n")

    def test_a_page_that_is_not_there_is_made(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "R.md")
            sections.write(path, "Title", "One", "text")
            self.assertEqual(path.read_text(), "# Title\n\n## One\n\ntext\n")


class Page(unittest.TestCase):
    def setUp(self):
        eight = ("latency", 8)
        self.taken = {"latency": {
            "ours": [sample({eight: (us, "us")}) for us in (5.0, 6.0, 7.0)],
            "openmpi": [sample({eight: (12.0, "us")})] * 3,
            "openmpi-ucx": [sample({eight: (8.0, "us")})] * 3,
            "mpich": [sample({}, "latency: no end within 90 s")],
            "floor": [sample({("net_UCX", 8): (5.0, "us"), ("net_module", 8): (5.5, "us")})] * 3}}
        self.names = ["ours", "openmpi", "openmpi-ucx", "mpich"]

    def test_medians_the_better_peer_and_the_floor(self):
        text = page.section(self.taken, self.names, experiments.EXPERIMENTS)
        # The median of ours is 6, its quartiles 5.5 and 6.5.
        self.assertIn("| one way, 8 B | us | 6* | 12 | 8 | – | 0.75 | 5 | 1.20 |", text)
        self.assertIn("- MPICH: latency: no end within 90 s", text)

    def test_goals_say_what_is_missed(self):
        rows = {goal.text: goal for goal in page.goals(page.summaries(self.taken))}
        self.assertEqual(set(rows), {"8 B between hosts: at most 1.15 of raw UCX",
                                     "8 B between hosts: not behind the better peer"})
        self.assertFalse(rows["8 B between hosts: at most 1.15 of raw UCX"].is_met)
        self.assertTrue(rows["8 B between hosts: not behind the better peer"].is_met)
        # The better peer's 8 us where UCX alone takes 5: there is room for what an MPI does.
        self.assertEqual([goal.of_floor for goal in rows.values()], ["", "1.6"])

    def test_a_wrong_result_is_a_goal_that_is_missed(self):
        for wrong, is_met in ((0, True), (1, False)):
            data = page.summaries({"many": {"ours": [sample({("wrong_results", 1024): (wrong, "ranks")})]}})
            self.assertEqual([goal.is_met for goal in page.goals(data)], [is_met])

    def test_where_no_peer_comes_to_an_end_a_goal_says_so(self):
        data = page.summaries({"collectives": {"ours": [sample({("barrier", 32): (9.0, "us")})],
                                               "mpich": [sample({}, "no end")]}})
        self.assertEqual([(goal.measured, goal.is_met) for goal in page.goals(data)],
                         [("no peer has a figure", None)])

    def test_the_start_is_compared_with_ssh(self):
        figures = page.summaries({"start": {
            "ours": [sample({("start", 128): (0.6, "s"), ("start_less_ssh", 128): (0.2, "s")})],
            "floor": [sample({("ssh", 2): (0.4, "s")})]}})
        text = page.table(figures["start"], ["ours"])
        self.assertIn("| start and end | s | 0.6* | – | 0.4* | 1.50 |", text)
        self.assertIn("| less ssh's time | s | 0.2* | – | – | – |", text)


class Jobs(unittest.TestCase):
    class FakeHosts:
        names, agent = ["h1", "h2"], "/agent"

    def series(self, name, options=()):
        mpi = mpis.Mpi(name.partition("-")[0], "mpicc", "launcher", "mpifort")
        return peers.Series(name, mpi, list(options))

    def words(self, series):
        return " ".join(map(str, series.on_hosts(self.FakeHosts, 16, ["prog"])))

    def test_each_has_its_way_to_name_hosts(self):
        self.assertEqual(self.words(self.series("ours")),
                         "launcher --agent /agent --hosts h1:16,h2:16 -n 32 prog")
        self.assertIn("plm_rsh_agent /agent", self.words(self.series("openmpi")))
        self.assertIn("-H h1:16,h2:16 -n 32 prog", self.words(self.series("openmpi")))
        self.assertIn("-launcher-exec /agent -genv UCX_NET_DEVICES eth0",
                      self.words(self.series("mpich")))

    def test_what_is_killed_is_found_by_its_command_line(self):
        lines = {1: "sshd: root@notty", 2: "/x/lib/mpc/mpclaunch --daemon", 3: "/x/bin/mpcrun -n 8 /b/ends --when=f",
                 4: "bash -c orted -mca ess", 5: "orted -mca ess env", 6: "/b/ends --when=f",
                 7: "/usr/bin/hydra_pmi_proxy --port x"}
        self.assertEqual(ends.victims(lines, peers.Series.daemon), [2, 5, 7])
        self.assertEqual(ends.victims(lines, self.series("ours").process.format("ends")), [3])
        self.assertEqual(ends.victims(lines, self.series("mpich").process.format("ends")), [6])

    def test_cores_are_divided_evenly(self):
        self.assertEqual(virtual.parts([0, 1, 2, 3], 2), [[0, 1], [2, 3]])
        self.assertEqual(virtual.parts([4], 2), [[4], [4]])


class Interrupts(unittest.TestCase):
    COUNTED = ("process 0 of 2:\nnet.polls                                 12  Times\n"
               "net.interrupts                             3  Wake-ups by\n"
               "process 1 of 2:\nnet.interrupts                             4  Wake-ups by\n"
               "net.futile_interrupts                      1  Those\n")

    def test_counters_of_both_processes_are_added(self):
        found = load("interrupts").counters(self.COUNTED)
        self.assertEqual(found[("net.interrupts", 0)], (7, "times"))
        self.assertEqual(found[("net.futile_interrupts", 0)], (1, "times"))
        self.assertEqual(found[("net.late_finds", 0)], (0, "times"))
        self.assertNotIn(("net.polls", 0), found)

    def test_tables_of_what_there_is(self):
        program = load("interrupts")
        taken = {"ours": [sample({("latency", 1 << 20): (800.0, "us"), ("overlap_receiver", 1 << 20): (90.0, "%"),
                                  ("progress_225", 1 << 20): (1.1, "T"), ("progress_150", 1 << 20): (1.0, "T"),
                                  ("hidden_32768", 16): (50.0, "%"), ("hidden_32768", 2): (60.0, "%"),
                                  ("net.interrupts", 0): (7, "times")})] * 3,
                 "mpich": [sample({("overlap_receiver", 1 << 20): (5.0, "%")}, "no more")] * 3}
        text = program.section(taken)
        lines = [line for line in text.splitlines() if line.startswith("|")]
        self.assertIn("| overlap, the receiver computes, 1 MiB | % | 90 | 5 |", lines)
        self.assertIn("| `net.interrupts` | times | 7 |", lines)
        self.assertLess(lines.index("| all data there, work of 150 % of T, 1 MiB | T | 1 | – |"),
                        lines.index("| all data there, work of 225 % of T, 1 MiB | T | 1.1 | – |"))
        self.assertLess(lines.index("| 32 KiB, 2 ranks | % | 60 |"), lines.index("| 32 KiB, 16 ranks | % | 50 |"))
        self.assertNotIn("MPI_Ialltoall, two", text)
        self.assertIn("- MPICH: no more", text)


class Options(unittest.TestCase):
    def test_refuses_what_makes_no_sense(self):
        for name, arguments, says in (
                ("hosts", ["--prefix", "/none", "latency"], "/none/bin/mpcrun"),
                ("hosts", ["--prefix", "/none", "speed"], "no experiment 'speed'"),
                ("hosts", [], "--prefix"),
                ("interrupts", ["--prefix", "/none", "--ranks", "2,x"], "--ranks"),
                ("interrupts", ["--prefix", "/none"], "/none/bin/mpcrun")):
            done = subprocess.run([sys.executable, "-B", str(OPTIONS.source / "bench" / name), *arguments],
                                  capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(says, done.stderr)
            self.assertNotIn("Traceback", done.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=Path, required=True)
    OPTIONS = parser.parse_args()
    sys.dont_write_bytecode = True
    sys.path[:0] = [str(OPTIONS.source / "bench"), str(OPTIONS.source / "tests/conformance")]
    import mpis
    from comparelib import machine, sections
    from hostslib import ends, experiments, page, peers, virtual
    unittest.main(argv=[sys.argv[0], "-v"])
