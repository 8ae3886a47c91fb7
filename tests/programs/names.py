"""A folder for PATH with the names under which build systems look for an MPI: mpicc, mpirun and so on.

Role:     does for each MPI of a run what `PATH=PREFIX/compat/bin:$PATH` does for ours.
Users:    trees.py.
"""
import shlex
from pathlib import Path


def folder(mpi, work):
    """The folder. For a peer it is created, and contains scripts. `work`: an absolute path."""
    if mpi.name == "ours":
        return Path(mpi.compiler).parent.parent / "compat/bin"
    out = work / f"names-{mpi.name}"
    out.mkdir(parents=True, exist_ok=True)
    launcher = [mpi.launcher, *mpi.launch_options]
    for name, command in (("mpicc", [mpi.compiler]), ("mpicxx", [mpi.cxx]), ("mpic++", [mpi.cxx]), ("mpif77", [mpi.fortran]),
                          ("mpif90", [mpi.fortran]), ("mpifort", [mpi.fortran]), ("mpirun", launcher), ("mpiexec", launcher)):
        script = out / name
        script.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
        script.chmod(0o755)
    return out
