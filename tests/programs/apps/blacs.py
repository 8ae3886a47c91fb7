"""BLACS over MPI: the testers of ScaLAPACK's communication layer, from C and from Fortran."""
import re

from model import Case, Program, Wrong, found, grids

MOST_GRIDS = 5


def settings(tree):
    """SLmake.inc: F77 in older versions is FC in later ones."""
    (tree.folder / "SLmake.inc").write_text(f"""CDEFS = -DAdd_
F77 = {tree.mpi.fortran}
FC = $(F77)
CC = {tree.mpi.compiler}
NOOPT = -O0 -w -std=legacy
F77FLAGS = -O1 -w -std=legacy
FCFLAGS = $(F77FLAGS)
FCLOADER = $(F77)
FCLOADFLAGS =
CCFLAGS = -O1 -w
SRCFLAG =
F77LOADER = $(F77)
CCLOADER = $(CC)
F77LOADFLAGS =
CCLOADFLAGS =
ARCH = ar
ARCHFLAGS = cr
RANLIB = ranlib
SCALAPACKLIB = libscalapack.a
BLASLIB = -lblas
LAPACKLIB = -llapack
LIBS = $(LAPACKLIB) $(BLASLIB)
""")


def build(tree):
    settings(tree)
    tree.run("make", "lib", cwd="BLACS")    # its Makefiles do not stand -j
    tree.make("xCbtest", cwd="BLACS/TESTING")
    tree.make("xFbtest", cwd="BLACS/TESTING")


def with_grids(text, ranks):
    """An input of the testers with grids that use all ranks, as far as there are not too many."""
    shapes = grids(ranks)
    shapes = shapes[:MOST_GRIDS // 2 + 1] + shapes[len(shapes) - MOST_GRIDS // 2:] if len(shapes) > MOST_GRIDS else shapes
    for pattern, value in ((r"^.*?(\s+Number of grids)", str(len(shapes))),
                           (r"^.*?(\s+NPROW)", " ".join(str(rows) for rows, _ in shapes)),
                           (r"^.*?(\s+NPCOL)", " ".join(str(columns) for _, columns in shapes))):
        text, times = re.subn(pattern, rf"{value}\1", text, count=1, flags=re.M)
        if not times:
            raise Wrong(f"an input of the tester has no line like '{pattern}'")
    return text


def counted(text, folder):
    """{what it says of a kind of test: how many passed, were skipped, failed}"""
    out = {}
    for line in text.splitlines():
        words = re.match(r"\s*(.*?)\s*(\d+) TESTS;\s*(\d+) PASSED,\s*(\d+) SKIPPED,\s*(\d+) FAILED", line)
        if words:
            out[f"{words[1]} {len(out)}"] = f"{words[2]} tests, {words[3]} passed, {words[4]} skipped"
            if int(words[5]):
                raise Wrong(f"{words[5]} tests failed: {line.strip()}")
    if not out:
        raise Wrong("it counts no tests")
    found(r"(DONE BLACS_GRIDEXIT)", text, "end of its auxiliary tests")
    # It skips one of them if sums in the order of arrival were equal by chance.
    out["auxiliary tests"] = f"{len(re.findall(r'^ (?:PASSED|SKIPPED REPEATABLE) ', text, re.M))} passed"
    if re.search(r"^\s*.*\bFAILED\b(?!\.)", re.sub(r"\d+ FAILED", "", text), re.M):
        raise Wrong("a test that it does not count failed")
    return out


def cases(folder, ranks):
    testing = folder / "BLACS/TESTING"
    files = {"bt.dat": (testing / "bt.dat").read_text()}
    files.update({name: with_grids((testing / name).read_text(), ranks) for name in ("sdrv.dat", "bsbr.dat", "comb.dat")})
    # Its last test is of blacs_abort, so the job ends with a status.
    return [Case(program, testing / program, files=files, results=counted, statuses=(), limit_s=300)
            for program in ("xCbtest", "xFbtest")]


PROGRAM = Program("blacs", "scalapack", "The messages and reductions of ScaLAPACK: the testers of BLACS over MPI",
                  "No test fails, and as many pass and are skipped. The testers end by blacs_abort.",
                  build, cases, is_quick=True)
