#!/usr/bin/env python3
"""libmpi_abi.so exports every function of the list, as weak MPI_X and strong PMPI_X, and
nothing of what is inside.

    symbols_test.py LIBRARY SYMBOLS EXPORTS...
"""
import re
import subprocess
import sys
from pathlib import Path

OURS = re.compile(r"^(P?MPI_|p?mpi_|mpc_|MPCX_)")


def dynamic_symbols(library):
    """name -> type letter of nm for everything that the library defines."""
    text = subprocess.run(["nm", "-D", "--defined-only", library], check=True,
                          capture_output=True, text=True).stdout
    found = {}
    for line in text.splitlines():
        words = line.split()
        found[words[-1].split("@")[0]] = words[-2]
    return found


def main():
    library, symbols, exports = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]
    found = dynamic_symbols(library)
    names = symbols.read_text().split()
    wrong = []
    for name in names:
        if found.get(name) != "W":
            wrong.append(f"{name} is {found.get(name, 'missing')}, not weak")
        if found.get("P" + name) != "T":
            wrong.append(f"P{name} is {found.get('P' + name, 'missing')}, not strong")
    allowed = {n for path in exports for n in Path(path).read_text().split()}
    for name in sorted(found):
        if not OURS.match(name) and name not in allowed:
            wrong.append(f"{name} ({found[name]}) is exported for no reason")
    known = set(names)
    for name in found:
        if name.startswith("MPI_") and name not in known and found[name] in "TW":
            if not name.isupper():
                wrong.append(f"{name} is exported, but not in the list")
    print("\n".join(wrong) or f"{len(names)} functions")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
