"""p4est: forests of octrees; its tests, found and built by its own macros for autoconf."""
import re

from model import Case, Program, Wrong

# Each sends, balances, partitions or writes a forest; the others are of single ranks.
TESTS = ("p4est_test_balance", "p4est_test_partition", "p4est_test_ghost", "p4est_test_loadsave", "p4est_test_lnodes",
         "p4est_test_iterate", "p4est_test_nodes", "p4est_test_subcomm", "p4est_test_partition_corr", "p8est_test_loadsave",
         "p8est_test_search", "p6est_test_all")


def build(tree):
    tree.run("./bootstrap")
    tree.configure("--enable-mpi", "--disable-shared", "--without-blas", "CFLAGS=-O1 -w")
    tree.make()
    tree.make(*(f"test/{name}" for name in TESTS))


def counts(text, folder):
    """What rank 0 says of the whole forest; other lines begin with their rank, and mix."""
    if re.search(r"\bAbort\b", text):
        raise Wrong("it aborts")
    lines = re.findall(r"^\[p4est\] +(.*(?:total quadrants|shipped|checksum|global nodes|global quadrants).*)$", text, re.M)
    return {f"line {number}": line for number, line in enumerate(lines)}


def cases(folder, ranks):
    return [Case(name, folder / "test" / name, results=counts) for name in TESTS]


PROGRAM = Program("p4est", "p4est", "Forests of octrees, balanced and partitioned in parallel",
                  "No test aborts, and what it counts of its forests is equal.",
                  build, cases, commands=("autoreconf", "libtoolize"))
