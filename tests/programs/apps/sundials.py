"""SUNDIALS: solvers of differential equations on spread vectors; tests of the vectors, and parallel examples."""
import re

from model import Case, Number, Program, Wrong

# Its own test runner (test/testRunner) compares with four digits, and counts within a tenth.
DIGITS, COUNTS = 1e-4, 0.1
# Folder of examples/, program, arguments, numbers of ranks (None: any).
EXAMPLES = (
    ("nvector/parallel", "test_nvector_mpi", "1000 0", None), ("nvector/mpiplusx", "test_nvector_mpiplusx", "1000 0", None),
    ("nvector/mpimanyvector", "test_nvector_mpimanyvector_parallel1", "1000 200 0", None),
    ("nvector/mpimanyvector", "test_nvector_mpimanyvector_parallel2", "200 1000 200 0", (2, 4, 16)),
    ("cvode/parallel", "cvAdvDiff_non_p", "", (1, 2, 4)), ("cvode/parallel", "cvAdvDiff_diag_p", "", (1, 2, 4)),
    ("cvode/parallel", "cvDiurnal_kry_p", "", (4,)), ("cvode/parallel", "cvDiurnal_kry_bbd_p", "", (4,)),
    ("ida/parallel", "idaHeat2D_kry_p", "", (4,)), ("ida/parallel", "idaFoodWeb_kry_p", "", (4,)),
    ("kinsol/parallel", "kinFoodWeb_kry_p", "", (4,)), ("kinsol/parallel", "kinFoodWeb_kry_bbd_p", "", (4,)),
)


def build(tree):
    tree.run("cmake", "-S", ".", "-B", "out", "-DENABLE_MPI=ON", "-DCMAKE_BUILD_TYPE=None", "-DCMAKE_C_FLAGS=-O1 -w",
             "-DBUILD_SHARED_LIBS=OFF", "-DBUILD_ARKODE=OFF", "-DBUILD_CVODES=OFF", "-DBUILD_IDAS=OFF",
             "-DEXAMPLES_INSTALL=OFF", "-DEXAMPLES_ENABLE_CXX=OFF")
    tree.make(*(name for _, name, _, _ in EXAMPLES), cwd="out")


def figures(text, folder):
    """All figures that it prints, as its own runner compares them."""
    if re.search(r"FAIL|ERROR", text):
        raise Wrong("it says that it failed")
    if "SUCCESS" in text:
        return {}
    out = {}
    for word in re.findall(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.])", text):
        value = float(word)
        out[f"figure {len(out)}"] = Number(value, abs(value) * (DIGITS if re.search(r"[.eE]", word) else COUNTS))
    if not out:
        raise Wrong("it prints no figures")
    return out


def cases(folder, ranks):
    return [Case(name, folder / "out/examples" / where / name, words.split(), results=figures)
            for where, name, words, counts in EXAMPLES if counts is None or ranks in counts]


PROGRAM = Program("sundials", "sundials", "Solvers of differential equations on spread vectors: its vectors' tests, parallel examples",
                  "Vectors pass their tests; figures are equal in four digits, as in its own comparison.", build, cases,
                  commands=("cmake",))
