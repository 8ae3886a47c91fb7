#!/usr/bin/env python3
"""Checks that each C++ header of the layers compiles alone and guards itself.

    check_headers.py --root ROOT --commands build/release/compile_commands.json

Each header is compiled (-fsyntax-only) as the only content of a translation unit that
includes it twice, with the include paths of the build. A header whose preprocessed text
passed before is not compiled again (--cache).
"""
import argparse
import concurrent.futures
import hashlib
import json
import shlex
import subprocess
import sys
from pathlib import Path

FLAGS = ["-std=c++20", "-x", "c++", "-Wall", "-Wextra", "-Werror",
         "-Wno-pragma-once-outside-header"]
LIMIT_S = 120


def layer_folders(root, compiled):
    """Folders of cmake/layers.txt, and tools/, of which the build compiles something."""
    folders = ["tools"]
    for line in (root / "cmake/layers.txt").read_text().splitlines():
        words = line.split("#", 1)[0].split()
        if len(words) >= 2:
            folders.append(words[1])
    return [folder for folder in folders if compiled is None or
            any(path.is_relative_to(root / folder) for path in compiled)]


def compiled_files(commands):
    """Sources of the build; None when there is no list."""
    if not commands:
        return None
    return {Path(entry["file"]) for entry in json.loads(commands.read_text())}


def headers(root, compiled):
    found = set()
    for folder in layer_folders(root, compiled):
        found.update((root / folder).rglob("*.h"))
    return sorted(path for path in found
                  if not is_c_header(path) and not left_out(path, compiled))


def left_out(header, compiled):
    """The header's own source file is there, but not part of this build."""
    source = header.with_suffix(".cpp")
    return compiled is not None and source.exists() and source not in compiled


def is_c_header(path):
    """Headers that assembly or C share say so in their name or hold no C++ at all."""
    return path.name == "mpi.h" or path.name.endswith("_asm.h")


def include_paths(commands):
    """-I and -isystem options of the project's own translation units, in order."""
    options = []
    if commands:
        for entry in json.loads(commands.read_text()):
            words = shlex.split(entry["command"])
            for position, word in enumerate(words):
                pair = None
                if word.startswith("-I") and len(word) > 2:
                    pair = ["-isystem" if "/build/" in word else "-I", word[2:]]
                elif word == "-isystem":
                    pair = ["-isystem", words[position + 1]]
                if pair and pair not in options:
                    options.append(pair)
    return [word for pair in options for word in pair]


def compile_alone(compiler, root, header, options, passed):
    """("", key) when the header compiles alone, else (messages, "")."""
    name = header.relative_to(root).as_posix()
    text = f'#include "{name}"\n#include "{name}"\n'
    base = [compiler, *FLAGS, f"-I{root}", *options]
    expanded = run([*base, "-E", "-"], text)
    key = hashlib.sha256((name + expanded.stdout).encode()).hexdigest()
    if expanded.returncode == 0 and key in passed:
        return "", key
    done = run([*base, "-fsyntax-only", "-"], text)
    return (done.stderr or "compiler failed", "") if done.returncode else ("", key)


def run(command, text):
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False,
                          timeout=LIMIT_S)


def check(compiler, root, commands, jobs, passed):
    """({header: messages} of the bad ones, keys of the good ones)."""
    bad, keys = {}, set()
    options = include_paths(commands)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        found = headers(root, compiled_files(commands))
        results = pool.map(lambda header: compile_alone(compiler, root, header, options,
                                                        passed), found)
        for header, (messages, key) in zip(found, results):
            if messages:
                bad[header.relative_to(root).as_posix()] = messages
            else:
                keys.add(key)
    return bad, keys


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--commands", type=Path)
    parser.add_argument("--compiler", default="c++")
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    root = options.root.resolve()
    passed = set()
    if options.cache and options.cache.exists():
        passed = set(options.cache.read_text().split())
    bad, keys = check(options.compiler, root, options.commands, options.jobs, passed)
    if options.cache:
        options.cache.write_text("\n".join(sorted(keys)) + "\n")
    for name, messages in bad.items():
        print(f"{name} does not compile alone:\n{messages}")
    print(f"{len(keys)} headers compile alone, {len(bad)} do not")
    return 1 if bad or not keys else 0


if __name__ == "__main__":
    sys.exit(main())
