"""LAMMPS: molecular dynamics in C++, without optional packages; its benchmark and examples."""
import re

from model import Case, Program, Wrong

# Input of its bench/ and examples/, the steps that are run, and the files that it reads.
INPUTS = {"lj": ("bench/in.lj", 20), "melt": ("examples/melt/in.melt", 50), "min": ("examples/min/in.min", 50),
          "crack": ("examples/crack/in.crack", 100), "couette": ("examples/flow/in.flow.couette", 200),
          "indent": ("examples/indent/in.indent", 200), "obstacle": ("examples/obstacle/in.obstacle", 200)}
OFF = ("BUILD_OMP", "WITH_JPEG", "WITH_PNG", "WITH_GZIP", "WITH_FFMPEG")


def build(tree):
    tree.run("cmake", "-S", "cmake", "-B", "out", "-DCMAKE_CXX_COMPILER=mpicxx", "-DBUILD_MPI=on", "-DCMAKE_BUILD_TYPE=Release",
             "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -w", *(f"-D{name}=off" for name in OFF))
    tree.make(cwd="out")


def thermodynamics(text, folder):
    """What it prints of temperature, energy and pressure, in all digits."""
    if "ERROR" in text or "Total wall time" not in text:
        raise Wrong("it does not reach its end")
    lines, wanted = {}, False
    for line in text.splitlines():
        wanted = line.startswith("Step") or wanted and not line.startswith("Loop time")
        if wanted and re.match(r"\s+\d+\s", line):
            lines[f"line {len(lines)}"] = " ".join(line.split())
    if not lines:
        raise Wrong("it prints no thermodynamic output")
    return lines


def shortened(text, steps):
    """An input with as many steps in each run, and without files for others to look at."""
    text = re.sub(r"^(run\s+)\d+", rf"\g<1>{steps}", text, flags=re.M)
    return re.sub(r"^(?:dump|dump_modify)\s.*$", "", text, flags=re.M)


def cases(folder, ranks):
    return [Case(name, folder / "out/lmp", ["-in", "in.txt", "-log", "none"], results=thermodynamics,
                 files={"in.txt": shortened((folder / path).read_text(), steps)})
            for name, (path, steps) in INPUTS.items()]


PROGRAM = Program("lammps", "lammps", "Molecular dynamics: ranks own boxes of space, and exchange atoms with their neighbours",
                  "Temperature, energies and pressure are equal in all digits that it prints.", build, cases, commands=("cmake",),
                  parts=("*/cmake/*", "*/src/*", "*/bench/in.*", "*/examples/*", "*/lib/*"))
