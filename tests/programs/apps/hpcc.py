"""HPC Challenge: HPL, PTRANS, RandomAccess, FFT, latency and bandwidth, each with a check of its result."""
import re

from model import Case, Number, Program, Wrong, found, grid

OUTPUT = "hpccoutf.txt"
MOST_RANDOM_ERRORS = 0.01       # of RandomAccess's updates, says the benchmark
# Sizes that follow from the input and the number of ranks, so that they have to be equal.
SIZES = ("CommWorldProcs", "HPL_N", "HPL_nprow", "HPL_npcol", "PTRANS_n", "MPIRandomAccess_N", "MPIFFT_N")
# Residuals, and what hpcc itself calls a failure.
RESIDUALS = {"PTRANS_residual": 16.0, "MPIRandomAccess_ErrorsFraction": MOST_RANDOM_ERRORS,
             "MPIRandomAccess_LCG_ErrorsFraction": MOST_RANDOM_ERRORS, "MPIFFT_maxErr": 16.0}


def build(tree):
    recipe = (tree.folder / "hpl/setup/Make.Linux_PII_FBLAS").read_text()
    # Open MPI 4.1 has no MPI_Address and no MPI_Type_struct any more.
    flags = "-DHPL_NO_MPI_DATATYPE" if tree.mpi.name == "openmpi" else ""
    # A later assignment counts; each line uses variables of earlier ones, so they are replaced in place.
    for name, value in (("ARCH", "mpi"), ("TOPdir", "../../.."), ("MPdir", ""), ("MPinc", ""), ("MPlib", ""),
                        ("LAdir", ""), ("LAinc", ""), ("LAlib", "-lblas -lm"), ("CC", tree.mpi.compiler),
                        ("LINKER", tree.mpi.compiler), ("CCFLAGS", f"$(HPL_DEFS) -O2 {flags}")):
        recipe = re.sub(rf"^{name}(\s*)=(?:.*\\\n)*.*$", lambda match, line=f"{name} = {value}": line, recipe,
                        count=1, flags=re.M)
    (tree.folder / "hpl/Make.mpi").write_text(recipe)
    tree.run("make", "arch=mpi")    # its Makefiles do not stand -j


def input_text(folder, ranks):
    """Its own example of an input with this grid, and a size that keeps a run short."""
    rows, columns = grid(ranks)
    size = 400 if ranks == 1 else 800 if ranks < 16 else 1200
    text = (folder / "_hpccinf.txt").read_text()
    for name, value in (("Ns", size), ("Ps", rows), ("Qs", columns)):
        text, times = re.subn(rf"^\S.*?(\s{name})$", rf"{value}\1", text, count=1, flags=re.M)
        if not times:
            raise Wrong(f"_hpccinf.txt has no line that ends with {name}")
    return text


def results(text, folder):
    said = (folder / OUTPUT).read_text(errors="replace")
    if found(r"^Success=(\d+)", said, "line Success=") != "1":
        raise Wrong("hpcc says Success=0")
    out = {name: found(rf"^{name}=(\S+)", said, name) for name in SIZES}
    for name, most in RESIDUALS.items():
        value = float(found(rf"^{name}=(\S+)", said, name))
        if not value <= most:
            raise Wrong(f"{name} is {value}, and may be {most}")
        out[name] = Number(value, most)
    out["tests of HPL that passed"] = str(len(re.findall(r"\.\.\.\.\.\. PASSED", said)))
    if "...... FAILED" in said:
        raise Wrong("a residual of HPL is too large (FAILED)")
    return out


def cases(folder, ranks):
    return [Case("all of it", folder / "hpcc", files={"hpccinf.txt": input_text(folder, ranks)},
                 results=results, limit_s=300)]


PROGRAM = Program("hpcc", "hpcc", "HPC Challenge: HPL, PTRANS, RandomAccess, FFT and what messages cost",
                  "Success=1, no residual beyond what hpcc itself allows, and the same sizes and number of tests.",
                  build, cases, is_quick=True)
