#!/usr/bin/env python3
"""Writes the linker's version script of libmpi_abi.so.

    make_version_script.py OUT [EXPORTS...]

Exported are MPI's C and Fortran names, our own mpc_ and MPCX_ names, and the names in the files
EXPORTS (one a line). Everything else stays inside: a program may have its own fmt, hwloc ...
"""
import sys
from pathlib import Path

# Fortran names are made by compilers in several ways: mpi_send_, mpi_send__, MPI_SEND.
ALWAYS = ["MPI_*", "PMPI_*", "mpi_*", "pmpi_*", "mpc_*", "MPCX_*"]


def names_in(path):
    for line in path.read_text().splitlines():
        name = line.split("#", 1)[0].strip()
        if name:
            yield name


def script(exports):
    names = ALWAYS + sorted(set(exports) - set(ALWAYS))
    return "{\n  global:\n" + "".join(f"    {n};\n" for n in names) + "  local:\n    *;\n};\n"


def main():
    out = Path(sys.argv[1])
    text = script([name for path in sys.argv[2:] for name in names_in(Path(path))])
    if not out.exists() or out.read_text() != text:
        out.write_text(text)


if __name__ == "__main__":
    main()
