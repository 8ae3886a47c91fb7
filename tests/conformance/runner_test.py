#!/usr/bin/env python3
"""The runner reads test lists, judges outputs and ends jobs as the suite's harness would."""
import json
import sys
import tempfile
import time
import unittest
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parent))
import builder  # noqa: E402
import conformance  # noqa: E402
import executor  # noqa: E402
import fortran  # noqa: E402
import mpis  # noqa: E402
import report  # noqa: E402
import suite  # noqa: E402
import table  # noqa: E402
import variants  # noqa: E402


def verdict(text, status=0, **keys):
    return executor.judge(suite.Test("coll", "allred", 4, **keys), status, text, False).verdict


class Judging(unittest.TestCase):
    def test_no_errors_once_and_nothing_else_passes(self):
        self.assertEqual(verdict(" No Errors\n"), "pass")
        self.assertEqual(verdict(" No errors\n"), "pass")

    def test_anything_else_fails(self):
        for text in ("", " No Errors\n No Errors\n", "hello\n No Errors\n",
                     " No Errors\nFound 1 errors\n", "No Errors, almost\n", "\n No Errors\n"):
            self.assertEqual(verdict(text), "fail", repr(text))

    def test_status_counts(self):
        self.assertEqual(verdict(" No Errors\n", status=1), "fail")

    def test_tests_that_want_a_status(self):
        self.assertEqual(verdict("", status=1, result_test="TestStatus"), "pass")
        self.assertEqual(verdict("", status=0, result_test="TestStatus"), "fail")
        self.assertEqual(verdict("aborted\n", status=1, result_test="TestErrFatal"), "pass")
        self.assertEqual(verdict("", status=0, result_test="TestErrFatal"), "fail")
        self.assertEqual(verdict("", status=139, result_test="TestErrFatal"), "crash")
        self.assertEqual(verdict(" No Errors\n", status=1,
                                 result_test="TestStatusNoErrors"), "pass")
        self.assertEqual(verdict("", status=1, result_test="TestStatusNoErrors"), "fail")

    def test_warnings_pass_where_the_list_allows_them(self):
        text = "MPICH: 2 requests were not freed\nmpc[rank 1]: warning: left over\n No Errors\n"
        self.assertEqual(verdict(text), "fail")
        self.assertEqual(verdict(text, result_test="TestAllowWarnings"), "pass")
        self.assertEqual(verdict(text, status=1, result_test="TestAllowWarnings"), "fail")
        self.assertEqual(verdict("hello\n" + text, result_test="TestAllowWarnings"), "fail")
        self.assertEqual(verdict("WARNING: so\n", result_test="TestAllowWarnings"), "fail")

    def test_a_benchmark_may_print_what_it_likes(self):
        self.assertEqual(verdict("latency 1.5\n", result_test="TestBench"), "pass")
        self.assertEqual(verdict("latency 1.5\n", status=1, result_test="TestBench"), "fail")

    def test_a_test_may_skip_itself(self):
        self.assertEqual(verdict("Test Skipped\n"), "skipped")
        self.assertEqual(verdict("Test Skipped\n", status=1), "fail")
        self.assertEqual(verdict("Test Skipped\nhello\n"), "fail")

    def test_a_rule_that_is_not_known_is_no_pass(self):
        self.assertEqual(verdict(" No Errors\n", result_test="TestOfTomorrow"), "fail")

    def test_crashes_are_told_from_failures(self):
        self.assertEqual(verdict("", status=139), "crash")
        self.assertEqual(verdict("", status=-11), "crash")
        self.assertEqual(verdict("mpcrun: rank 0 of 2 (./t) exited with status 139; the job is "
                                 "ended\n", status=139), "fail")
        self.assertEqual(verdict("double free or corruption\n", status=1), "crash")

    def test_a_reported_deadlock_is_a_hang(self):
        self.assertEqual(verdict("mpcrun: deadlock: every rank waits\n", status=125),
                         "timeout")

    def test_unsupported_functions_are_named(self):
        outcome = executor.judge(
            suite.Test("coll", "iallred", 2), 1,
            "MPI_Iallreduce: MPI_ERR_UNSUPPORTED_OPERATION: not there yet\n", False)
        self.assertEqual((outcome.verdict, outcome.needs), ("needs", ["MPI_Iallreduce"]))


class Running(unittest.TestCase):
    def test_a_hung_job_ends_with_all_its_processes(self):
        test = suite.Test("init", "hang", 1)
        start = time.monotonic()
        outcome = executor.run(["sh", "-c", "trap '' TERM QUIT; setsid sleep 77.125 & sleep 77"],
                               test, "/", 1)
        self.assertEqual(outcome.verdict, "timeout")
        self.assertLess(time.monotonic() - start, 15)
        commands = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline")
                    if path.exists()]
        self.assertNotIn(b"sleep\x0077.125\x00", commands)

    def test_environment_and_output_reach_the_judge(self):
        test = suite.Test("info", "env", 1, environment=["WORD=No Errors"])
        outcome = executor.run(["sh", "-c", 'echo " $WORD"'], test, "/", 10)
        self.assertEqual(outcome.verdict, "pass")


class Lists(unittest.TestCase):
    def test_keys_comments_and_subfolders(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "threads/pt2pt").mkdir(parents=True)
            (root / "threads/testlist").write_text("pt2pt\n# comment\n")
            (root / "threads/pt2pt/testlist").write_text(
                "send 3 arg=-n=4 arg=x env=A=b timeLimit=60 xfail=t1 mem=1.5\n\n"
                "plain\nends 2 resultTest=TestStatus strict=FALSE # why\n")
            tests = suite.read_tests(root, root, "threads")
        self.assertEqual([test.name for test in tests],
                         ["threads/pt2pt/send 3 -n=4 x A=b", "threads/pt2pt/plain 2",
                          "threads/pt2pt/ends 2"])
        self.assertEqual((tests[0].time_limit_s, tests[0].xfail, tests[0].memory_gb),
                         (60, "t1", 1.5))
        self.assertEqual((tests[2].result_test, tests[2].strict), ("TestStatus", "false"))

    def test_folders_without_a_list_have_ours(self):
        with tempfile.TemporaryDirectory() as folder:
            tests = suite.read_tests(Path(folder), Path(folder), "basic")
        self.assertIn(("basic/simple 2", "TestBench"),
                      [(test.name, test.result_test) for test in tests])

    def test_fortran_is_known_also_below_errors(self):
        self.assertEqual([fortran.language(folder) for folder in
                          ("f08/pt2pt", "errors/f90/io", "errors/io", "io")],
                         ["f08", "f90", "", ""])
        self.assertEqual(fortran.siblings("errors/f90/io"),
                         ["errors/f77/io", "errors/f90/io", "errors/f08/io"])

    def test_makefile_recipes(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "Makefile.am"
            path.write_text("nbcoll_SOURCES = coll.c\n"
                            "nbcoll_CPPFLAGS = -DNBC \\\n  $(AM_CPPFLAGS)\n"
                            "wide_LDADD = $(LDADD) -lm\n")
            variables = suite.read_makefile(path)
        self.assertEqual(suite.recipe(variables, "nbcoll"), (["coll.c"], ["-DNBC"], []))
        self.assertEqual(suite.recipe(variables, "wide"), (["wide.c"], [], ["-lm"]))


    def test_makefiles_beside_are_included(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "Makefile.am").write_text(
                "include $(top_srcdir)/Makefile_single.mtest\ninclude Makefile_tests.mk\n")
            (Path(folder) / "Makefile_tests.mk").write_text(
                "wide_LDADD = $(run_mpitests_obj) $(LDADD) -lm\n")
            variables = suite.read_makefile(Path(folder) / "Makefile.am")
        self.assertEqual(suite.recipe(variables, "wide"), (["wide.c"], [], ["-lm"]))


class NoMpi:
    """As much of mpis.Mpi as the builder needs."""
    compiler = "cc"

    @staticmethod
    def version():
        return "none"


class Building(unittest.TestCase):
    FILES = {
        "util/Makefile.am": "libmtest_la_SOURCES = mtest.c mtest_common.c\n"
                            "libmtest_single_la_SOURCES = mtest_single.c\n"
                            "librun_mpitests_la_SOURCES = run_mpitests.c\n",
        "util/mtest.c": "int errors(void) { return 0; }\n",
        "util/mtest_common.c": "int common;\n",
        "util/mtest_single.c": "int single;\n",
        "util/run_mpitests.c": "#include <stdio.h>\nint run(const char *), wrank = 3;\n"
                               "int main(int argc, char **argv) {\n"
                               '  if (run(argv[argc - 1]) == 0) puts(" No Errors");\n'
                               "  return 0;\n}\n",
        "coll/Makefile.am": "noinst_PROGRAMS = old new\n",
        "coll/old.c": "#include <stdio.h>\nint errors(void);\n"
                      'int main(void) { puts(" No Errors"); return errors(); }\n',
        "coll/new.c": "extern int wrank;\nint errors(void);\n"
                      "int run(const char *arg) { return errors() || wrank != 3 || *arg != 'x'; }\n",
    }

    def test_tests_with_and_without_a_main_of_their_own(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for name, text in self.FILES.items():
                (root / name).parent.mkdir(exist_ok=True)
                (root / name).write_text(text)
            made = builder.Builder(root, root / "build", NoMpi)
            made.build_support()
            for name in ("old", "new"):
                test = suite.Test("coll", name, 1)
                built = made.build_test(test)
                self.assertEqual(built.error, "", name)
                outcome = executor.run([str(built.program), "x"], test, folder, 20)
                self.assertEqual((outcome.verdict, outcome.output), ("pass", " No Errors\n"), name)


class Variants(unittest.TestCase):
    def test_several_change_one_command(self):
        how = variants.combined(["twice", "processes", "core"])
        self.assertEqual((how.ranks_factor, how.cores, how.launcher, how.least_ranks),
                         (2, 1, ("-p", "2"), 2))
        none = variants.combined([])
        self.assertEqual((none.ranks_factor, none.cores, none.launcher), (1, 0, ()))

    def test_lines_of_a_variant_hold_for_it_only(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "known.txt"
            path.write_text("coll/red : why\n"
                            "[twice, core] rma/aint : does not apply: wants two ranks\n")
            self.assertEqual(report.read_known(path), [("coll/red", "why")])
            self.assertEqual(report.read_known(path, ["processes", "twice"]),
                             [("rma/aint", "does not apply: wants two ranks"),
                              ("coll/red", "why")])

    def test_a_test_that_does_not_apply_is_not_run(self):
        options = SimpleNamespace(how=variants.combined(["processes"]), strict=False)
        mpi = mpis.Mpi("ours", "cc", "mpcrun", "gfortran")
        known = [("rma/aint", "does not apply: so")]
        of = [conformance.reason_to_skip(options, mpi, suite.Test("rma", name, ranks), known)
              for name, ranks in (("aint", 2), ("other", 1), ("other", 2))]
        self.assertEqual([bool(reason) for reason in of], [True, True, False])

    def test_the_table_joins_runs_and_counts_what_applies(self):
        def row(name, verdict):
            return asdict(report.Result(name, name.split("/")[0], verdict))
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder) / name for name in ("1.json", "2.json", "3.json")]
            rows = ([row("coll/a 2", "fail"), row("coll/b 2", "skipped")],
                    [row("coll/a 2", "pass"), row("rma/c 2", "pass")],
                    [row("rma/c 2", "fail")])
            for path, ran, of in zip(paths, rows, ([], [], ["twice"])):
                path.write_text(json.dumps({"variants": of, "results": ran}))
            lines = table.markdown(table.read(paths)).splitlines()
        self.assertEqual(lines[2:], ["| coll | 1 / 1 |  |", "| rma | 1 / 1 | 0 / 1 |",
                                     "| **all** | 2 / 2 | 0 / 1 |",
                                     "| **rate** | 100.0 % | 0.0 % |"])


class Reports(unittest.TestCase):
    def test_known_failures_match_programs_and_single_runs(self):
        known = [("pt2pt/scancel", "cannot"), ("coll/red* 4", "why")]
        self.assertEqual(report.known_reason(known, "pt2pt/scancel 2"), "cannot")
        self.assertEqual(report.known_reason(known, "pt2pt/scancel2 2"), "")
        self.assertEqual(report.known_reason(known, "coll/reduce 4"), "why")
        self.assertEqual(report.known_reason(known, "coll/reduce 5"), "")

    def test_a_test_counts_only_when_all_its_functions_work(self):
        working = {"MPI_Send", "MPI_Send_c"}
        self.assertEqual(report.not_working(["MPI_Send", "MPI_COMM_DUP_FN"], working), [])
        self.assertEqual(report.not_working(["PMPI_Isend", "MPI_Send"], working),
                         ["MPI_Isend"])

    def test_an_unexplained_failure_is_a_surprise(self):
        bad = report.Result("coll/allred 4", "coll", "fail")
        self.assertTrue(bad.surprising)
        bad.known = "reason"
        self.assertFalse(bad.surprising)


if __name__ == "__main__":
    unittest.main()
