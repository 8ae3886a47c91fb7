"""ScaLAPACK: dense linear algebra on grids of ranks; some testers of the library in double precision."""
import re

from apps import blacs
from model import Case, Program, Wrong, grids

MOST_GRIDS = 3
# Programs by their folder in TESTING, with their inputs.
TESTERS = {"LIN": {"xdlu": "LU.dat", "xdllt": "LLT.dat", "xdqr": "QR.dat"},
           "EIG": {"xdbrd": "BRD.dat", "xdhrd": "HRD.dat", "xdtrd": "TRD.dat"}}


def build(tree):
    blacs.settings(tree)
    for folder, words in (("BLACS", ("lib",)), ("TOOLS", ("double",)), ("REDIST/SRC", ("integer", "double"))):
        tree.run("make", *words, cwd=folder)        # these do not stand -j
    for folder in ("PBLAS/SRC", "SRC"):
        tree.make("double", cwd=folder)
    for folder, names in TESTERS.items():
        tree.make(*(f"../{name}" for name in names), cwd=f"TESTING/{folder}")


def with_grids(text, ranks):
    """A tester's input with grids that use all ranks."""
    shapes = grids(ranks)
    shapes = [shapes[0], shapes[len(shapes) // 2], shapes[-1]][:MOST_GRIDS] if len(shapes) > MOST_GRIDS else shapes
    for pattern, value in ((r"^.*?(\s+[Nn]umber of process(?:or)? grids)", str(len(shapes))),
                           (r"^.*?(\s+values of P\b)", " ".join(str(rows) for rows, _ in shapes)),
                           (r"^.*?(\s+values of Q\b)", " ".join(str(columns) for _, columns in shapes))):
        text, times = re.subn(pattern, rf"{value}\1", text, count=1, flags=re.M)
        if not times:
            raise Wrong(f"an input of the tester has no line like '{pattern}'")
    return text


def counted(text, folder):
    """How many tests it counts, of which none may fail."""
    found = re.search(r"Finished +(\d+) tests, with the following results:\s+(\d+) tests completed and passed residual checks", text)
    if not found or re.search(r"FAILED|^ *[1-9]\d* tests completed and failed", text, re.M):
        raise Wrong("it counts no tests, or a test failed")
    return {"tests": found.group(1), "passed": found.group(2)}


def cases(folder, ranks):
    testing = folder / "TESTING"
    return [Case(program, testing / program, files={name: with_grids((testing / name).read_text(), ranks)}, results=counted,
                 limit_s=300) for names in TESTERS.values() for program, name in names.items()]


PROGRAM = Program("scalapack", "scalapack", "Dense linear algebra on grids of ranks: equations, factors, reductions; testers of the library",
                  "No test fails, and as many pass.", build, cases, commands=("gfortran",))
