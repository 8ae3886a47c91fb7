#!/usr/bin/env python3
"""What the modules of apps/ take for right and for wrong, by texts as their programs print; without network and MPI."""
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent))
import runs  # noqa: E402
import trees  # noqa: E402
from apps import PROGRAMS, dune, ga, hdf5  # noqa: E402
from model import Case, Program, Wrong  # noqa: E402


class Texts(unittest.TestCase):
    def test_a_test_of_hdf5_that_says_nothing_or_failed_is_wrong(self):
        fine = "Testing  -- dataset open (sys) \nPHDF5 tests finished with no errors\n"
        self.assertEqual(hdf5.without_errors(False)(fine, None), {"tests": "dataset open"})
        self.assertEqual(hdf5.without_errors(False)("Proc 0: *** MPIO test...\nMPI tests finished with no errors\n", None),
                         {"tests": ""})
        for text in ("", fine + "Testing cache *FAILED*\n", fine + "***PHDF5 tests detected 2 errors***\n"):
            with self.assertRaises(Wrong):
                hdf5.without_errors(False)(text, None)
        self.assertEqual(hdf5.without_errors(True)("", None), {"tests": ""})

    def test_an_error_of_global_arrays_is_wrong(self):
        self.assertEqual(ga.without_errors("All tests successful\nchecking 0 errors\n", None), {})
        for text in ("NbTest fails for non-blocking puts\n", "p[0] comex_wait Error: handle not active\n"):
            with self.assertRaises(Wrong):
                ga.without_errors(text, None)


class Ranks(unittest.TestCase):
    def test_tests_that_want_just_so_many_ranks_get_them(self):
        names = [case.name for case in ga.cases(Path("/tree"), 4)]
        self.assertTrue("testc, windows" in names and "nbtestc, windows" not in names)
        self.assertTrue(dune.is_run("mpipacktest", 2) and not dune.is_run("mpipacktest", 4))

    def test_each_program_has_cases_at_two_ranks_with_names_of_their_own(self):
        for program in PROGRAMS:
            if program.name in ("hdf5", "ga", "dune"):
                names = [case.name for case in program.cases(Path("/tree"), 2)]
                self.assertTrue(names and len(set(names)) == len(names), program.name)


class Folders(unittest.TestCase):
    def test_a_case_has_its_own_variables_and_links(self):
        with tempfile.TemporaryDirectory() as folder:
            place, seen = Path(folder, "run"), {}
            def job(command, where, environment, limit, most):
                seen.update(environment, link=(where / "again").resolve())
                return SimpleNamespace(text="", status=0, timed_out=False, seconds=0.1)
            case = Case("c", Path("/p"), environment={"OF_THE_CASE": "3"}, links={"again": Path(folder)})
            mpi = SimpleNamespace(name="ours", command=lambda *words, **more: ["true"])
            with mock.patch.object(runs.executor, "run_job", job):
                runs.run_once(runs.Seen(), case, mpi, 2, SimpleNamespace(timeout=0, keep=False), place)
            self.assertEqual((seen["OF_THE_CASE"], seen["link"]), ("3", Path(folder).resolve()))

    def test_of_a_large_source_only_the_named_parts_are_unpacked(self):
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "demo_1.orig.tar.gz")
            for name in ("demo-1/libs/mpi/a", "demo-1/libs/other/b"):
                Path(folder, name).parent.mkdir(parents=True, exist_ok=True)
                Path(folder, name).write_text("x")
            trees.subprocess.run(["tar", "czf", source, "-C", folder, "demo-1"], check=True)
            program = Program("demo", "demo", "", "", lambda tree: None, None, parts=("*/libs/mpi/*",))
            mpi = SimpleNamespace(name="ours", compiler="/p/bin/mpcc", version=lambda: "1")
            tree = trees.Tree(program, mpi, Path(folder, "work"), 1)
            tree.prepare(source)
            self.assertTrue((tree.folder / "libs/mpi/a").exists() and not (tree.folder / "libs/other").exists())


if __name__ == "__main__":
    unittest.main()
