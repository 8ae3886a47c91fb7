"""Parallel HDF5: files of arrays and groups through MPI-IO; the programs of its testpar."""
import re

from model import Case, Program, Wrong

FINE = r"finished with no (?:errors|failures)|All Parallel Filters tests passed"
# Which say nothing when all is well.
SILENT = ("t_pshutdown", "t_prestart", "t_init_term")
# t_prestart reads what t_pshutdown left, so it is not run by itself.
# Nor is t_cache_image: a process without MPI, which it starts, first makes files of 170 MB each for minutes.
TESTS = ("t_mpi", "testphdf5", "t_cache", "t_pread", "t_shapesame", "t_filters_parallel", "t_pshutdown",
         "t_init_term")
LEAST_RANKS = {"t_cache": 3, "t_pread": 3}
# On two cores these take minutes with 16.
MOST_RANKS = {"t_cache": 4, "t_shapesame": 4}
# Of 0 to 3; without a word it runs everything.
SMOKE = {"HDF5TestExpress": "3"}


def build(tree):
    tree.configure("--enable-parallel", "--enable-build-mode=production", "--disable-shared", "--disable-tools",
                   "CC=mpicc", "CFLAGS=-O1 -w")
    tree.make(cwd="src")
    tree.make(cwd="hl/src")     # for netCDF
    tree.make("libh5test.la", cwd="test")
    tree.make(*TESTS, cwd="testpar")


def without_errors(is_silent):
    def results(text, folder):
        wrong = re.search(r"^.*(?:\*FAILED\*|\*\*\*FAILED|\*\*\*.* detected \d+|Parallel ERROR|TEST ERROR).*$", text, re.M)
        if wrong:
            raise Wrong(wrong.group(0).strip())
        if not is_silent and not re.search(FINE, text):
            raise Wrong("it does not say that it finished without errors")
        return {"tests": " ".join(sorted(set(re.findall(r"^Testing *-- (.*?) *\(\S+\)", text, re.M))))}
    return results


def cases(folder, ranks):
    return [Case(name, folder / "testpar" / name, results=without_errors(name in SILENT), environment=SMOKE, limit_s=300)
            for name in TESTS if LEAST_RANKS.get(name, 1) <= ranks <= MOST_RANKS.get(name, ranks)]


PROGRAM = Program("hdf5", "hdf5", "Files of arrays and groups, written and read by all ranks through MPI-IO",
                  "No test of testpar finds an error, and the same tests were run.", build, cases)
