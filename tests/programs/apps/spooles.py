"""SPOOLES: a direct solver of sparse equations of 1999, in C; the drivers of its MPI part, with the arguments of its scripts."""
import re

from model import Case, Program, Wrong

SAID = "said"       # each rank writes SAID.RANK
# Arguments after those for messages; as in MPI/drivers/do_*.
DRIVERS = {
    "testIV_allgather": "10000 10101", "testIVL_allgather": "1000 10101", "testIVL_alltoall": "1000 10101",
    "testIVL_Bcast": "1000 200 0 10101", "testGraph_Bcast": "3 1000 5000 0 10101", "testGather": "2 2000 40 40 1 1010101",
    "testMMM": "30 30 200 4 2 2 2 2 10101 0.5 2.0", "testSplitDenseMtx": "1 100 4 4 1 10101",
    "testScatterDenseMtx": "2 100 4 4 1 10101 0", "testSplitInpMtx": "2000 10000 10101 3 2",
    "testScatterInpMtx": "2000 10000 10101 3 2 0",
}
GRIDS = {"real, symmetric": "7 7 7 1000 64 10101 1 0 0 0 10 1e-50 0 4 3 0.125", "real": "9 9 9 1000 64 10101 1 2 0 0 10 1e-50 0 4 3 0.125",
         "complex, pivots": "7 7 7 1000 64 10101 2 2 0 1 10 1e-50 0 2 3 0.125",
         "complex, hermitian": "7 7 7 1000 64 10101 2 1 0 0 10 1e-50 0 4 2 0.125"}
TOLERANCE = 1e-6    # of errors; sums of 10000 numbers are among them


def build(tree):
    (tree.folder / "Makefile").write_text("""CFLAGS = -O1 -w
library = $(patsubst %.c,%.o,$(filter-out MT/% MPI/src/IV_Bcast.c,$(wildcard */src/*.c)))
all: $(addprefix out/,$(DRIVERS))
%.o: %.c
\tmpicc $(CFLAGS) -c $< -o $@
spooles.a: $(library)
\tar cr $@ $(library)
out/%: MPI/drivers/%.c spooles.a
\tmpicc $(CFLAGS) $< spooles.a -lm -lpthread -o $@
""")
    (tree.folder / "out").mkdir()
    tree.make("-f", "Makefile", f"DRIVERS={' '.join([*DRIVERS, 'testGridMPI'])}")


def small_errors(text, folder):
    """Of what all ranks wrote into files; a driver compares checksums, products or solutions with known ones."""
    said = "\n".join(path.read_text() for path in sorted(folder.glob(f"{SAID}.*")))
    if re.search(r"fatal|not valid|is not|nan", said + text):
        raise Wrong("it says that something is wrong")
    errors = [float(word) for line in re.findall(r"^.*[Ee]rror.*$", said, re.M) for word in re.findall(r"-?\d\.\d+e[-+]\d+", line)]
    if any(not abs(error) < TOLERANCE for error in errors):
        raise Wrong(f"an error is {max(errors, key=abs)}")
    sums = re.findall(r"^ *checksums? for (.*?) *: *(.*?)$", said, re.M)
    if not errors and not sums:
        raise Wrong("it compares nothing")
    return {f"{name} {place}": value for place, (name, value) in enumerate(sums)}


def cases(folder, ranks):
    return [Case(name, folder / "out" / name, ["1", SAID, *words.split()], results=small_errors) for name, words in DRIVERS.items()] + \
           [Case(f"grid, {name}", folder / "out/testGridMPI", ["1", SAID, *words.split()], results=small_errors)
            for name, words in GRIDS.items()]


PROGRAM = Program("spooles", "spooles", "A direct solver of sparse equations of 1999: the drivers of its MPI part",
                  "Errors of checksums, products and solutions are below 1e-6, and checksums are equal.", build, cases,
                  parts=("*/src/*", "*.h", "MPI/drivers/*"), top_folders=0)
