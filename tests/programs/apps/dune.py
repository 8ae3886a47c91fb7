"""dune-common: the parallel part of a C++ framework for finite elements; its tests."""
from model import Case, Program

HERE = "dune/common/parallel/test"
TESTS = ("communicationtest", "indexsettest", "remoteindicestest", "selectiontest", "syncertest", "variablesizecommunicatortest",
         "mpifuturetest", "mpidatatest", "mpipacktest", "mpigatherscattertest")
JUST_TWO = ("mpidatatest", "mpipacktest", "mpigatherscattertest")
# With more its 20 columns are so few for each that overlaps reach ranks which it does not name as neighbours.
MOST_RANKS = {"remoteindicestest": 4}
ALONE = ("indexsettest", "selectiontest")

NOT_WANTED = ("Doxygen", "LATEX", "TBB")


def build(tree):
    tree.run("cmake", "-S", ".", "-B", "out", "-DCMAKE_BUILD_TYPE=None", "-DCMAKE_CXX_FLAGS=-O0 -w", "-DBUILD_SHARED_LIBS=OFF",
             "-DDUNE_ENABLE_PYTHONBINDINGS=OFF", *(f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in NOT_WANTED))
    tree.make("dunecommon", *TESTS, cwd="out")


def is_run(name, ranks):
    return ranks == 2 if name in JUST_TWO else ranks == 1 if name in ALONE else ranks <= MOST_RANKS.get(name, ranks)


def cases(folder, ranks):
    return [Case(name, folder / "out" / HERE / name) for name in TESTS if is_run(name, ranks)]


PROGRAM = Program("dune", "dune-common", "The parallel part of a C++ framework: non-blocking collectives as futures, index sets",
                  "Each of its tests ends with 0.", build, cases, commands=("cmake",))
