"""FFTW's tests of its MPI transforms: mpi-bench checks linearity, impulses and shifts of each problem."""
import re
import shutil

from model import Case, Number, Program, Wrong

TOLERANCE = 1e-10       # of the program itself, in double precision
ROUNDS = 3
# In FFTW's words: in or out of place, complex or real, forward or backward, sizes, v: how many at a time;
# [ and ]: input or output transposed.
PROBLEMS = {
    "one dimension": ["icf4096", "ocb6000", "icf1009", "ocb2310", "icf1024v3"],
    "two dimensions": ["icf64x96", "ocb63x65", "]ocf48x50", "[icb32x40", "irf64x48", "orb30x42", "ocf24x25v5"],
    "three dimensions": ["icf12x13x14", "ocb16x16x16", "]icf8x9x10", "orf15x16x18", "irb12x20x6", "ocf6x7x8v4"],
    "real to real": ["ok24hx20e10", "ik18o11x15b"],
}
SAID = re.compile(r"^(\S+) (\S+) (\S+) (\S+)\s*$", re.M)


def build(tree):
    # Only the MPI part is compiled by MPICC, so ccache can share the rest.
    compiler = "ccache gcc" if shutil.which("ccache") else "gcc"
    tree.run("./configure", "--enable-mpi", "--disable-fortran", "--disable-doc", f"MPICC={tree.mpi.compiler}",
             f"CC={compiler}", "CFLAGS=-O1 -fPIC")
    for part in (".", "mpi"):
        tree.make(cwd=part)


def errors(problems):
    def results(text, folder):
        out = {}
        for problem, *words in SAID.findall(text):
            for name, word in zip(("linearity", "impulse", "shift"), words):
                value = float(word)
                if not value <= TOLERANCE:
                    raise Wrong(f"{problem}: {name} is off by {value}, and may be by {TOLERANCE}")
                out[f"{problem} {name}"] = Number(value, TOLERANCE)
        missing = [problem for problem in problems if f"{problem} shift" not in out]
        if missing:
            raise Wrong(f"it says nothing of {missing[0]}")
        return out
    return results


def cases(folder, ranks):
    return [Case(name, folder / "mpi/mpi-bench",
                 [f"--verify-rounds={ROUNDS}", *(word for problem in problems for word in ("--verify", problem))],
                 results=errors(problems)) for name, problems in PROBLEMS.items()]


PROGRAM = Program("fftw", "fftw3", "Fourier transforms; the program of its tests, mpi-bench",
                  f"Errors of each problem are below FFTW's own tolerance, {TOLERANCE:g}.", build, cases)
