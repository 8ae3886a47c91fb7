"""FFTW over MPI: its own mpi-bench transforms spread arrays and verifies them against linearity, impulses and shifts."""
import re

from model import Case, Number, Program, Wrong

# mpi-bench's own: beyond it a transform is wrong.
TOLERANCE = 1e-10
# i, o: in place or not; r, k: real; f, b: direction; [ and ]: the input or output is transposed; vN: of N fields.
PROBLEMS = {
    "one dimension": ("ofc1024", "ifc1000", "obc360", "ibc4096", "ofc12v3", "ifc2520v2", "obc97"),
    "two dimensions": ("ofc30x42", "ifc64x48", "obc13x17", "ibc100x9", "ofc7x64v5", "ofc]24x36", "ibc[24x36", "ifc]50x20v3"),
    "three dimensions": ("ofc16x12x10", "ifc20x9x14", "ibc[8x18x6", "ofc]18x10x5v2", "ofc4x6x5x8"),
    "real": ("ofr32x24", "ifr20x30", "obr15x18", "ibr24x16", "ofr]40x12", "obr[12x28", "ofr8x12x10", "ibr9x16x6",
             "ok12e00x9o10", "ik16e11x20e01", "ok]14fx24h"),
}
# Planned by time, so that other ways of transposing than the guessed one are taken.
MEASURED = ("ofc64x64", "ifc48x80", "ofc]96x32", "ofc4096", "ifr32x32", "ofc16x16x16")


def build(tree):
    tree.configure("--enable-mpi", "--disable-fortran", "--disable-shared", "--disable-doc", "MPICC=mpicc", "CFLAGS=-O1 -w -fPIC")
    for folder in ("support", "kernel", "simd-support", "dft", "rdft", "reodft", "api"):
        tree.make(cwd=folder)
    tree.make("libfftw3.la")
    tree.make(cwd="libbench2")
    tree.make("mpi-bench", cwd="mpi")


def errors(count):
    """Results of as many problems: a line with its name and three errors for each."""
    def results(text, folder):
        if re.search(r"Found relative error|FAILED|Error", text):
            raise Wrong("it finds an error that is too large")
        lines = re.findall(r"^(\S+) ([\d.e+-]+) ([\d.e+-]+) ([\d.e+-]+)$", text, re.M)
        if len(lines) != count:
            raise Wrong(f"it verifies {len(lines)} problems, not {count}")
        out = {f"{line[0]} {kind}": Number(float(value), TOLERANCE) for line in lines for kind, value in enumerate(line[1:])}
        if any(not one.value <= TOLERANCE for one in out.values()):
            raise Wrong("an error is larger than the tolerance")
        return out
    return results


def arguments(problems, *options):
    return ["--verbose=1", "--verify-rounds=2", *options, *(word for problem in problems for word in ("--verify", problem))]


def cases(folder, ranks):
    program = folder / "mpi/mpi-bench"
    return [Case(name, program, arguments(problems, "-oestimate"), results=errors(len(problems)))
            for name, problems in PROBLEMS.items()] + \
           [Case("measured", program, arguments(MEASURED), results=errors(len(MEASURED)), limit_s=300)]


PROGRAM = Program("fftw", "fftw3", "FFTW over MPI: transforms of arrays that are spread over ranks, by its own mpi-bench",
                  "It verifies each transform, with errors below its own tolerance of 1e-10.", build, cases)
