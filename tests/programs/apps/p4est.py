"""p4est: forests of octrees; its examples compute a checksum, and know what it has to be for some numbers of ranks."""
import re

from model import Case, Program, Wrong

# Example -> (configuration, level) pairs.
SIMPLE = {"p4est_simple": (("three", 7), ("moebius", 6), ("star", 7), ("disk", 6), ("cubed", 5)),
          "p8est_simple": (("unit", 5), ("periodic", 5), ("rotwrap", 5), ("twocubes", 5))}
TESTS = ("p4est_test_partition", "p4est_test_balance", "p4est_test_ghost", "p4est_test_lnodes", "p4est_test_search",
         "p8est_test_partition", "p8est_test_balance", "p8est_test_ghost", "p8est_test_lnodes")


def build(tree):
    if not (tree.folder / "configure").exists():
        tree.run("./bootstrap")
    tree.run("./configure", "--enable-mpi", "--disable-shared", "--without-blas", f"CC={tree.mpi.compiler}",
             f"CXX={tree.mpi.cxx}", f"FC={tree.mpi.fortran}", f"F77={tree.mpi.fortran}", "CFLAGS=-O1 -w")
    tree.make(cwd="sc")
    tree.make(*(f"example/simple/{name}" for name in SIMPLE), *(f"test/{name}" for name in TESTS))


def checksums(text, folder):
    out = dict(enumerate(re.findall(r"checksum 0x([0-9a-f]+)", text)))
    if not out:
        raise Wrong("it prints no checksum")
    return {f"checksum {number}": value for number, value in out.items()}


def quiet(text, folder):
    if re.search(r"\bABORT|Assertion", text, re.I):
        raise Wrong("an assertion failed")
    return {}


def cases(folder, ranks):
    simple = [Case(f"{name} {shape} {level}", folder / "example/simple" / name, [shape, str(level)], results=checksums) for name, runs in SIMPLE.items() for shape, level in runs]
    return simple + [Case(name, folder / "test" / name, results=quiet) for name in TESTS]


PROGRAM = Program("p4est", "p4est", "Forests of octrees: two of its examples, and nine of its tests",
                  "Checksums of forests that were refined, balanced and partitioned are equal; no test ends early.",
                  build, cases)
