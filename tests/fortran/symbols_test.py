#!/usr/bin/env python3
"""Each procedure that the modules declare is in the library, under the name that a Fortran
compiler asks for, and can be replaced by a tool: weak, with a strong PMPI one beside it.

    symbols_test.py LIBRARY INCLUDE
"""
import re
import subprocess
import sys
from pathlib import Path


def declared(path):
    """Names for the linker of all procedures of a module but those of abstract interfaces."""
    names, abstract = set(), False
    text = re.sub(r" &\n\s*|&\n\s*", " ", path.read_text())
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["ABSTRACT"] or words[:2] == ["END", "INTERFACE"]:
            abstract = words[0] == "ABSTRACT"
        match = re.match(r"\s*(?:ELEMENTAL |DOUBLE PRECISION |INTEGER\S* )?(?:SUBROUTINE|FUNCTION) "
                         r"(\w+)\(", line)
        if not match or abstract:
            continue
        bind = re.search(r'BIND\(C, NAME="(\w+)"\)', line)
        names.add(bind.group(1) if bind else match.group(1).lower() + "_")
    return names


def main():
    library, include = sys.argv[1], Path(sys.argv[2])
    text = subprocess.run(["nm", "-D", "--defined-only", library], check=True,
                          capture_output=True, text=True).stdout
    found = {line.split()[-1].split("@")[0]: line.split()[-2] for line in text.splitlines()}
    wrong, count = [], 0
    for source in ("mpi_f08_types.f90", "mpi.f90", "mpi_f08.f90"):
        names = declared(include / source)
        count += len(names)
        for name in sorted(names):
            kind = found.get(name)
            replaceable = name.startswith("mpi_") and not name.endswith(("_fn_", "_null_", "_null_c_"))
            if kind is None:
                wrong.append(f"{source}: {name} is not in the library")
            elif replaceable and (kind != "W" or found.get("p" + name) != "T"):
                wrong.append(f"{source}: {name} is {kind}, p{name} {found.get('p' + name)}")
    print("\n".join(wrong) or f"{count} procedures")
    sys.exit(1 if wrong or count < 2000 else 0)


if __name__ == "__main__":
    main()
