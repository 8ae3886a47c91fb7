"""SuperLU_DIST: sparse direct solver; its tester counts residuals beyond its threshold."""
import re

from model import Case, Program, Wrong, found, grid

LAST_OF_RIGHT_HAND_SIDES = 3


def build(tree):
    tree.run("cmake", "-S", ".", "-B", "build", "-G", "Ninja", f"-DCMAKE_C_COMPILER={tree.mpi.compiler}",
             f"-DCMAKE_CXX_COMPILER={tree.mpi.cxx}", "-DCMAKE_BUILD_TYPE=None", "-DCMAKE_C_FLAGS=-O1 -w",
             "-DCMAKE_CXX_FLAGS=-O1 -w", "-DBUILD_SHARED_LIBS=OFF", "-DTPL_ENABLE_PARMETISLIB=OFF",
             "-DTPL_BLAS_LIBRARIES=-lblas", "-DTPL_ENABLE_INTERNAL_BLASLIB=OFF", "-Denable_openmp=OFF",
             "-Denable_single=OFF", "-Denable_complex16=OFF", "-DXSDK_ENABLE_Fortran=OFF", "-Denable_examples=ON",
             "-Denable_tests=ON")
    tree.run("cmake", "--build", "build", "--", f"-j{tree.jobs}", "pdtest", "pddrive")


def tester(text, folder):
    if re.search(r"failed to pass the threshold|error messages recorded|^\*\* First factor", text, re.M):
        raise Wrong("a test is beyond the threshold")
    return {"tests passed": found(r"passed the threshold \(\s*(\d+) tests run\)", text, "line of tests that passed")}


def cases(folder, ranks):
    rows, columns = grid(ranks)
    shape = ["-r", str(rows), "-c", str(columns)]
    matrix = str(folder / "EXAMPLE/g20.rua")
    return [Case(f"pdtest, {count} right-hand side{'s' if count > 1 else ''}", folder / "build/TEST/pdtest",
                 [*shape, "-s", str(count), "-b", "2", "-x", "8", "-m", "20", "-f", matrix],
                 results=tester, same_for_all_ranks=True) for count in (1, LAST_OF_RIGHT_HAND_SIDES)]


PROGRAM = Program("superlu_dist", "superlu-dist", "A direct solver for sparse matrices; its tester pdtest",
                  "The tester finds no residual beyond its threshold, and counts the same number of tests.",
                  build, cases, commands=("cmake", "ninja"))
