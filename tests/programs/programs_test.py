#!/usr/bin/env python3
"""The runner compares results, judges runs and writes its tables as documented; without network, without MPI."""
import contextlib
import io
import math
import re
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent))
import compare  # noqa: E402
import names  # noqa: E402
import page  # noqa: E402
import programs  # noqa: E402
import runs  # noqa: E402
import trees  # noqa: E402
from trees import suite  # noqa: E402
from apps import PROGRAMS, armci, blacs, coarrays, hpcc, p4est, pnetcdf, tachyon  # noqa: E402
from model import Case, Number, Program, Wrong, grid, grids  # noqa: E402

CIRCUMSTANCES = page.Circumstances("2026-11-23", "abc1234", 2, 0.01, "./run programs demo")


class Comparing(unittest.TestCase):
    def test_texts_agree_only_when_equal(self):
        self.assertEqual(compare.complaint({"a": "1"}, {"a": "1"}), "")
        self.assertEqual(compare.complaint({"a": "1"}, {"a": "2"}), "a is 1, not 2")

    def test_figures_agree_within_the_tolerance_and_not_beyond(self):
        self.assertTrue(compare.agree(Number(1.0, 0.1), Number(1.05, 0.1)))
        self.assertFalse(compare.agree(Number(1.0, 0.1), Number(1.2, 0.1)))
        self.assertTrue(compare.agree(Number(1.0, 0.0), Number(1.0, 0.0)))

    def test_what_is_not_a_number_agrees_with_nothing(self):
        for value in (math.nan, math.inf):
            self.assertFalse(compare.agree(Number(value, 1.0), Number(1.0, 1.0)))
        self.assertFalse(compare.agree(Number(math.nan, 1.0), Number(math.nan, 1.0)))
        self.assertFalse(compare.agree(Number(1.0, 1.0), "1"))

    def test_results_that_are_missing_or_too_many_are_named(self):
        self.assertEqual(compare.complaint({}, {"a": "1"}), "a is missing")
        self.assertEqual(compare.complaint({"a": "1"}, {}), "a is not in the reference")

    def test_many_differences_are_cut(self):
        mine = {str(name): "1" for name in range(9)}
        self.assertTrue(compare.complaint(mine, dict.fromkeys(mine, "2")).endswith(" and 6 more"))


def row_of(ours, peer=None, same=False, first=None, ranks=2):
    """A judged row; `ours` and `peer` are Seen."""
    seen = {runs.OURS: ours, **({"openmpi": peer} if peer else {})}
    row = runs.Row("case", ranks, seen)
    runs.judge(row, Case("case", Path("p"), same_for_all_ranks=same), {} if first is None else first)
    return row


def passed(**results):
    return runs.Seen(seconds=[1.0], results=results)


class Judging(unittest.TestCase):
    def test_what_fails_with_ours_is_wrong_whatever_the_peer_does(self):
        failed = runs.Seen("fail", "status 1", [0.1])
        self.assertEqual(row_of(failed).complaint, "status 1")
        self.assertEqual(row_of(failed, failed).complaint, "status 1")

    def test_a_result_that_differs_from_the_peer_is_wrong(self):
        self.assertEqual(row_of(passed(x="1"), passed(x="2")).complaint, "beside openmpi: x is 1, not 2")
        self.assertEqual(row_of(passed(x="1"), passed(x="1")).compared_with, "openmpi")

    def test_nothing_is_claimed_to_be_compared_where_the_peer_failed(self):
        row = row_of(passed(x="1"), runs.Seen("timeout", "no end", [120.0]))
        self.assertEqual((row.complaint, row.compared_with), ("", ""))
        self.assertIn("right by its own check", runs.line(row))

    def test_other_numbers_of_ranks_are_compared_where_results_may_not_depend_on_them(self):
        first = {}
        alone = row_of(passed(x="1"), same=True, first=first, ranks=1)
        self.assertEqual((alone.complaint, alone.compared_with), ("", ""))
        self.assertEqual(row_of(passed(x="1"), same=True, first=first).compared_with, "other numbers of ranks")
        self.assertEqual(row_of(passed(x="2"), same=True, first=first).complaint, "beside 1 ranks: x is 2, not 1")
        self.assertEqual(row_of(passed(x="2"), same=False, first=first).complaint, "")


class Launcher:
    """An MPI whose launcher is a shell that runs the program's text."""
    name = runs.OURS

    def command(self, ranks, program, arguments, extra=()):
        return ["sh", "-c", str(program), *arguments]


def ran(script, results=lambda text, folder: {}, **more):
    with tempfile.TemporaryDirectory() as folder:
        seen = runs.Seen()
        options = SimpleNamespace(timeout=0, keep=False)
        runs.run_once(seen, Case("case", script, results=results, **more), Launcher(), 2, options, Path(folder, "run"))
        return seen, Path(folder, "run").exists()


class Running(unittest.TestCase):
    def test_a_run_that_is_right_leaves_no_folder_and_one_that_is_wrong_does(self):
        self.assertEqual([ran("true")[0].verdict, ran("true")[1]], ["pass", False])
        seen, is_there = ran("echo no; exit 3")
        self.assertEqual((seen.verdict, seen.detail, is_there), ("fail", "status 3: no", True))

    def test_a_run_that_does_not_end_is_ended(self):
        seen, _ = ran("sleep 60", limit_s=0.2)
        self.assertEqual(seen.verdict, "timeout")
        self.assertLess(seen.seconds[0], 30)

    def test_what_the_program_says_of_itself_decides(self):
        def wrong(text, folder):
            raise Wrong("it says FAILED")
        self.assertEqual(ran("true", wrong)[0].verdict, "fail")
        self.assertEqual(ran("true", lambda text, folder: (folder / "missing").read_text())[0].verdict, "fail")

    def test_files_of_a_case_are_there_and_its_statuses_are_taken(self):
        seen, _ = ran("cat input; exit 7", lambda text, folder: {"said": text}, files={"input": "x"}, statuses=())
        self.assertEqual((seen.verdict, seen.results), ("pass", {"said": "x"}))


class Page(unittest.TestCase):
    program = Program("demo", "demo", "What it is", "What is compared.", lambda tree: None, lambda folder, ranks: [])

    def block(self, *rows, notes=()):
        return page.block(self.program, "1.0", rows, notes, CIRCUMSTANCES)

    def test_a_table_has_a_line_for_each_mpi_and_a_column_for_each_number_of_ranks(self):
        one, two = row_of(passed(), passed(), ranks=1), row_of(passed(), ranks=16)
        text = self.block(one, two)
        self.assertIn("| Case | MPI | 1 rank | 16 ranks |\n", text)
        self.assertIn("| case | ours | 1.00 s | 1.00 s |\n", text)
        self.assertIn("|  | Open MPI | 1.00 s |  |\n", text)
        self.assertIn("2 of 2 runs right: 1 as with Open MPI, 1 by their own check only.", text)

    def test_what_is_wrong_is_said_in_the_table_and_below(self):
        text = self.block(row_of(passed(x="1"), passed(x="2")), row_of(runs.Seen("timeout", "no end", [9.0]), ranks=4),
                          notes=["MPICH: cannot be built: so"])
        self.assertIn("| case | ours | **wrong** (1.00 s) | > 9 s |", text)
        self.assertIn("- **ours**, `case`, 2 ranks: beside openmpi: x is 1, not 2", text)
        self.assertIn("- MPICH: cannot be built: so", text)
        self.assertIn("0 of 2 runs right", text)

    def test_a_busy_machine_is_said(self):
        busy = page.Circumstances("2026-11-23", "abc1234", 2, 0.5, "./run programs")
        self.assertIn("other work", busy.text())
        self.assertNotIn("other work", CIRCUMSTANCES.text())

    def test_a_block_takes_the_place_of_the_one_before_and_prose_stays(self):
        text = "prose\n" + page.END + "more\n"
        names = ["first", "demo", "last"]
        once = page.put(text, "demo", self.block(row_of(passed())), names)
        self.assertTrue(once.startswith("prose\n") and once.endswith(page.END + "more\n"))
        new = self.block(row_of(passed(), passed()))
        self.assertEqual(page.put(once, "demo", new, names), text.replace(page.END, new + "\n" + page.END))

    def test_blocks_are_in_the_order_of_the_programs(self):
        text, names = page.END, ["a", "b", "c"]
        for name in ("b", "c", "a"):
            text = page.put(text, name, page.begin(name) + f"<!-- end of {name} -->\n", names)
        places = [text.index(page.begin(name)) for name in names]
        self.assertEqual(places, sorted(places))

    def test_a_page_without_a_place_is_an_error(self):
        with self.assertRaises(page.PageError):
            page.put("prose\n", "demo", "x", ["demo"])
        with self.assertRaises(page.PageError):
            page.put(page.begin("demo") + "x\n", "demo", "x", ["demo"])

    def test_the_page_of_this_project_has_a_place(self):
        text = page.PAGE.read_text(encoding="utf-8")
        self.assertEqual(text.count(page.END), 1)
        for program in PROGRAMS:
            self.assertLessEqual(text.count(page.begin(program.name)), 1)


class Building(unittest.TestCase):
    def tree(self, folder, build, commands=()):
        program = Program("demo", "demo", "", "", build, lambda folder, ranks: [], commands=commands)
        (folder / "in/demo-1.0").mkdir(parents=True)
        (folder / "in/demo-1.0/file").write_text("CC = cc\n")
        source = folder / "demo_1.0.orig.tar.gz"
        mpi = SimpleNamespace(name="ours", compiler="mpcc", version=lambda: "1")
        tree = trees.Tree(program, mpi, folder / "work", 1)
        tree.folder.parent.mkdir()
        trees.subprocess.run(["tar", "czf", source, "-C", folder / "in", "demo-1.0"], check=True)
        return tree, source

    def test_a_tree_is_built_once(self):
        with tempfile.TemporaryDirectory() as folder:
            tree, source = self.tree(Path(folder), recipe)
            self.assertTrue(tree.prepare(source))
            self.assertEqual((tree.folder / "file").read_text(), "CC = mpcc\n")
            self.assertFalse(tree.prepare(source))
            tree.mpi.version = lambda: "2"
            self.assertTrue(tree.prepare(source))

    def test_another_recipe_builds_anew_and_other_cases_do_not(self):
        self.assertIn("constant-of-the-recipe", trees.recipe(recipe))
        self.assertNotIn("class Page", trees.recipe(recipe))

    def test_a_build_that_fails_says_the_command_and_the_end_of_its_output(self):
        with tempfile.TemporaryDirectory() as folder:
            tree, source = self.tree(Path(folder), lambda tree: tree.run("sh", "-c", "echo so it is; exit 3"))
            with self.assertRaisesRegex(trees.BuildError, "(?s)status 3.*so it is"):
                tree.prepare(source)
            self.assertFalse((tree.folder / "built.key").exists())

    def test_an_edit_that_finds_nothing_to_change_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            tree, source = self.tree(Path(folder), lambda tree: tree.edit("file", ("^FC = ", "x")))
            with self.assertRaisesRegex(trees.BuildError, "no line like"):
                tree.prepare(source)

    def test_a_missing_command_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            tree, _ = self.tree(Path(folder), recipe, commands=("sh", "no-such-command"))
            self.assertRegex(trees.missing(tree.program), "^no-such-command is not installed")
            self.assertEqual(trees.missing(Program("demo", "demo", "", "", recipe, None, commands=("sh",))), "")

    def test_a_build_finds_this_mpi_by_the_names_of_others(self):
        with tempfile.TemporaryDirectory() as folder:
            tree, source = self.tree(Path(folder), lambda tree: tree.run("sh", "-c", "mpicc -c && mpirun -n 2 prog"))
            tree.mpi = SimpleNamespace(name="peer", compiler="echo", cxx="echo", fortran="echo", launcher="echo",
                                       launch_options=["an option"], version=lambda: "1")
            self.assertTrue(tree.prepare(source))
            self.assertEqual(tree.log.read_text().splitlines()[-2:], ["-c", "an option -n 2 prog"])
        ours = SimpleNamespace(name="ours", compiler="/opt/mpc/bin/mpcc")
        self.assertEqual(names.folder(ours, Path("/work")), Path("/opt/mpc/compat/bin"))

    def test_a_source_that_this_release_has_lost_is_taken_from_a_later_one(self):
        asked = []
        def apt(command, folder):
            release = re.search(r"apt(-\w+)?/parts", " ".join(command)).group(1) or ""
            asked.append(release)
            if release == "":
                raise suite.FetchError("404")
            Path(folder, "demo_2.orig.tar.gz").touch()
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(suite, "_apt", apt):
            with contextlib.redirect_stdout(io.StringIO()):
                self.assertEqual(suite.download("demo", Path(folder), ("trixie", "sid")).name, "demo_2.orig.tar.gz")
                self.assertEqual(set(asked), {"", "-trixie"})
                with self.assertRaisesRegex(suite.FetchError, "404"):
                    suite.download("other", Path(folder))

    def test_the_version_is_that_of_the_tarball(self):
        self.assertEqual(trees.version(Path("tachyon_0.99~b6+dsx.orig.tar.gz")), "0.99~b6+dsx")


FLAGS = ("constant-of-the-recipe",)


def recipe(tree):
    tree.edit("file", ("^CC = .*", f"CC = {tree.mpi.compiler}"))
    tree.run("true", *FLAGS)


class CommandLine(unittest.TestCase):
    def test_programs_have_names_of_their_own_and_say_what_is_compared(self):
        names = [program.name for program in PROGRAMS]
        self.assertEqual(len(set(names)), len(names))
        for program in PROGRAMS:
            self.assertTrue(program.what and program.compared, program.name)

    def test_quick_leaves_out_what_is_slow_unless_it_is_named(self):
        quick = programs.parse_arguments(["--quick"])
        self.assertTrue(quick.programs and all(program.is_quick for program in quick.programs))
        self.assertEqual(quick.ranks, list(programs.QUICK_RANKS))
        named = programs.parse_arguments(["--quick", "scotch"])
        self.assertEqual([program.name for program in named.programs], ["scotch"])

    def test_bad_words_are_refused_with_what_is_possible(self):
        for words, said in ((["nothing"], "there is no program 'nothing': tachyon"), (["--ranks", "0"], "list of numbers"),
                            (["--ranks", "1,x"], "list of numbers"), (["--peers", "lam"], "openmpi, mpich"),
                            (["--repeat", "0"], "less than 1")):
            error = io.StringIO()
            with self.assertRaises(SystemExit) as ended, contextlib.redirect_stderr(error):
                programs.parse_arguments(words)
            self.assertEqual(ended.exception.code, 2)
            self.assertIn(said, error.getvalue())

    def test_the_command_on_the_page_has_no_folders_of_this_machine(self):
        words = ["--prefix", "/p", "tachyon", "--work", "/w", "--ranks", "1,2"]
        self.assertEqual(programs.parse_arguments(words).command, "./run programs tachyon --ranks 1,2")

    def test_without_peers_there_are_none(self):
        self.assertEqual(programs.parse_arguments(["--no-peers"]).peers, [])
        self.assertEqual(programs.parse_arguments(["--peers", "mpich,openmpi"]).peers, ["mpich", "openmpi"])


class Recipes(unittest.TestCase):
    def test_grids_use_all_ranks(self):
        self.assertEqual([grid(ranks) for ranks in (1, 2, 4, 12, 16)], [(1, 1), (1, 2), (2, 2), (3, 4), (4, 4)])
        self.assertEqual(grids(4), [(1, 4), (2, 2), (4, 1)])

    def test_grids_of_a_tester_are_put_into_its_input(self):
        text = "4                       Number of grids\n2 4 1 1 7       NPROW\n2 1 3 4 1       NPCOL\n"
        self.assertEqual(blacs.with_grids(text, 2), "2                       Number of grids\n1 2       NPROW\n"
                                                    "2 1       NPCOL\n")
        with self.assertRaises(Wrong):
            blacs.with_grids("nothing", 2)

    def test_a_tester_that_counts_failures_is_wrong(self):
        line, end = "INTEGER SDRV TESTS: {} TESTS; {} PASSED, {} SKIPPED, {} FAILED.\n", " DONE BLACS_GRIDEXIT\n"
        self.assertEqual(blacs.counted(line.format(9, 8, 1, 0) + " PASSED  BLACS_GRIDMAP TEST\n" + end, None),
                         {"INTEGER SDRV TESTS: 0": "9 tests, 8 passed, 1 skipped", "auxiliary tests": "1 passed"})
        for text in (line.format(9, 7, 1, 1) + end, line.format(9, 8, 1, 0), end,
                     line.format(9, 8, 1, 0) + " FAILED  BLACS_GRIDMAP TEST\n" + end):
            with self.assertRaises(Wrong):
                blacs.counted(text, None)

    def test_a_picture_is_compared_by_its_bytes(self):
        with tempfile.TemporaryDirectory() as folder:
            seen = set()
            for content in (b"a", b"b", b"a"):
                Path(folder, tachyon.PICTURE).write_bytes(content)
                seen.add(tachyon.picture("", Path(folder))["the picture"])
            self.assertEqual(len(seen), 2)

    def test_hpcc_is_right_only_with_success_and_small_residuals(self):
        lines = ["Success=1", *(f"{name}=4" for name in hpcc.SIZES), *(f"{name}=0.001" for name in hpcc.RESIDUALS)]
        with tempfile.TemporaryDirectory() as folder:
            def said(text):
                Path(folder, hpcc.OUTPUT).write_text(text)
                return hpcc.results("", Path(folder))
            self.assertEqual(said("\n".join(lines))["HPL_N"], "4")
            for wrong in (lines[1:], ["Success=0", *lines[1:]], [*lines[:-1], "MPIFFT_maxErr=nan"],
                          [*lines[:-1], "MPIFFT_maxErr=99"], [*lines, "...... FAILED"]):
                with self.assertRaises(Wrong):
                    said("\n".join(wrong))

    def test_what_a_forest_counts_is_compared_and_what_ranks_say_is_not(self):
        text = "[p4est] Done p4est_new with 6 total quadrants\n[p4est 1] balance mismatch\n[p4est] CC   mpicc\n"
        self.assertEqual(p4est.counts(text, None), {"line 0": "Done p4est_new with 6 total quadrants"})
        with self.assertRaises(Wrong):
            p4est.counts(text + "[p4est 1] Abort: Assertion\n", None)

    def test_coarrays_run_with_the_images_that_they_want(self):
        self.assertTrue(coarrays.wanted("syncall", 8, 16) and coarrays.wanted("get_array", 2, 2))
        self.assertFalse(coarrays.wanted("get_array", 2, 4) or coarrays.wanted("issue-493-coindex-slice", 8, 16)
                         or coarrays.wanted("image_fail_test_1", 4, 4))
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "out").mkdir()
            Path(folder, "out/CTestTestfile.cmake").write_text(
                'add_test([=[a b]=] "/bin/bash" "/out/bin/cafrun" "-np" "2" "--oversubscribe" "/w/out/bin/t/ab" "true")\n')
            case, = coarrays.cases(Path(folder), 2)
            self.assertEqual((case.program, case.arguments), ("/w/out/bin/t/ab", ["true"]))
        with self.assertRaises(Wrong):
            coarrays.passed("Test failed.", None)

    def test_tests_that_say_they_failed_are_wrong(self):
        self.assertEqual(armci.without_errors("Test complete: PASS\n", None), {})
        with self.assertRaisesRegex(Wrong, "Data validation failed"):
            armci.without_errors("0: Data validation failed at [1, 2]\n", None)
        results = pnetcdf.file_of(Path("/nonexistent"))
        self.assertEqual(results("*** TESTING C   vectors for put ------ pass\n", Path("/nonexistent")), {})
        for text in ("*** TESTING C   vectors for put ------ fail with 2 mismatches\n", "nothing\n"):
            with self.assertRaises(Wrong):
                results(text, Path("/nonexistent"))


if __name__ == "__main__":
    unittest.main()
