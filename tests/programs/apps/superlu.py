"""SuperLU_DIST: a direct solver of sparse equations on a grid of ranks; its test and its examples."""
import re

from model import Case, Program, Wrong, found, grid

MATRICES = ("g20.rua", "big.rua")
# Not pddrive2: with several ranks each makes another solution for its second system (rand() was called in pdgssvx, by
# each as often as its part of the matrix wants).
EXAMPLES = ("pddrive", "pddrive1", "pddrive3")
IN_LAYERS = "pddrive3d"
# With reference BLAS its largest ratio is 20.05 on one rank, and the threshold 20.
LEAST_OF_TEST = 2


def build(tree):
    tree.run("cmake", "-S", ".", "-B", "out", "-DCMAKE_BUILD_TYPE=None", "-DCMAKE_C_FLAGS=-O1 -w", "-DCMAKE_CXX_FLAGS=-O1 -w",
             "-DBUILD_SHARED_LIBS=OFF", "-Denable_single=OFF", "-Denable_complex16=OFF", "-Denable_openmp=OFF",
             "-DTPL_ENABLE_PARMETISLIB=OFF", "-DTPL_ENABLE_INTERNAL_BLASLIB=OFF", "-DTPL_BLAS_LIBRARIES=-lblas",
             "-DXSDK_ENABLE_Fortran=OFF")
    tree.make("pdtest", *EXAMPLES, IN_LAYERS, cwd="out")


def all_passed(text, folder):
    count = found(r"All tests for DGS driver passed the threshold \(\s*(\d+) tests run\)", text, "line that all tests passed")
    if re.search(r"error messages recorded|failed", text):
        raise Wrong("it says that something failed")
    return {"tests": count}


def factored(text, folder):
    """What an example says of its factors; its error is of the order of the machine's, or its pivots are wrong."""
    errors = [float(value) for value in re.findall(r"\|\|X-Xtrue\|\|/\|\|X\|\| = *(\S+)", text)]
    if not errors or any(not value < 1e-6 for value in errors):
        raise Wrong(f"errors of its solutions: {errors}")
    out = {f"{name.strip()} {number}": value for number, (name, value)
           in enumerate(re.findall(r"(Nonzeros in [LU]|nonzeros in L\+U) *=? *(\d+)", text))}
    out["solutions"] = str(len(errors))
    return out


def cases(folder, ranks):
    rows, columns = grid(ranks)
    shape = ["-r", str(rows), "-c", str(columns)]
    matrices = {name: str(folder / "EXAMPLE" / name) for name in MATRICES}
    return [Case(f"pdtest, {count} right-hand sides", folder / "out/TEST/pdtest",
                 [*shape, "-s", str(count), "-b", "2", "-x", "8", "-m", "20", "-f", matrices["g20.rua"]], results=all_passed)
            for count in (1, 3) if ranks >= LEAST_OF_TEST] + \
           [Case(f"{name}, {matrix}", folder / "out/EXAMPLE" / name, [*shape, matrices[matrix]], results=factored)
            for name in EXAMPLES for matrix in MATRICES] + \
           [Case(f"{IN_LAYERS}, {matrix}", folder / "out/EXAMPLE" / IN_LAYERS, [*layers(ranks), matrices[matrix]], results=factored)
            for matrix in MATRICES]


def layers(ranks):
    """Arguments that put the ranks into a grid with layers, as many as a power of two."""
    depth = 2 if ranks % 2 == 0 else 1
    rows, columns = grid(ranks // depth)
    return ["-r", str(rows), "-c", str(columns), "-d", str(depth)]


PROGRAM = Program("superlu", "superlu-dist", "A direct solver of sparse equations on a grid of ranks: its test and its examples",
                  "Its test passes as often, and factors have as many nonzeros.", build, cases, commands=("cmake",))
