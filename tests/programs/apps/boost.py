"""Boost.MPI: a C++ layer over MPI that sends objects; its tests, compiled without Boost's own build system."""
from model import Case, Program

# In libs/mpi/test, and the numbers of ranks that each is for where it is not for any (Jamfile.v2).
TESTS = {
    "all_gather_test": None, "all_reduce_test": None, "all_to_all_test": None, "block_nonblock_test": (2,),
    "broadcast_test": None, "broadcast_stl_test": None, "cartesian_topology_init_test": (1,), "gather_test": None,
    "graph_topology_test": None, "groups_test": None, "is_mpi_op_test": (1,), "mt_init_test": None, "mt_level_test": (1,),
    "non_blocking_any_source": None, "nonblocking_test": None, "pointer_test": (2,), "reduce_test": None, "ring_test": None,
    "scan_test": None, "scatter_test": None, "sendrecv_test": None, "sendrecv_vector": (2,), "skeleton_content_test": None,
    "version_test": (1,), "wait_all_on_null": (1, 2), "wait_all_vector_test": (2,), "wait_any_test": None,
}
# A ring, a skeleton, a broadcast to others: these refuse to run alone.
NOT_ALONE = ("broadcast_test", "broadcast_stl_test", "graph_topology_test", "non_blocking_any_source", "nonblocking_test",
             "ring_test", "skeleton_content_test")


def build(tree):
    (tree.folder / "Makefile").write_text("""CXXFLAGS = -O0 -w
library = $(patsubst %.cpp,%.o,$(wildcard libs/mpi/src/*.cpp))
tests = $(addprefix out/,$(TESTS))
all: $(tests)
libs/mpi/src/%.o: libs/mpi/src/%.cpp
\tmpicxx $(CXXFLAGS) -c $< -o $@
libboost_mpi.a: $(library)
\tar cr $@ $(library)
out/%: libs/mpi/test/%.cpp libboost_mpi.a
\tmpicxx $(CXXFLAGS) $< libboost_mpi.a -lboost_serialization -o $@
""")
    (tree.folder / "out").mkdir()
    tree.make(f"TESTS={' '.join(TESTS)}")


def is_run(name, ranks):
    counts = TESTS[name]
    return ranks in counts if counts else ranks > 1 or name not in NOT_ALONE


def cases(folder, ranks):
    return [Case(name, folder / "out" / name) for name in TESTS if is_run(name, ranks)]


PROGRAM = Program("boost", "boost1.74", "Boost.MPI: objects of C++ in messages and collectives, with skeletons and requests; its tests",
                  "Each of its tests ends with 0.", build, cases, commands=("g++",), parts=("*/libs/mpi/*",))
