"""PT-Scotch: parallel partitioning and ordering of graphs; its test programs, and its programs on their graphs."""
import re
import subprocess

from model import Case, Program, Wrong

TESTS = {"check": ("bump.grf", "bump_b1.grf"), "band": ("bump_b1.grf",), "coarsen": ("bump.grf", "bump_b1.grf"),
         "grow": ("bump.grf",), "redist": ("bump.grf",)}
GRAPH = "bump.grf"
PARTS = 9
ORDER, MAP, STATISTICS = "out.ord", "out.map", "out.txt"


def build(tree):
    recipe = (tree.folder / "src/Make.inc/Makefile.inc.x86-64_pc_linux2").read_text()
    for name, value in (("CCS", "gcc"), ("CCP", tree.mpi.compiler), ("CCD", tree.mpi.compiler)):
        recipe = re.sub(rf"^{name}(\s*)=.*$", lambda match, line=f"{name} = {value}": line, recipe, flags=re.M)
    recipe = re.sub(r"^CFLAGS(\s*)= *-O3", "CFLAGS = -O1 -w -fPIC", recipe, flags=re.M)
    (tree.folder / "src/Makefile.inc").write_text(recipe)
    tree.run("make", "scotch", cwd="src")       # its Makefiles do not stand -j
    tree.run("make", "ptscotch", cwd="src")
    tree.make(f"CC={tree.mpi.compiler}", "SCOTCHLIBS=-lptscotch -lscotch -lptscotcherr",
              *(f"test_scotch_dgraph_{name}" for name in TESTS), cwd="src/check")


def without_errors(text, folder=None):
    if re.search(r"ERROR|FAILED", text):
        raise Wrong("it prints an error")
    return {}


def statistics(text, folder):
    without_errors(text)
    lines = [line.split("\t") for line in (folder / STATISTICS).read_text().splitlines()]
    out = {words[1]: " ".join(words[2:]) for words in lines if len(words) > 2}
    if "Vertex" not in out:
        raise Wrong(f"{STATISTICS} says nothing of vertices")
    return out


def judged_by(program, graph, *words):
    """Results that another, sequential program of Scotch has to accept."""
    def results(text, folder):
        without_errors(text)
        done = subprocess.run([program, graph, *words], cwd=folder, capture_output=True, text=True, check=False, timeout=60)
        if done.returncode or "ERROR" in done.stdout + done.stderr:
            raise Wrong(f"{program.name} does not take it: {(done.stdout + done.stderr).strip()[-200:]}")
        return {}
    return results


def cases(folder, ranks):
    check, programs = folder / "src/check", folder / "bin"
    graph = check / "data" / GRAPH
    tests = [Case(f"{name}, {data}", check / f"test_scotch_dgraph_{name}", [str(check / "data" / data)],
                  results=without_errors) for name, graphs in TESTS.items() for data in graphs]
    return tests + [
        Case("dgtst", programs / "dgtst", [str(graph), STATISTICS], results=statistics, same_for_all_ranks=True),
        Case("dgord", programs / "dgord", [str(graph), ORDER], results=judged_by(programs / "gotst", graph, ORDER)),
        Case(f"dgpart, {PARTS} parts", programs / "dgpart", [str(PARTS), str(graph), MAP],
             results=judged_by(programs / "gmtst", graph, str(folder / "tgt/k9.tgt"), MAP))]


PROGRAM = Program("scotch", "scotch", "Parallel partitioning and ordering of graphs (PT-Scotch)",
                  "No test finds an error, its sequential programs accept orderings and parts, and what it counts in a graph is "
                  "equal.", build, cases, commands=("flex", "bison"))
