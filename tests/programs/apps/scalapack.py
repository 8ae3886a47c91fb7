"""ScaLAPACK: dense linear algebra over BLACS; test programs that check residuals."""
import re

from apps import blacs
from model import Case, Program, Wrong, found, grids

MOST_GRIDS = 3
# Program -> its input.
TESTERS = {"xdlu": "LU.dat", "xdllt": "LLT.dat", "xdqr": "QR.dat", "xdls": "LS.dat", "xdhrd": "HRD.dat"}


def build(tree):
    blacs.settings(tree)
    tree.run("make", "lib", cwd="BLACS")
    for part in ("TOOLS", "PBLAS", "REDIST", "SRC"):
        tree.make("lib" if part != "TOOLS" else "toolslib", cwd=f"{part}{'/SRC' if part != 'SRC' else ''}".replace("TOOLS/SRC", "TOOLS"))
    for name in TESTERS:
        tree.make(name, cwd="TESTING/LIN")


def with_grids(text, ranks):
    shapes = grids(ranks)[:MOST_GRIDS]
    for word, values in (("number of process grids", [len(shapes)]), ("values of P", [rows for rows, _ in shapes]),
                         ("values of Q", [columns for _, columns in shapes])):
        text, times = re.subn(rf"^[\d ]+?(\s+{word})", rf"{' '.join(map(str, values))}\1", text, count=1, flags=re.M)
        if not times:
            raise Wrong(f"the tester's input has no line of '{word}'")
    return text


def counted(text, folder):
    failed = found(r"^\s*(\d+) tests completed and failed", text, "count of tests that failed")
    if int(failed):
        raise Wrong(f"{failed} tests failed")
    return {"tests": found(r"^Finished\s+(\d+) tests", text, "count of tests"),
            "passed": found(r"^\s*(\d+) tests completed and passed", text, "count of tests that passed")}


def cases(folder, ranks):
    testing = folder / "TESTING"
    return [Case(name, testing / name, files={data: with_grids((testing / data).read_text(), ranks)}, results=counted)
            for name, data in TESTERS.items()]


PROGRAM = Program("scalapack", "scalapack", "Dense linear algebra: testers of LU, Cholesky, QR, least squares",
                  "No residual beyond the tester's threshold, and as many tests pass.", build, cases)
