"""PARPACK: some eigenvalues of large matrices by Arnoldi's method, in Fortran 77 with COMMON blocks; its examples and tests."""
import re

from model import Case, Number, Program, Wrong

EXAMPLES = ("pssdrv1", "pdsdrv1", "psndrv1", "psndrv3", "pdndrv1", "pdndrv3", "pcndrv1", "pzndrv1")
TESTS = ("issue46", "icb_parpack_c", "icb_parpack_cpp")
# A rank needs two rows of a grid with ten: with one, av() uses `lo` before it sets it.
MOST_RANKS = {name: 5 for name in ("issue46", "pssdrv1", "pdsdrv1", "psndrv1", "pdndrv1", "pcndrv1", "pzndrv1")}
# Of eigenvalues: programs stop at machine precision, which is single for those named p[sc].
SINGLE, DOUBLE = 1e-3, 1e-8


def build(tree):
    tree.run("cmake", "-S", ".", "-B", "out", "-DMPI=ON", "-DICB=ON", "-DEXAMPLES=ON", "-DTESTS=ON", "-DBUILD_SHARED_LIBS=OFF",
             "-DCMAKE_BUILD_TYPE=None", "-DCMAKE_C_FLAGS=-O1 -w", "-DCMAKE_CXX_FLAGS=-O1 -w", "-DCMAKE_Fortran_FLAGS=-O1 -w")
    tree.make(cwd="out")


def eigenvalues(name):
    """Results of an example: its table of Ritz values, whose last column is a residual."""
    tolerance = SINGLE if name[1] in "sc" else DOUBLE

    def results(text, folder):
        if re.search(r"Error|ERROR", text):
            raise Wrong("it prints an error")
        rows = [[float(word.replace("D", "E")) for word in words.split()[:-1]]
                for words in re.findall(r"^ *Row +\d+: +(.*)$", text, re.M)]
        if not rows:
            raise Wrong("it prints no eigenvalues")
        # Those of a pair may come in any order, and rounding decides which is larger.
        values = sorted(rows, key=lambda row: [round(value, 2) for value in row])
        return {f"{row}.{place}": Number(value, tolerance * max(1.0, abs(value)))
                for row, of_row in enumerate(values) for place, value in enumerate(of_row)}
    return results


def without_errors(text, folder):
    if re.search(r"Error with|ERROR|[Ff]ailed", text):
        raise Wrong("it prints an error")
    return {}


def cases(folder, ranks):
    return [Case(name, folder / "out/PARPACK/EXAMPLES/MPI" / name, results=eigenvalues(name)) for name in EXAMPLES
            if ranks <= MOST_RANKS.get(name, ranks)] + \
           [Case(name, folder / "out/PARPACK/TESTS/MPI" / name, results=without_errors) for name in TESTS
            if ranks <= MOST_RANKS.get(name, ranks)]


PROGRAM = Program("arpack", "arpack", "Some eigenvalues of large matrices by Arnoldi's method, in Fortran 77; examples and tests",
                  "Eigenvalues are equal in eight digits, or three in single precision.", build, cases, commands=("cmake", "gfortran"))
