"""The MPI implementations that the runner can drive: compiler, launcher, options.

Role:     one `Mpi` object says how to compile for an implementation and how to start a job.
Users:    tests/conformance; tests/programs; bench/compare.
See also: tests/conformance/README.md
"""
import hashlib
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path


class MpiMissing(Exception):
    """The implementation is not on this machine; the text says what was looked for."""


@dataclass
class Mpi:
    name: str
    compiler: str
    launcher: str
    fortran: str
    launch_options: list = field(default_factory=list)
    cxx: str = ""
    environment: dict = field(default_factory=dict)
    cores_option: str = ""      # "--cores": the launcher's own; "": use taskset
    timeout_option: str = ""    # how the launcher is told a time limit, "%d" seconds
    honours_xfail: bool = False  # the suite's `xfail` marks describe this implementation
    link_inputs: list = field(default_factory=list)  # files that end up in programs; modules

    def command(self, ranks, program, arguments=(), cores=0, extra=()):
        """The argv that runs `program` with `ranks` ranks on `cores` cores (0: all)."""
        prefix = []
        options = list(self.launch_options) + list(extra)
        if cores:
            if self.cores_option:
                options += [self.cores_option, str(cores)]
            else:
                allowed = sorted(os.sched_getaffinity(0))[:cores]
                prefix = ["taskset", "-c", ",".join(map(str, allowed))]
        return prefix + [self.launcher, *options, "-n", str(ranks), str(program), *arguments]

    def version(self):
        """Changes when programs must be built anew: the wrapper's command, what it links."""
        shown = subprocess.run([self.compiler, "-show"], capture_output=True, text=True,
                               check=False)
        digest = hashlib.sha256()
        for path in self.link_inputs:
            digest.update(Path(path).read_bytes())
        return f"{shown.stdout.strip()} {shown.stderr.strip()} {digest.hexdigest()[:16]}"


def find(name, prefix=None):
    """The implementation called `name`. Errors: MpiMissing."""
    if name == "ours":
        return _ours(prefix)
    if name == "mpich":
        return _peer(Mpi("mpich", "mpicc.mpich", "mpiexec.mpich", "mpifort.mpich", cxx="mpicxx.mpich",
                         honours_xfail=True))
    if name == "openmpi":
        return _peer(Mpi(
            "openmpi", "mpicc.openmpi", "mpirun.openmpi", "mpifort.openmpi", cxx="mpicxx.openmpi",
            launch_options=["--oversubscribe", "--allow-run-as-root", "--bind-to", "none"],
            timeout_option="--timeout=%d"))
    raise MpiMissing(f"unknown MPI '{name}': use ours, mpich or openmpi")


def _ours(prefix):
    root = Path(prefix).resolve() if prefix else None
    if root is None:
        raise MpiMissing("our own MPI needs --prefix, the folder of `./run install`")
    compiler, launcher = root / "bin/mpcc", root / "bin/mpcrun"
    for tool in (compiler, launcher):
        if not tool.exists():
            raise MpiMissing(f"{tool} is missing: build and install first (./run install "
                             f"{root})")
    return Mpi("ours", str(compiler), str(launcher), str(root / "bin/mpcfort"),
               cxx=str(root / "bin/mpcxx"),
               cores_option="--cores",
               timeout_option="--timeout=%d",
               link_inputs=sorted(path for pattern in ("bin/mpcc", "lib*/**/*.a", "lib*/**/*.o",
                                                  "include/mpif.h", "include/*.f90")
                                  for path in root.glob(pattern)))


def _peer(mpi):
    for tool in (mpi.compiler, mpi.launcher):
        if not shutil.which(tool):
            package = {"mpich": "mpich libmpich-dev",
                       "openmpi": "openmpi-bin libopenmpi-dev"}[mpi.name]
            raise MpiMissing(f"{tool} is not installed: apt-get install {package}")
    return mpi
