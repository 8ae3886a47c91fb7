#!/usr/bin/env python3
"""Checks the line "Users:" of each header: every folder or file of the project that it names includes it.

    check_users.py ROOT

A folder counts if any file below it includes the header, directly or through other headers.
Exit status: 0 clean, 1 violations (one line each).
"""
import re
import sys
from pathlib import Path

SOURCES = {".h", ".c", ".cpp", ".S", ".inc", ".py"}  # generators write includes, too
SKIPPED = {"build", ".git", ".cache", "docs"}
INCLUDE = re.compile(r'#[ \t]*include[ \t]*[<"]([^>"]+)[>"]')
# The text behind "Users:" and the comment lines that continue it.
USERS = re.compile(r"^//[ \t]*Users:[ \t]*(.*(?:\n//[ \t]{5,}(?![A-Z][\w ]*:).*)*)", re.MULTILINE)
NAME = re.compile(r"[a-z][\w.-]*(?:/[\w.-]+)*")


def source_files(root):
    for path in sorted(root.rglob("*")):
        first = path.relative_to(root).parts[0]
        if first in SKIPPED or first.startswith("build-"):
            continue
        if path.suffix in SOURCES and path.is_file():
            yield path.relative_to(root).as_posix(), path.read_text(errors="replace")


def includers(texts):
    """header -> files that include it, directly or not."""
    direct = {}
    for name, text in texts.items():
        for target in INCLUDE.findall(text):
            beside = (Path(name).parent / target).as_posix()
            direct.setdefault(target if target in texts else beside, set()).add(name)
    found = {}
    for header in direct:
        seen, waiting = set(), [header]
        while waiting:
            for name in direct.get(waiting.pop(), ()):
                if name not in seen:
                    seen.add(name)
                    waiting.append(name)
        found[header] = seen
    return found


def named_places(root, header, text):
    """Folders and files of the project in the line "Users:" of a header."""
    match = USERS.search(text)
    for word in NAME.findall(match[1]) if match else ():
        word = word.rstrip("./")
        if (root / word).is_dir() and not header.startswith(word + "/" * ("/" not in word)):
            yield word + "/"
        elif (root / word).is_file() and "/" in word:
            yield word


def check(root):
    texts = dict(source_files(root))
    users = includers(texts)
    problems = []
    for header, text in texts.items():
        if not header.endswith(".h"):
            continue
        for place in named_places(root, header, text):
            if not any(name == place or name.startswith(place) for name in users.get(header, ())):
                problems.append(f"{header}: Users: names {place.rstrip('/')}, which does not include it")
    return problems


def run(check, usage):
    """A checker's command: `check` gets the folder and returns a line for each violation. Returns the exit status."""
    if len(sys.argv) != 2:
        print(usage, file=sys.stderr)
        return 2
    problems = check(Path(sys.argv[1]).resolve())
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(run(check, __doc__))
