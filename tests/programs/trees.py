"""Sources of Debian's packages and a built copy of each for every MPI, all below the work folder.

Role:     fetches, unpacks and builds; runs the commands of a build and stores their output.
Users:    programs.py; the build() of apps/*.py gets a Tree.
"""
import hashlib
import inspect
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "conformance"))
import suite  # noqa: E402

import names  # noqa: E402

BUILD_LIMIT_S = 3600
# Of Debian; the mirror keeps no tarball that only an older point release had.
LATER_RELEASES = ("trixie", "unstable")
LOG_TAIL_LINES = 12
STAMP = "built.key"
# Of the caller's environment: they would change what is compiled.
NOT_INHERITED = ("MAKEFLAGS", "MAKELEVEL", "CC", "CXX", "FC", "F77", "CFLAGS", "CXXFLAGS", "FFLAGS", "FCFLAGS",
                 "LDFLAGS", "CPPFLAGS", "MPICC", "MPICXX", "MPIFC", "MPI_HOME", "PKG_CONFIG_PATH")


class BuildError(Exception):
    """A program cannot be built with an MPI; the text has the end of the log."""


def tarball(program, work):
    """The archive of the program's source from Debian. Errors: suite.FetchError."""
    try:
        return suite.download(program.package, work, LATER_RELEASES)
    except suite.FetchError as error:
        raise suite.FetchError(f"{error}\nA tarball {program.package}_VERSION.orig.tar.gz that is put into "
                               f"{work / 'src'} is used instead.") from None


def missing(program):
    """What this machine lacks to build a program, in words; "" if it lacks nothing."""
    names = [name for name in program.commands if not shutil.which(name)]
    return f"{', '.join(names)} is not installed (cmake/packages-programs.txt)" if names else ""


def version(path):
    """The version in an archive's name: for tachyon_0.99~b6+dsx.orig.tar.gz "0.99~b6+dsx"."""
    return re.sub(r"\.orig\.tar\.\w+$", "", path.name).partition("_")[2]


def recipe(build):
    """The text of a build(), and of those functions and constants of its module that it names."""
    out = [inspect.getsource(build)]
    for name in build.__code__.co_names:
        value = build.__globals__.get(name)
        if inspect.isfunction(value):
            out.append(inspect.getsource(value))
        elif inspect.ismodule(value):
            out.append(inspect.getsource(value) if value.__name__.startswith("apps.") else "")
        elif value is not None and not inspect.isclass(value):
            out.append(repr(value))
    return "\n".join(out)


class Tree:
    """A copy of a program's source, in which it is built with one MPI."""

    def __init__(self, program, mpi, work, jobs, others=()):
        self.program, self.mpi, self.jobs = program, mpi, jobs
        self.others = {tree.program.name: tree.folder for tree in others}
        self.folder = work / f"{program.name}-{mpi.name}"
        self.log = self.folder.with_suffix(".log")
        self.names = None       # folder that comes first in PATH: mpicc, mpirun and their kin are this MPI's

    def prepare(self, source):
        """Builds it unless it is built already. Returns whether it has built it. Errors: BuildError."""
        self.names = names.folder(self.mpi, self.folder.parent)
        stamp = self.folder / STAMP
        key = self.key(source)
        if stamp.exists() and stamp.read_text() == key:
            return False
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.log.write_text("")
        self.run("tar", "xf", str(source), f"--strip-components={self.program.top_folders}", "--no-same-owner", "--wildcards", *self.program.parts)
        self.program.build(self)
        stamp.write_text(key)
        return True

    def key(self, source):
        """A digest that changes when the program must be built anew."""
        text = f"{source.name}\n{self.mpi.version()}\n{recipe(self.program.build)}{self.program.parts or ''}"
        text += "".join((folder / STAMP).read_text() for folder in self.others.values())
        return hashlib.sha256(text.encode()).hexdigest()

    def run(self, *command, cwd=".", environment=None):
        """Runs a command of the build. Errors: BuildError with the end of its output."""
        inherited = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
        inherited["PATH"] = f"{self.names}:{inherited.get('PATH', os.defpath)}"
        with self.log.open("ab") as out:
            out.write(f"\n$ {shlex.join(command)}\n".encode())
            out.flush()
            begin = out.tell()
            try:
                status = subprocess.run(command, cwd=self.folder / cwd, stdin=subprocess.DEVNULL, stdout=out,
                                        stderr=out, check=False, timeout=BUILD_LIMIT_S,
                                        env=dict(inherited, **environment or {})).returncode
            except subprocess.TimeoutExpired:
                status = f"none within {BUILD_LIMIT_S} s"
            except OSError as error:
                status = error
        if status:
            said = self.log.read_bytes()[begin:].decode(errors="replace").splitlines()[-LOG_TAIL_LINES:]
            raise BuildError(f"`{shlex.join(command)}` ended with status {status} (whole log: {self.log}):\n" +
                             "\n".join(said))

    def configure(self, *options, cwd="."):
        """Runs Autoconf's script, which finds MPI in PATH; creates it first if the source has none."""
        if not (self.folder / cwd / "configure").exists():
            self.run("autoreconf", "-fi", cwd=cwd)
        self.run("./configure", *options, cwd=cwd)

    def make(self, *words, cwd="."):
        self.run("make", f"-j{self.jobs}", *words, cwd=cwd)

    def edit(self, name, *changes):
        """Applies replacements (pattern, text) to a file; each pattern has to occur. Errors: BuildError."""
        path = self.folder / name
        if not path.exists():
            raise BuildError(f"the source has no {name}")
        content = path.read_text(errors="surrogateescape")
        for pattern, text in changes:
            content, times = re.subn(pattern, lambda match, text=text: match.expand(text), content, flags=re.M)
            if not times:
                raise BuildError(f"{name} of the source has no line like '{pattern}'")
        path.write_text(content, errors="surrogateescape")
