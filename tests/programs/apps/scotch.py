"""PT-Scotch: parallel partitioning of graphs; its test programs, and the quality of what it finds."""
import re

from model import Case, Program, Wrong, found

GRAPHS = ("bump.grf", "m4x4.grf")
TESTS = ("test_scotch_dgraph_check", "test_scotch_dgraph_band", "test_scotch_dgraph_coarsen", "test_scotch_dgraph_grow",
         "test_scotch_dgraph_redist")


def build(tree):
    recipe = (tree.folder / "src/Make.inc/Makefile.inc.x86-64_pc_linux2").read_text()
    for name, value in (("CCS", "gcc"), ("CCP", tree.mpi.compiler), ("CCD", tree.mpi.compiler)):
        recipe = re.sub(rf"^{name}(\s*)=.*$", lambda match, line=f"{name} = {value}": line, recipe, flags=re.M)
    recipe = re.sub(r"^CFLAGS(\s*)= *-O3", "CFLAGS = -O1 -w -fPIC", recipe, flags=re.M)
    (tree.folder / "src/Makefile.inc").write_text(recipe)
    tree.make("ptscotch", cwd="src")
    tree.make(*TESTS, cwd="src/check")


def ended(text, folder):
    if re.search(r"ERROR|FAILED", text):
        raise Wrong("it prints an error")
    return {}


def cases(folder, ranks):
    data = folder / "src/check/data"
    tests = [Case(f"{name.removeprefix('test_scotch_')} {graph}", folder / "src/check" / name, [str(data / graph)],
                  results=ended) for name in TESTS for graph in GRAPHS]
    return tests


PROGRAM = Program("scotch", "scotch", "Parallel partitioning of graphs (PT-Scotch): tests of distributed graphs",
                  "No test finds an error.", build, cases, is_quick=True)
