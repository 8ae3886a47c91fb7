"""hypre: multigrid solvers on structured grids and sparse matrices; its test drivers."""
import re

from model import Case, Number, Program, Wrong, grid

# What a driver stops at; two residuals below it are as good as each other.
TOLERANCE = {"struct": 1e-6, "sstruct": 1e-6, "ij": 1e-8}
INPUT = "sstruct.in.default"
CASES = {
    "struct, SMG": ("struct", "-solver 0"),
    "struct, PFMG": ("struct", "-solver 1 -n 20 16 12"),
    "struct, CG with PFMG": ("struct", "-solver 11"),
    "struct, CG with diagonal scaling": ("struct", "-solver 18"),
    "struct, periodic": ("struct", "-solver 1 -n 16 16 16 -p 16 0 0"),
    "ij, AMG": ("ij", "-solver 0 -rhsrand -n 20 20 20"),
    "ij, AMG and CG": ("ij", "-solver 1 -rhsrand -n 20 20 20"),
    "ij, AMG and GMRES": ("ij", "-solver 3 -rhsrand -n 20 20 20"),
    "ij, diagonal scaling and BiCGSTAB": ("ij", "-solver 10 -rhsrand"),
    "ij, hybrid": ("ij", "-solver 20 -rhsrand"),
    "ij, aggressive coarsening": ("ij", "-solver 1 -rhsrand -n 24 24 24 -agg_nl 1 -interptype 6"),
    "ij, coarse problem on fewer ranks": ("ij", "-solver 1 -rlx 6 -n 24 24 24 -agg_nl 1 -seq_th 100"),
    "sstruct, SMG": ("sstruct", "-solver 10"),
    "sstruct, AMG": ("sstruct", "-solver 20"),
}


def build(tree):
    tree.run("./configure", "--disable-fortran", "CC=mpicc", "CXX=mpicxx", "CFLAGS=-O1 -w", "CXXFLAGS=-O1 -w", cwd="src")
    tree.make(cwd="src")
    tree.make("struct", "ij", "sstruct", cwd="src/test")


def converged(driver):
    """Results of a solver's run: how many iterations, and the residual, which has to be small."""
    def results(text, folder):
        counts = re.findall(r"^\s*(.*Iterations) = (\d+)", text, re.M)
        norms = re.findall(r"^\s*(Final .*Norm) = (\S+)", text, re.M)
        if not counts or not norms:
            raise Wrong("it does not say how it has converged")
        tolerance = TOLERANCE[driver]
        out = {f"{name} {number}": count for number, (name, count) in enumerate(counts)}
        for number, (name, value) in enumerate(norms):
            if not 0 <= float(value) <= tolerance:
                raise Wrong(f"{name} is {value}, more than {tolerance}")
            out[f"{name} {number}"] = Number(float(value), tolerance)
        return out
    return results


def cases(folder, ranks):
    rows, columns = grid(ranks)
    tests = folder / "src/test"
    where = ["-P", str(columns), str(rows), "1"]
    return [Case(name, tests / driver, [*where, *words.split()], results=converged(driver),
                 links={INPUT: tests / "TEST_sstruct" / INPUT} if driver == "sstruct" else {})
            for name, (driver, words) in CASES.items()]


PROGRAM = Program("hypre", "hypre", "Multigrid solvers on structured grids and sparse matrices: the drivers of its tests",
                  "Each solver converges in as many iterations, with a residual below what it stops at.", build, cases)
