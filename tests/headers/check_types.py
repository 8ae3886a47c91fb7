#!/usr/bin/env python3
"""Checks that no two files of the library define a type of one name in one namespace (C++'s one definition rule).

    check_types.py ROOT

Such types have the same member functions for the linker, which keeps one of each. Types in anonymous
namespaces are not meant. Expects sources as clang-format writes them: what a namespace has begins its line.
Exit status: 0 clean, 1 violations (one line each).
"""
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from check_users import run  # noqa: E402

LAYERS = ("base", "topology", "scheduler", "runtime", "nbc", "sim", "mpi")
NAMESPACE = re.compile(r"^(?:inline )?namespace(?: ([\w:]+))? \{")
TYPE = re.compile(r"^(?:struct|class|union|enum(?: class)?)\s+(?:\[\[[^]]*\]\]\s*|alignas\([^)]*\)\s*|[A-Z_]+(?:\([^)]*\))?\s+)*(\w+)(?: final)?(?:\s*:(?!:)[^;]*)?\s*\{")


def types(text):
    """The qualified names of the types that a file defines, without those of anonymous namespaces."""
    spaces = []
    for line in text.splitlines():
        if opened := NAMESPACE.match(line):
            if not line.rstrip().endswith("}"):
                spaces.append(opened[1] or "")
        elif line.startswith("}") and "namespace" in line and spaces:
            spaces.pop()
        elif (found := TYPE.match(line)) and "" not in spaces:
            yield "::".join([*spaces, found[1]])


def check(root):
    where = {}
    for layer in LAYERS:
        for path in sorted((root / layer).rglob("*")):
            if path.suffix in (".h", ".cpp") and path.is_file():
                for name in types(path.read_text(errors="replace")):
                    where.setdefault(name, set()).add(path.relative_to(root).as_posix())
    return [f"{name}: is defined in {' and '.join(sorted(files))}" for name, files in sorted(where.items()) if len(files) > 1]


if __name__ == "__main__":
    sys.exit(run(check, __doc__))
