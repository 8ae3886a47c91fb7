"""LAMMPS: molecular dynamics in C++, with a few of its packages; its benchmarks and examples."""
import re

from model import Case, Number, Program, Wrong

PACKAGES = ("KSPACE", "MANYBODY", "MOLECULE", "RIGID")
# Inputs of its bench/ and examples/, and the steps that are run.
INPUTS = {"lj": ("bench/in.lj", 20), "chain": ("bench/in.chain", 50), "eam": ("bench/in.eam", 10), "rhodo": ("bench/in.rhodo", 5),
          "melt": ("examples/melt/in.melt", 50), "min": ("examples/min/in.min", 50), "peptide": ("examples/peptide/in.peptide", 50),
          "rigid": ("examples/rigid/in.rigid", 500), "vashishta": ("examples/vashishta/in.vashishta.sio2", 20),
          "crack": ("examples/crack/in.crack", 100), "couette": ("examples/flow/in.flow.couette", 200),
          "indent": ("examples/indent/in.indent", 200), "obstacle": ("examples/obstacle/in.obstacle", 200)}
OFF = ("BUILD_OMP", "WITH_JPEG", "WITH_PNG", "WITH_GZIP", "WITH_FFMPEG")
# Sums over ranks are made in another order, and motion is chaotic: of the digits that it prints so many have to be equal.
DIGITS = 1e-6


def build(tree):
    tree.run("cmake", "-S", "cmake", "-B", "out", "-DCMAKE_CXX_COMPILER=mpicxx", "-DBUILD_MPI=on", "-DCMAKE_BUILD_TYPE=Release",
             "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -w", "-DFFT=KISS", *(f"-D{name}=off" for name in OFF),
             *(f"-DPKG_{name}=on" for name in PACKAGES))
    tree.make(cwd="out")


def thermodynamics(text, folder):
    """What it prints of steps, temperature, energies and pressure, of both its styles of output."""
    if "ERROR" in text or "Total wall time" not in text:
        raise Wrong("it does not reach its end")
    words, is_wanted = [], False
    for line in text.splitlines():
        is_wanted = bool(re.match(r"\s*-*\s*Step\b", line)) or is_wanted and not line.startswith("Loop time")
        if is_wanted and re.match(r"\s*\d+\s", line):
            words += line.split()
        elif is_wanted and "=" in line:
            words += re.findall(r"= *(\S+)", re.sub(r"CPU *= *\S+", "", line))
    if not words:
        raise Wrong("it prints no thermodynamic output")
    return {f"figure {place}": Number(float(word), abs(float(word)) * DIGITS) for place, word in enumerate(words)}


def shortened(text, steps):
    """An input with as many steps in each run, and without files for others to look at. How many steps a minimizer needs to its end
    depends on rounding: with 16 ranks and two algorithms of Open MPI 636 and 641."""
    text = re.sub(r"^(run\s+)\d+", rf"\g<1>{steps}", text, flags=re.M)
    text = re.sub(r"^(minimize\s+\S+\s+\S+\s+)\d+", rf"\g<1>{2 * steps}", text, flags=re.M)
    text = re.sub(r"^(thermo\s+)\d+", rf"\g<1>{max(1, steps // 5)}", text, flags=re.M)
    return re.sub(r"^(?:dump|dump_modify)\s.*$", "", text, flags=re.M)


def cases(folder, ranks):
    out = []
    for name, (path, steps) in INPUTS.items():
        beside = {one.name: one for one in (folder / path).parent.glob("*") if re.match(r"data\.|Cu_u3|.*\.vashishta", one.name)}
        out.append(Case(name, folder / "out/lmp", ["-in", "in.txt", "-log", "none"], results=thermodynamics,
                        files={"in.txt": shortened((folder / path).read_text(), steps)}, links=beside))
    return out


PROGRAM = Program("lammps", "lammps", "Molecular dynamics: ranks own boxes of space, and exchange atoms with their neighbours",
                  "Temperature, energies and pressure are equal in six digits.", build, cases, commands=("cmake",),
                  parts=("*/cmake/*", "*/src/*", "*/bench/*", "*/examples/*", "*/lib/*", "*/potentials/*", "*/LICENSE"))
