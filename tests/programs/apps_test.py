#!/usr/bin/env python3
"""The modules of apps/ accept right results and reject wrong ones, in texts as programs print; no network, no MPI."""
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent))
import runs  # noqa: E402
import trees  # noqa: E402
import programs  # noqa: E402
from apps import (PROGRAMS, arpack, boost, dune, fftw, ga, gromacs, hdf5, hypre, lammps, mumps, netcdf,  # noqa: E402
                  petsc, raxml, scalapack, sundials, superlu)
from model import Case, Number, Program, Wrong  # noqa: E402


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

    def test_a_transform_with_a_large_error_or_without_a_line_is_wrong(self):
        fine = "ofc1024 1.2e-16 2.5e-16 1e-15\nok]14fx24h 3e-16 0 4e-16\n"
        self.assertEqual(len(fftw.errors(2)(fine, None)), 6)
        for text in (fine + "ibc8 1e-16 1e-16 1e-16\n", "ofc1024 1.2e-16 2.5e-16 1e-15\n", fine.replace("3e-16", "3e-09"),
                     fine + "Found relative error 1.0e+00 (impulse)\n"):
            with self.assertRaises(Wrong):
                fftw.errors(2)(text, None)

    def test_a_solver_that_does_not_converge_is_wrong(self):
        text = "GMRES Iterations = 7\nFinal GMRES Relative Residual Norm = {}\n"
        self.assertEqual(hypre.converged("ij")(text.format("4.8e-09"), None)["GMRES Iterations 0"], "7")
        for said in (text.format("4.8e-07"), text.format("nan"), "nothing"):
            with self.assertRaises(Wrong):
                hypre.converged("ij")(said, None)

    def test_a_solution_other_than_the_known_one_is_wrong(self):
        lines = " more ICNTL 5.0\n  Solution is   0.99999999999999989        2.0000000000000000     \n  3.0\n"
        self.assertIn("sum", mumps.solved([1.0, 2.0, 3.0])(lines, None))
        for wanted in ([1.0, 2.0], [1.0, 2.0, 3.1]):
            with self.assertRaises(Wrong):
                mumps.solved(wanted)(lines, None)
        self.assertIn("sum", mumps.solved([1.0, 2.0])("Solution is : (    1.00      2.00)\n", None))

    def test_the_equations_that_are_given_have_the_solution_that_is_wanted(self):
        words = mumps.equations().splitlines()
        unknowns, entries = int(words[0]), int(words[1])
        products = [0.0] * unknowns
        for line in words[2:2 + entries]:
            row, column, value = line.split()
            products[int(row) - 1] += float(value) * mumps.solution(int(column))
        right = [float(line) for line in words[2 + entries:]]
        self.assertEqual(len(right), unknowns)
        self.assertTrue(all(abs(one - other) < 1e-12 for one, other in zip(products, right)))

    def test_figures_are_compared_as_the_program_itself_does(self):
        out = sundials.figures("At t = 0.5  max.norm(u) = 1.0570e+01  nst = 95\n", None)
        self.assertEqual([one.value for one in out.values()], [0.5, 10.57, 95])
        self.assertEqual(sundials.figures("SUCCESS: NVector module passed all tests \n", None), {})
        with self.assertRaises(Wrong):
            sundials.figures("FAIL: NVector module failed 1 tests \n", None)

    def test_factors_and_their_errors_are_looked_at(self):
        fine = "Nonzeros in L       4331\nSol  0: ||X-Xtrue||/||X|| = 1.2e-15\n"
        self.assertEqual(superlu.factored(fine, None)["solutions"], "1")
        for text in ("", fine.replace("e-15", "e-02"), fine.replace("1.2e-15", "nan")):
            with self.assertRaises(Wrong):
                superlu.factored(text, None)
        self.assertEqual(superlu.all_passed("All tests for DGS driver passed the threshold (    22 tests run)\n", None), {"tests": "22"})

    def test_a_tester_of_scalapack_that_counts_a_failure_or_nothing_is_wrong(self):
        fine = "Finished    300 tests, with the following results:\n  300 tests completed and passed residual checks.\n" \
               "    0 tests completed and failed residual checks.\n"
        self.assertEqual(scalapack.counted(fine, None), {"tests": "300", "passed": "300"})
        for text in ("", fine.replace("    0 tests", "    2 tests")):
            with self.assertRaises(Wrong):
                scalapack.counted(text, None)
        grids = "4\t\tnumber of process grids (ordered pairs P & Q)\n1 2 1 4\t\tvalues of P\n1 2 4 1\t\tvalues of Q\n"
        self.assertEqual(scalapack.with_grids(grids, 2), "2\t\tnumber of process grids (ordered pairs P & Q)\n1 2\t\tvalues of P\n"
                                                         "2 1\t\tvalues of Q\n")

    def test_an_error_of_netcdf_is_wrong(self):
        self.assertEqual(netcdf.without_errors("*** testing NC_INT...ok.\n*** Tests successful!\n", None), {"tests that are ok": "1"})
        with self.assertRaises(Wrong):
            netcdf.without_errors("Sorry! Unexpected result, tst_parallel.c, line: 70\n", None)

    def test_thermodynamic_output_is_compared_and_times_are_not(self):
        text = "Step Temp E_pair\n       0    1.44   -6.77\n      20    0.75   -5.76\nLoop time of 0.27 on 2 procs\n 2 3\nTotal wall time: 0:00:00\n"
        self.assertEqual([one.value for one in lammps.thermodynamics(text, None).values()], [0, 1.44, -6.77, 20, 0.75, -5.76])
        other = "------ Step    0 ----- CPU =   0.1 (sec) ------\nTotEng   =   -25356.2064 KinEng   =    21444.8313 Temp     =  299.0397\n" \
                "Loop time of 1\nTotal wall time: 0:00:00\n"
        self.assertEqual([one.value for one in lammps.thermodynamics(other, None).values()], [-25356.2064, 21444.8313, 299.0397])
        self.assertEqual(lammps.shortened("thermo 50\nrun\t\t100\ndump 1 all atom 50 dump.melt\n", 5), "thermo 1\nrun\t\t5\n\n")
        self.assertEqual(lammps.shortened("minimize 1.0e-6 0.001 1000 10000\n", 5), "minimize 1.0e-6 0.001 10 10000\n")
        for wrong in (text + "ERROR: lost atoms\n", text.replace("Total", "no"), "Total wall time: 0:00:00\n"):
            with self.assertRaises(Wrong):
                lammps.thermodynamics(wrong, None)

    def test_energies_of_gromacs_are_those_of_steps_and_not_their_averages(self):
        log = "           Step           Time\n             10        0.02000\n\n   Energies (kJ/mol)\n        LJ (SR)   Coulomb (SR)\n" \
              "    1.63783e+04   -9.67363e+04\n Pressure (bar)   Constr. rmsd\n    5.90895e+01    1.20000e-06\n\n" \
              "   <====  A V E R A G E S  ====>\n   Energies (kJ/mol)\n        LJ (SR)\n    1.00000e+00\n"
        found = gromacs.energies(log)
        self.assertEqual({name: one.value for name, one in found.items()},
                         {"step 10: LJ (SR)": 16378.3, "step 10: Coulomb (SR)": -96736.3, "step 10: Pressure (bar)": 59.0895})
        self.assertEqual(found["step 10: Pressure (bar)"].tolerance, gromacs.BAR)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            with self.assertRaises(Wrong):
                gromacs.logs("", folder)
            (folder / "replica0").mkdir()
            (folder / "replica0/md.log").write_text(log)
            with self.assertRaises(Wrong):
                gromacs.logs("", folder)
            (folder / "replica0/md.log").write_text(log + "Finished mdrun on rank 0 Sat\n")
            (folder / "replica0/out.g96").write_text("POSITION\n")
            self.assertEqual(sorted(gromacs.everything("", folder)),
                             ["replica0 state", *(f"replica0, {name}" for name in sorted(found))])

    def test_eigenvalues_are_found_without_their_residuals(self):
        text = "  Row   1:    1.2D+00    3.4D-09\n  Row   2:    2.5D+00    1.0D-09\n"
        self.assertEqual([one.value for one in arpack.eigenvalues("pdsdrv1")(text, None).values()], [1.2, 2.5])
        for wrong in ("", text + " Error with _naupd, info = -9\n"):
            with self.assertRaises(Wrong):
                arpack.eigenvalues("pdsdrv1")(wrong, None)

    def test_trees_of_raxml_may_come_in_any_order(self):
        self.assertEqual(raxml.alignment(), raxml.alignment())
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaises(Wrong):
                raxml.trees_found("", Path(folder))
            Path(folder, "RAxML_bootstrap.T").write_text("(b);\n(a);\n")
            self.assertEqual(raxml.trees_found("", Path(folder)), {"RAxML_bootstrap.T": "(a);\n(b);\n"})


class Petsc(unittest.TestCase):
    def test_a_test_is_run_for_each_of_its_choices(self):
        self.assertEqual(petsc.choices("-m 5"), [("", "-m 5")])
        self.assertEqual([words for words, _ in petsc.choices("-a {{x y}} -b {{1 2}separate output} -c")], [" x 1", " x 2", " y 1", " y 2"])
        self.assertEqual([line.split() for _, line in petsc.choices("-a {{x y}shared output} -c")], [["-c", "-a", "x"], ["-c", "-a", "y"]])

    def test_what_a_test_wants_is_looked_up_in_the_configuration(self):
        made = "#define PETSC_HAVE_MPI_ONE_SIDED 1\n"
        self.assertTrue(petsc.suits({"requires": "double defined(PETSC_HAVE_MPI_ONE_SIDED)", "nsize": "2"}, made))
        self.assertTrue(petsc.suits({"requires": ["!define(PETSC_HAVE_WINDOWS)"]}, made))
        for test in ({"requires": "defined(PETSC_HAVE_X)"}, {"requires": "mumps"}, {"localrunfiles": "a"}, {"args": "-f ${DATAFILESPATH}"},
                     {"args": "-ksp_monitor draw::draw_lg"}):
            self.assertFalse(petsc.suits(test, made))

    def test_figures_may_differ_a_little_and_words_may_not(self):
        out = petsc.figures("  0 KSP Residual norm 1.25\n", None)
        self.assertEqual((out["words"], out["figure 1"]), ("# KSP Residual norm #", Number(1.25, 1.25 * petsc.DIGITS)))
        with self.assertRaises(Wrong):
            petsc.figures("[0]PETSC ERROR: 1\n", None)


class Needs(unittest.TestCase):
    def test_what_a_program_needs_is_built_before_it_and_with_the_same_mpi(self):
        built = []
        first = Program("first", "first", "", "", lambda tree: built.append((tree.program.name, tree.mpi.name, tree.others)), None)
        second = Program("second", "second", "", "", first.build, None, needs=("first",))
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(programs, "PROGRAMS", [second, first]), \
                mock.patch.object(trees.Tree, "run", lambda tree, *words, **more: None):
            mpis = [SimpleNamespace(name=name, compiler="/p/bin/mpcc", cxx="c", fortran="f", launcher="r", launch_options=[],
                                    version=lambda: "1") for name in ("ours", "peer")]
            options = SimpleNamespace(work=Path(folder), jobs=1)
            ready, notes = programs.build(second, {"first": Path("/a_1.orig.tar.gz"), "second": Path("/b_1.orig.tar.gz")}, mpis, options)
            self.assertEqual([notes, set(ready), [one[:2] for one in built]], [[], {"ours", "peer"}, [
                ("first", "ours"), ("second", "ours"), ("first", "peer"), ("second", "peer")]])
            self.assertEqual(built[3][2], {"first": Path(folder, "first-peer")})
            key = ready["ours"].key(Path("/b_1.orig.tar.gz"))
            (Path(folder) / "first-ours" / trees.STAMP).write_text("another")
            self.assertNotEqual(ready["ours"].key(Path("/b_1.orig.tar.gz")), key)


class Ranks(unittest.TestCase):
    def test_tests_that_want_just_so_many_ranks_get_them(self):
        names = [case.name for case in ga.cases(Path("/tree"), 4)]
        self.assertTrue("testc, windows" in names and "nbtestc, windows" not in names)
        self.assertTrue(dune.is_run("mpipacktest", 2) and not dune.is_run("mpipacktest", 4))
        self.assertTrue(boost.is_run("scan_test", 1) and not boost.is_run("ring_test", 1) and not boost.is_run("pointer_test", 4))

    def test_each_program_has_cases_at_two_ranks_with_names_of_their_own(self):
        for program in PROGRAMS:
            if program.name in ("hdf5", "ga", "dune"):
                names = [case.name for case in program.cases(Path("/tree"), 2)]
                self.assertTrue(names and len(set(names)) == len(names), program.name)

    def test_what_a_program_needs_is_known(self):
        names = [program.name for program in PROGRAMS]
        self.assertTrue(all(name in names for program in PROGRAMS for name in program.needs))


class Folders(unittest.TestCase):
    def test_a_case_has_its_own_variables_and_links(self):
        with tempfile.TemporaryDirectory() as folder:
            place, seen = Path(folder, "run"), {}
            def job(command, where, environment, limit, most, standard_input):
                seen.update(environment, link=(where / "below/again").resolve(), given=standard_input)
                return SimpleNamespace(text="", status=0, timed_out=False, seconds=0.1)
            case = Case("c", Path("/p"), environment={"OF_THE_CASE": "3"}, links={"below/again": Path(folder)}, standard_input="5\n")
            mpi = SimpleNamespace(name="ours", command=lambda *words, **more: ["true"])
            with mock.patch.object(runs.executor, "run_job", job):
                runs.run_once(runs.Seen(), case, mpi, 2, SimpleNamespace(timeout=0, keep=False), place)
            self.assertEqual((seen["OF_THE_CASE"], seen["link"], seen["given"]), ("3", Path(folder).resolve(), "5\n"))

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
            whole = Program("demo", "demo", "", "", lambda tree: None, None, top_folders=0)
            tree = trees.Tree(whole, mpi, Path(folder, "whole"), 1)
            tree.prepare(source)
            self.assertTrue((tree.folder / "demo-1/libs/other/b").exists())


if __name__ == "__main__":
    unittest.main()
