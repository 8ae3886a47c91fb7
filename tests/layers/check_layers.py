#!/usr/bin/env python3
"""Checks every #include of the tree against cmake/layers.txt.

    check_layers.py ROOT

Rules, each with the word that a report begins with:
  table    a layer depends only on layers above its own line in cmake/layers.txt
  upward   a file of a layer includes only its own layer and those its line names
  unit     tests/unit/LAYER includes only LAYER and what LAYER may include
  path     project headers are named from the repository's root: "scheduler/execution.h"
  top      nothing includes a header of tests/, examples/ or bench/ but these themselves
  library  an outside library is included by one file of the layers, and by one of each tool
  mpi.h    only mpi/ and what lies above it knows the C interface
  loop     units of a layer (header and source of one name) that include each other in a circle are
           those of cmake/known-loops.txt; a circle that was cut is taken out there

Exit status: 0 clean, 1 violations (one line each), 2 the table cannot be read.
"""
import re
import sys
from pathlib import Path

SOURCE_SUFFIXES = {".h", ".hpp", ".inc", ".c", ".cc", ".cpp", ".S"}
SKIPPED_FOLDERS = {"build", ".git", ".cache", "docs"}
TOPS = ("tests", "examples", "bench")           # may include layers, are included by none
ABOVE_MPI = ("mpi", "tools", "runtime/library", *TOPS)
LIBRARIES = {                                   # what an #include of it begins with
    "hwloc": ("hwloc.h", "hwloc/"),
    "libnuma": ("numa.h", "numaif.h"),
    "Boost": ("boost/",),
    "CLI11": ("CLI/",),
    "nlohmann-json": ("nlohmann/",),
    "UCX": ("ucp/", "uct/", "ucs/"),
    "PMIx": ("pmix.h", "pmix_"),
}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
LINE = re.compile(r"^(\w+)\s+(\S+)\s*:\s*(.*)$")


class Table:
    """cmake/layers.txt."""

    def __init__(self, text):
        self.directory, self.allowed, self.problems = {}, {}, []
        for line in text.splitlines():
            line = line.split("#", 1)[0].rstrip()
            if not line:
                continue
            match = LINE.match(line)
            if not match:
                raise ValueError(f"cmake/layers.txt: cannot read '{line}'")
            name, directory, below = match[1], match[2], match[3].split()
            for other in below:
                if other not in self.directory:
                    self.problems.append(f"table: layer {name} depends on {other}, which "
                                         "is not above its line")
            self.directory[name] = directory
            self.allowed[name] = {name, *below}
        if not self.directory:
            raise ValueError("cmake/layers.txt names no layer")

    def layer_of(self, path):
        """The layer whose folder holds `path`, the deepest folder first; "" if none."""
        best = ""
        for name, directory in self.directory.items():
            if path.startswith(directory + "/") and \
                    len(directory) > len(self.directory.get(best, "")):
                best = name
        return best


def source_files(root):
    for path in sorted(root.rglob("*")):
        relative = path.relative_to(root)
        first = relative.parts[0]
        if first in SKIPPED_FOLDERS or first.startswith("build-"):
            continue
        if path.suffix in SOURCE_SUFFIXES and path.is_file():
            yield relative.as_posix(), path


def strip_comments(text):
    """Block comments could hold an #include that is none."""
    return re.sub(r"/\*.*?\*/", lambda m: "\n" * m[0].count("\n"), text, flags=re.DOTALL)


def check(root):
    """All violations below `root`, as lines of text."""
    table = Table((root / "cmake/layers.txt").read_text())
    problems = list(table.problems)
    wrappers = {}
    units = {}
    for name, path in source_files(root):
        for bracket, target in INCLUDE.findall(strip_comments(path.read_text(
                errors="replace"))):
            note_unit(table, units, name, bracket, target)
            problem = judge(root, table, name, bracket, target)
            if problem:
                problems.append(f"{problem} ({name} includes {target})")
            library = library_of(bracket, target, root)
            if library and not name.startswith(TOPS):
                wrappers.setdefault((library, tool_of(name)), set()).add(name)
    for (library, _), names in sorted(wrappers.items()):
        if len(names) > 1:
            problems.append(f"library: {library} is included by {len(names)} files: "
                            f"{', '.join(sorted(names))}")
    return problems + compare_loops(loops_of(units), known_loops(root))


def note_unit(table, units, name, bracket, target):
    """Adds the arrow of one #include within a layer to `units`: unit -> units it includes."""
    layer = table.layer_of(name)
    if not layer or bracket == "<" or table.layer_of(target) != layer:
        return
    here, there = (Path(path).with_suffix("").as_posix() for path in (name, target))
    units.setdefault(here, set())
    units.setdefault(there, set())
    if here != there:
        units[here].add(there)


def reachable(units, begin):
    """What can be come to from `begin`, over one arrow or more."""
    seen, waiting = set(), [begin]
    while waiting:
        for unit in units[waiting.pop()]:
            if unit not in seen:
                seen.add(unit)
                waiting.append(unit)
    return seen


def loops_of(units):
    """Sets of units, each of which can be come to from all others of its set."""
    reach = {unit: reachable(units, unit) for unit in units}
    return {frozenset(other for other in reach[unit] if unit in reach[other])
            for unit in units if unit in reach[unit]}


def known_loops(root):
    """One loop a line, in cmake/known-loops.txt; none if there is no such file."""
    path = root / "cmake/known-loops.txt"
    lines = path.read_text().splitlines() if path.exists() else []
    words = (line.split("#", 1)[0].split() for line in lines)
    return {frozenset(line) for line in words if line}


def compare_loops(found, known):
    new = [f"loop: these include each other in a circle: {' '.join(sorted(loop))}"
           for loop in sorted(found - known, key=sorted)]
    gone = [f"loop: cmake/known-loops.txt names one that is not there: {' '.join(sorted(loop))}"
            for loop in sorted(known - found, key=sorted)]
    return new + gone


def tool_of(name):
    """Each tool is a program of its own; all layers together are one."""
    parts = name.split("/")
    return parts[1] if parts[0] == "tools" else ""


def library_of(bracket, target, root):
    for library, beginnings in LIBRARIES.items():
        if target.startswith(beginnings) and (bracket == "<" or not
                                              (root / target).exists()):
            return library
    return ""


def judge(root, table, name, bracket, target):
    """"" or what is wrong with one #include of the file `name`."""
    if target == "mpi.h":
        if name.startswith(tuple(place + "/" for place in ABOVE_MPI)):
            return ""
        return "mpi.h: a layer below mpi/ must not know the C interface"
    if bracket == "<":
        return ""
    beside = (Path(name).parent / target).as_posix()
    top = name.startswith(tuple(place + "/" for place in TOPS))
    target_layer = table.layer_of(target)
    if not (root / target).exists() and not target_layer:
        if (root / beside).exists():
            return "" if top else "path: name the header from the repository's root"
        return ""       # a generated header or a system one in quotes; the compiler knows
    if target.startswith(tuple(place + "/" for place in TOPS)):
        return "" if top else "top: tests, examples and bench are above every layer"
    return judge_layers(table, name, target_layer)


def judge_layers(table, name, target_layer):
    unit = re.match(r"tests/unit/(\w+)/", name)
    if unit and unit[1] in table.allowed and target_layer and \
            target_layer not in table.allowed[unit[1]]:
        return f"unit: tests of {unit[1]} may not include layer {target_layer}"
    layer = table.layer_of(name)
    if not layer:
        return ""
    if not target_layer:
        return f"upward: {layer} includes what belongs to no layer"
    if target_layer not in table.allowed[layer]:
        return f"upward: {layer} may not include {target_layer}"
    return ""


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        problems = check(Path(sys.argv[1]).resolve())
    except (OSError, ValueError) as error:
        print(f"check_layers: {error}", file=sys.stderr)
        return 2
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
