#!/usr/bin/env python3
"""Is each function of MPI called by a program of this folder, with right and with wrong arguments?

Usage: complete.py MPCRUN SYMBOLS PROGRAM...
Each PROGRAM is run with --list by four ranks; it prints lines such as `RIGHT MPI_Send` (every.h).
SYMBOLS: the names that the library exports, a line each. Exit status 1: some are missing, which are named.
"""
import collections
import subprocess
import sys

# Called by programs of other folders: the job ends by it, or there is nothing to call.
ELSEWHERE = {
    "MPI_Abort": "tests/mpi/fatal.c, tests/mpcrun",
}


def called_by(mpcrun, program):
    """{kind: names} of what the program's ranks have called."""
    out = subprocess.run([mpcrun, "-n", "4", "--timeout", "60", program, "--list"], stdout=subprocess.PIPE,
                         text=True, check=False)
    if out.returncode != 0:
        sys.exit(f"{program}: status {out.returncode}\n{out.stdout[-2000:]}")
    names = collections.defaultdict(set)
    for line in out.stdout.splitlines():
        kind, _, name = line.partition(" ")
        if kind in ("RIGHT", "WRONG", "NO_RIGHT", "NO_WRONG"):
            names[kind].add(name)
    return names


def main():
    mpcrun, symbols, *programs = sys.argv[1:]
    with open(symbols, encoding="ascii") as lines:
        wanted = {name for name in lines.read().split() if name not in ELSEWHERE}
    names = collections.defaultdict(set)
    for program in programs:
        for kind, called in called_by(mpcrun, program).items():
            names[kind] |= called
    missing = {"right": wanted - names["RIGHT"] - names["NO_RIGHT"],
               "wrong": wanted - names["WRONG"] - names["NO_WRONG"],
               "list, or no function of MPI": (names["RIGHT"] | names["WRONG"]) - wanted - set(ELSEWHERE)}
    for kind, these in missing.items():
        if these:
            print(f"not {kind} ({len(these)}): {' '.join(sorted(these))}")
    both = names["NO_WRONG"] & names["WRONG"] | names["NO_RIGHT"] & names["RIGHT"]
    if both:
        print(f"called although it is said that this cannot be: {' '.join(sorted(both))}")
    return 1 if any(missing.values()) or both else 0


if __name__ == "__main__":
    sys.exit(main())
