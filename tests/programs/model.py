"""The description of a program: where it comes from, how it is built, what is run and which results are right.

Role:     the classes and functions with which the modules of apps/ describe their programs.
Users:    apps/*.py; the runner.
"""
import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable


class Wrong(Exception):
    """A program's own output tells that its result is wrong; the text tells what is wrong."""


@dataclass(frozen=True)
class Number:
    """A figure of a result, which may differ between runs by as much as the program itself allows."""
    value: float
    tolerance: float

    def __str__(self):
        return f"{self.value:g}"


@dataclass
class Case:
    """One run with a certain number of ranks, in an empty folder of its own."""
    name: str
    program: Path
    arguments: list = field(default_factory=list)
    files: dict = field(default_factory=dict)       # name -> text, written before
    links: dict = field(default_factory=dict)       # name -> a file of the tree that has to lie there
    standard_input: str = ""                        # which the launcher gives to rank 0
    # (output, folder) -> {name: str or Number}; raises Wrong. What it returns is compared.
    results: Callable = lambda text, folder: {}
    same_for_all_ranks: bool = False
    launch: dict = field(default_factory=dict)      # MPI's name -> further options of its launcher
    environment: dict = field(default_factory=dict)
    statuses: tuple = (0,)                          # with which the job may end; (): any
    limit_s: int = 120


@dataclass
class Program:
    name: str
    package: str            # Debian's source package
    what: str               # it is, in a few words
    compared: str           # what has to agree, and within what
    build: Callable         # (Tree) -> None; raises trees.BuildError
    cases: Callable         # (folder, ranks) -> [Case]
    is_quick: bool = False  # for --quick: all of these are built and run within four minutes on two cores
    commands: tuple = ()    # beyond compilers and make: what has to be installed
    parts: tuple = ()       # of its source, as patterns of tar; (): all of it
    top_folders: int = 1    # around the source in its archive
    needs: tuple = ()       # names of programs that are built first with the same MPI: Tree.others has their folders


def grid(ranks):
    """The (rows, columns) closest to a square that use exactly `ranks` ranks, rows <= columns."""
    rows = next(rows for rows in range(math.isqrt(ranks), 0, -1) if ranks % rows == 0)
    return rows, ranks // rows


def grids(ranks):
    """All (rows, columns) that use exactly `ranks` ranks."""
    return [(rows, ranks // rows) for rows in range(1, ranks + 1) if ranks % rows == 0]


def found(pattern, text, what):
    """The first group of `pattern` in `text`. Errors: Wrong, with the message that there is no `what`."""
    match = re.search(pattern, text, re.M)
    if not match:
        raise Wrong(f"its output has no {what}")
    return match.group(1)
