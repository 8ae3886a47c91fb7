#!/usr/bin/env python3
"""The version: one place that says it, and everything that shows it.

    check_version.py --build FOLDER --source FOLDER [unittest options]
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--build", type=Path, required=True)
parser.add_argument("--source", type=Path, required=True)
options, rest = parser.parse_known_args()

VERSION = re.search(r"^project\(mpc VERSION ([\d.]+)", (options.source / "CMakeLists.txt").read_text(),
                    re.M)[1]
LEFT_OUT = {"build", ".git", ".cache", "shared"}
# Tells the history.
MAY_NAME_IT = {"CMakeLists.txt", "CHANGELOG.md", "bench/history.csv"}


def second_copies(folder, version):
    """[(file, line)] of all that names this version of our own, or its successor's macro."""
    pattern = re.compile(r"(?<![\w.])v?" + re.escape(version) + r"(?![\w]|\.\d)")
    found = []
    for root, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in LEFT_OUT and not name.startswith("build-")]
        for name in files:
            path = Path(root, name)
            relative = path.relative_to(folder).as_posix()
            if relative in MAY_NAME_IT or path.suffix in (".svg", ".xml", ".png"):
                continue
            try:
                lines = path.read_text(encoding="utf-8").splitlines()
            except (OSError, UnicodeDecodeError):
                continue
            found += [(relative, number) for number, line in enumerate(lines, 1)
                      if pattern.search(line)]
    return found


def output(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True,
                          timeout=30).stdout


class Version(unittest.TestCase):
    def test_stands_in_one_place(self):
        self.assertEqual(second_copies(options.source, VERSION), [])

    def test_a_second_copy_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text, count in (("a.cpp", 'puts("mpc 7.8.9, fast");', 1), ("b.md", "v7.8.9.", 1),
                                      ("c.py", "17.8.9 7.8.91 7.8.9.1", 0), ("CHANGELOG.md", "7.8.9", 0)):
                Path(folder, name).write_text(text, encoding="utf-8")
                self.assertEqual(len(second_copies(folder, "7.8.9")), count, name)
                Path(folder, name).unlink()

    def test_is_the_newest_of_the_changelog(self):
        first = re.search(r"^## (\d\S*)", (options.source / "CHANGELOG.md").read_text(), re.M)[1]
        self.assertEqual(first, VERSION)

    def test_is_said_by_the_tools(self):
        folder = options.build / "bin"
        self.assertEqual(output(folder / "mpcrun", "--version"), f"mpcrun {VERSION}\n")
        self.assertEqual(output(folder / "mpcinfo", "--version"), f"mpcinfo {VERSION}\n")
        self.assertIn(VERSION, output(folder / "mpcc", "-mpc-version"))

    def test_is_in_what_is_installed(self):
        folder = options.build / "cmake/package"
        self.assertIn(f"\nVersion: {VERSION}\n", (folder / "mpi_abi.pc").read_text())
        self.assertIn(f'PACKAGE_VERSION "{VERSION}"', (folder / "mpc-config-version.cmake").read_text())
        pages = list((folder / "man1").glob("*.1"))
        self.assertEqual(len(pages), 5)
        for page in pages:
            self.assertRegex(page.read_text().splitlines()[0], rf'^\.TH \w+ 1 "" "mpc {VERSION}"$')

    def test_is_said_by_the_library(self):
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "version.c")
            source.write_text("""#include <mpi.h>
#include <stdio.h>
int main(void) {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  MPI_Get_library_version(text, &length);
  puts(text);
}
""")
            output(options.build / "bin/mpcc", source, "-o", source.with_suffix(""))
            # By mpcrun, which is built with a sanitizer if the library is; no call of MPI_Init.
            said = output(options.build / "bin/mpcrun", "-n", 1, source.with_suffix(""))
            self.assertTrue(said.startswith(f"mpc {VERSION}, "), said)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *rest])
