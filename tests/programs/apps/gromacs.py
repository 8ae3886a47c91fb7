"""GROMACS: molecular dynamics in C++; ranks own boxes of space, or compute the long-range forces of others."""
import hashlib
import re

from model import Case, Number, Program, Wrong

# Each MPI's code is compiled with the options that ours asks for, so that only the MPIs differ.
COMPILE = "-fno-semantic-interposition;-fPIC;-fstack-clash-protection"
OFF = ("GMXAPI", "GMX_INSTALL_NBLIB_API", "GMX_BUILD_HELP", "BUILD_TESTING")
GMX, STRUCTURES = "out/bin/gmx_mpi", "src/testutils/simulationdatabase"
# Name of the box and its topology; prepare() adds the peptide's water.
BOXES = {
    "water": '#include "oplsaa.ff/forcefield.itp"\n#include "oplsaa.ff/spce.itp"\n[ system ]\nwater\n[ molecules ]\nSOL 1728\n',
    "peptide": '#include "amber99.ff/forcefield.itp"\n#include "alanine_vsite.itp"\n#include "amber99.ff/tip3p.itp"\n[ system ]\npeptide\n'
               "[ molecules ]\nAlanine_dipeptide 8\n",
}
EVERY = "nstlog = 10\nnstenergy = 10\nnstcalcenergy = 10\nnstlist = 10\nrcoulomb = 0.9\nrvdw = 0.9\n"
MOVE = f"integrator = md\ndt = 0.002\nnsteps = 200\n{EVERY}gen-vel = yes\ngen-seed = 2026\n"
BATH = "tcoupl = v-rescale\nld-seed = 1\ntc-grps = System\ntau-t = 0.1\nref-t = 300\n"
PRESS = "pcoupl = parrinello-rahman\ntau-p = 5\nref-p = 1\ncompressibility = 4.5e-5\n"
# Name of the run's input: its box and parameters.
INPUTS = {
    "field": ("water", MOVE + "coulombtype = reaction-field\n"), "mesh": ("water", MOVE + "coulombtype = PME\n"),
    "pressure": ("peptide", MOVE + BATH + PRESS + "coulombtype = PME\nconstraints = all-bonds\n"),
    "minimum": ("peptide", f"integrator = steep\nnsteps = 20\n{EVERY}coulombtype = PME\n"),
    **{f"replica{number}": ("water", MOVE + BATH.replace("300", f"{300 + 2 * number}") + f"gen-temp = {300 + 2 * number}\ncoulombtype = PME\n")
       for number in range(4)},
}
# It sums up in single precision, in an order that depends on the ranks; a small energy moves with the large ones.
DIGITS, KJ, BAR = 1e-4, 0.1, 5.0
# Numbers of ranks with which no cell of the peptide is too small for it, with constraints and without.
TIED_RANKS = (1, 2, 3, 4, 6, 8)
FREE_RANKS = (*TIED_RANKS, 12, 16)
# Where cores are fewer, waiting threads would keep them from others, and the run would take minutes.
QUIET = {"openmpi": ["--bind-to", "none", "-x", "OMP_WAIT_POLICY=passive"], "mpich": ["-genv", "OMP_WAIT_POLICY", "passive"]}


def build(tree):
    tree.run("cmake", "-S", ".", "-B", "out", "-DGMX_MPI=ON", "-DGMX_SIMD=SSE2", "-DGMX_FFT_LIBRARY=fftpack", "-DCMAKE_BUILD_TYPE=None",
             "-DCMAKE_C_FLAGS=-O1 -w", "-DCMAKE_CXX_FLAGS=-O1 -w", "-DCMAKE_POSITION_INDEPENDENT_CODE=ON",
             f"-DMPI_CXX_COMPILE_OPTIONS={COMPILE}", *(f"-D{name}=OFF" for name in OFF))
    tree.make("gmx", cwd="out")
    prepare(tree)


def prepare(tree):
    """Makes inputs of runs, and the state in the midst of one, by the program itself on one rank."""
    place, gmx = tree.folder / "inputs", str(tree.folder / GMX)
    place.mkdir(exist_ok=True)
    for name, topology in BOXES.items():
        (place / f"{name}.top").write_text(topology)
    water, alanine = str(tree.folder / "share/top/spc216.gro"), str(tree.folder / STRUCTURES / "alanine_vsite_vacuo.gro")
    for words in (["genconf", "-f", water, "-nbox", "2", "2", "2", "-o", "water.gro"],
                  ["editconf", "-f", alanine, "-box", "1.85", "1.85", "1.85", "-c", "-o", "one.gro"],
                  ["genconf", "-f", "one.gro", "-nbox", "2", "2", "2", "-o", "eight.gro"],
                  ["solvate", "-cp", "eight.gro", "-cs", water, "-p", "peptide.top", "-o", "peptide.gro"]):
        tree.run(gmx, *words, cwd="inputs")
    for name, (box, parameters) in INPUTS.items():
        (place / f"{name}.mdp").write_text(parameters)
        tree.run(gmx, "grompp", "-f", f"{name}.mdp", "-c", f"{box}.gro", "-p", f"{box}.top", "-o", f"{name}.tpr", "-maxwarn", "2",
                 cwd="inputs", environment={"GMXLIB": str(tree.folder / STRUCTURES)})
    tree.run(gmx, "mdrun", "-s", "mesh.tpr", "-nsteps", "100", "-cpo", "midst.cpt", "-reprod", "-ntomp", "1", cwd="inputs")


def energies(text):
    """{step and name: Number} of the tables of energies in a log, those of averages left out."""
    out, step, lines = {}, "", iter(text.partition("A V E R A G E S")[0].splitlines())
    for line in lines:
        if re.match(r"\s*Step\s+Time\s*$", line):
            step = next(lines, "").split()[0]
        elif line.strip().startswith("Energies (kJ/mol)"):
            while (names := next(lines, "")).strip():
                values = next(lines, "")
                for place in range(0, len(names), 15):
                    name, value = names[place:place + 15].strip(), float(values[place:place + 15])
                    if name != "Constr. rmsd":
                        out[f"step {step}: {name}"] = Number(value, BAR if "Pres" in name else max(KJ, abs(value) * DIGITS))
    return out


def logs(text, folder):
    """Energies of all its logs."""
    out = {}
    for path in sorted(folder.glob("**/md*.log")):
        said = path.read_text(errors="replace")
        if "Finished mdrun on rank 0" not in said:
            raise Wrong(f"{path.name} does not reach its end")
        where = "" if path.parent == folder else f"{path.parent.name}, "
        out |= {where + name: value for name, value in energies(said).items()}
    if not out:
        raise Wrong("it printed no energies")
    return out


def everything(text, folder):
    """Energies, and all digits of the last positions and velocities."""
    out = logs(text, folder)
    for path in sorted(folder.glob("**/*.g96")):
        out[f"{path.parent.name if path.parent != folder else 'last'} state"] = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    return out


def cases(folder, ranks):
    def case(name, source, *options, exact=True, **more):
        links = more.pop("links", {"topol.tpr": folder / f"inputs/{source}.tpr"})
        return Case(name, folder / GMX, ["mdrun", "-c", "out.g96", *(["-reprod"] if exact else ["-nsteps", "40"]), *options], links=links,
                    results=everything if exact else logs, same_for_all_ranks=not exact, **more)

    out = [case("mesh", "mesh"), case("reaction field, balanced", "field", "-dlb", "yes", exact=False),
           case("threads", "mesh", "-ntomp", "2", exact=False, environment={"OMP_NUM_THREADS": "2"}, launch=QUIET),
           case("continued", "mesh", "-cpi", "midst.cpt", "-noappend",
                links={"topol.tpr": folder / "inputs/mesh.tpr", "midst.cpt": folder / "inputs/midst.cpt"})]
    if ranks in FREE_RANKS:
        out.append(case("minimum", "minimum"))
    if ranks in TIED_RANKS:
        out.append(case("pressure", "pressure", exact=False))
    if ranks > 1:
        out.append(case("ranks for the mesh", "mesh", "-npme", str(max(1, ranks // 4))))
    replicas = next((count for count in (4, 2) if ranks % count == 0), 0)
    if replicas:
        places = [f"replica{number}" for number in range(replicas)]
        out.append(case("replicas", "", "-multidir", *places, "-replex", "20", "-reseed", "7",
                        links={f"{name}/topol.tpr": folder / f"inputs/{name}.tpr" for name in places}))
    return out


PROGRAM = Program("gromacs", "gromacs", "Molecular dynamics: ranks own boxes of space, or compute the long-range forces of others",
                  "Energies are equal in four digits; where it is told to be reproducible, the last positions and velocities in all digits.",
                  build, cases, commands=("cmake",))
