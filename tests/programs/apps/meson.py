"""Meson's own test of its dependency('mpi'): small programs, built as Meson finds MPI."""
from model import Case, Program

TEST = "test cases/frameworks/17 mpi"


def build(tree):
    # Other MPIs of the machine have files of pkg-config, which Meson prefers to what is in PATH.
    tree.run("meson", "setup", "out", TEST, "-Dmethod=config-tool")
    tree.run("meson", "compile", "-C", "out")


def cases(folder, ranks):
    return [Case(name, folder / "out" / name) for name in ("exec", "exef")]


PROGRAM = Program("meson", "meson", "Meson's own test of dependency('mpi'), in C and Fortran", "The programs end with 0.",
                  build, cases, is_quick=True, commands=("meson", "ninja"))
