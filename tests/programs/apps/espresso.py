"""Quantum ESPRESSO: electrons in crystals by plane waves, in Fortran; pw.x and inputs of its test suite."""
import re

import compare
from model import Case, Number, Program, Wrong

# Folder of test-suite/ and its inputs: those that need no result of another run, and no atoms beyond what the source has.
INPUTS = {
    "pw_scf": ("scf", "scf-allfrac", "scf-cg", "scf-disk_io", "scf-gamma", "scf-k0", "scf-kauto", "scf-kcrys", "scf-mixing_TF",
               "scf-mixing_beta", "scf-mixing_localTF", "scf-mixing_ndim", "scf-ncpp", "scf-nofrac", "scf-occ"),
    "pw_dft": ("dft1", "dft4", "dft8"), "pw_hse": ("hse-si111",), "pw_md": ("md", "md-wfc_extrap2"),
    "pw_noncolin": ("noncolin-hyb",), "pw_uspp": ("uspp1",), "pw_lda+U": ("lda+U_pseudo",),
}
SILICON = "atomic/examples/pseudo-LDA-0.5/Si.pz-vbc.UPF"
# Where its smallest cells have fewer planes than ranks, some have nothing to do, which some inputs refuse.
LONG_S = {"lda+U_pseudo": 300, "uspp1": 300}
# jobconfig of its test suite: absolute tolerances of these.
FIGURES = {
    "energy": (r"^! .*= *(\S+) Ry", 8e-4), "iterations": (r"convergence has been achieved in *(\d+)", 5.0),
    "force": (r"Total force = *(\S+)", 1e-3), "pressure": (r"P= *(\S+)", 0.9),
    "Fermi energy": (r"the Fermi energy is *(\S+)", 1e-2), "highest occupied": (r"highest occupied.*: *(\S+)", 1e-2),
}


def build(tree):
    tree.run("cp", SILICON, "pseudo")
    tree.run("./configure", "CC=mpicc", "FFLAGS=-O1 -w -fallow-argument-mismatch", "CFLAGS=-O1 -w", "FFLAGS_NOOPT=-O0 -w -fallow-argument-mismatch",
             "--without-scalapack")
    tree.make("pw")


def figures(text):
    """What its own test suite extracts from an output and compares."""
    if "JOB DONE." not in text or "Error in routine" in text:
        raise Wrong("it does not say JOB DONE")
    out = {}
    for name, (pattern, tolerance) in FIGURES.items():
        for place, word in enumerate(re.findall(pattern, text, re.M)):
            out[f"{name} {place}"] = Number(float(word), tolerance)
    if "energy 0" not in out:
        raise Wrong("it prints no energy")
    return out


def as_expected(expected):
    """Results that also agree with the output that its test suite has, in the figures of the last step."""
    def results(text, folder):
        mine = figures(text)
        wrong = compare.complaint(last(mine), last(figures(expected)))
        if wrong:
            raise Wrong(f"beside its own test suite: {wrong}")
        return mine
    return results


def last(out):
    return {name.rpartition(" ")[0]: value for name, value in out.items()}


def cases(folder, ranks):
    out = []
    for where, names in INPUTS.items():
        tests = folder / "test-suite" / where
        out += [Case(name, folder / "bin/pw.x", ["-input", "in.txt"], files={"in.txt": (tests / f"{name}.in").read_text()},
                     results=as_expected((tests / f"benchmark.out.git.inp={name}.in").read_text()), same_for_all_ranks=True,
                     environment={"ESPRESSO_PSEUDO": str(folder / "pseudo"), "ESPRESSO_TMPDIR": "."}, limit_s=LONG_S.get(name, 120))
                for name in names]
    return out


PROGRAM = Program("espresso", "espresso", "Quantum ESPRESSO: electrons in crystals by plane waves, in Fortran; inputs of its test suite",
                  "Energies, forces, pressures and numbers of iterations are those of its own test suite, within its tolerances.",
                  build, cases, commands=("gfortran",))
