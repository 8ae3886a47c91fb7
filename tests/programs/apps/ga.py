"""Global Arrays: arrays spread over ranks, reached by put, get and accumulate; its tests, over two of its runtimes."""
import re

from model import Case, Program, Wrong

# Windows; MPI from several threads of a rank. Not MPI_PROGRESS_RANK: it names shared memory by getpid() (docs/limits.md).
RUNTIMES = {"windows": "MPI_RMA", "threads": "MPI_MULTITHREADED"}
# Not matrixc: GA_Zero_diagonal clears the beginning of a block where the diagonal begins within it (offset = 0 in
# pnga_zero_diagonal), without a message. Others take minutes with two ranks (packc, unpackc, scan_*, elempatch, testmatmultc).
TESTS = ("testc", "getmem", "mtest", "normc", "ntestc", "nbtestc", "read_only", "ga-mpi", "lock", "comm_init", "patch_enumc",
         "simple_groups_commc")
# Left out; by their source, as nobody has compared them with Open MPI: with many handles comex_test of windows gets some that it has given to others; that of threads
# moves nothing on; read_only asks for no threads.
NOT_WITH = {"windows": ("nbtestc",), "threads": ("nbtestc", "read_only")}


def place(runtime):
    return f"out-{RUNTIMES[runtime]}"


def build(tree):
    for runtime, name in RUNTIMES.items():
        tree.run("cmake", "-S", ".", "-B", place(runtime), f"-DGA_RUNTIME={name}", "-DENABLE_FORTRAN=OFF", "-DENABLE_CXX=OFF",
                 "-DCMAKE_BUILD_TYPE=None", "-DCMAKE_C_FLAGS=-O1 -w")
        tree.make(cwd=place(runtime))


def without_errors(text, folder):
    wrong = re.search(r"^.*(?:\b[Ff]ail|FAIL|[Mm]ismatch|ERROR|\b[Ee]rror:|not ok).*$", text, re.M)
    if wrong:
        raise Wrong(wrong.group(0).strip())
    return {}


def cases(folder, ranks):
    return [Case(f"{name}, {runtime}", folder / place(runtime) / "global/testing" / f"{name}.x", results=without_errors)
            for runtime in RUNTIMES for name in TESTS if name not in NOT_WITH[runtime]]


PROGRAM = Program("ga", "ga", "Global Arrays: put, get, accumulate and locks, over windows or threads",
                  "Each test ends with 0 and prints no error.", build, cases, commands=("cmake",))
