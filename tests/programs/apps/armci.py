"""ARMCI-MPI: a library of one-sided communication on MPI's windows, and its tests."""
import re

from model import Case, Program, Wrong

# In tests/; those of mpi/ use windows without ARMCI. contrib/armci-test is the large one.
TESTS = ("test_onesided", "test_mutex_rmw", "test_mutex_trylock", "test_groups", "test_accs", "test_puts_gets_dla", "test_putv",
         "test_rmw_fadd", "test_parmci", "contrib/armci-test", "mpi/test_mpi_indexed_accs", "mpi/test_mpi_subarray_accs",
         "mpi/test_win_model")


def build(tree):
    tree.configure("CC=mpicc", "--disable-shared", "CFLAGS=-O1 -w")
    tree.make()
    tree.make(*(f"tests/{name}" for name in TESTS))


def without_errors(text, folder):
    wrong = re.search(r"^.*(?:[Ff]ail|FAIL|[Mm]ismatch|expected).*$", text, re.M)
    if wrong:
        raise Wrong(wrong.group(0))
    return {}


def cases(folder, ranks):
    return [Case(name, folder / "tests" / name, results=without_errors) for name in TESTS]


PROGRAM = Program("armci", "armci-mpi", "ARMCI on MPI's windows: put, get, accumulate, locks, of strided and listed places",
                  "No test says that it failed.", build, cases, commands=("autoreconf", "libtoolize"))
