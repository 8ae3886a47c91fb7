"""What the tests of mpcrun share: the built tools, small programs, options of the command line."""

import argparse
import os
import subprocess
import sys
import tempfile
import unittest

options = argparse.Namespace()      # filled by parse_options()
# The sanitizers of the build are among them, before the options are read: for decorators.
WORDS = set(",".join(sys.argv).split(","))
SANITIZED = bool({"address", "thread", "undefined"} & WORDS)


def tool(name):
    return os.path.join(options.build, "bin", name)


def example(name):
    return os.path.join(options.build, "examples", name)


def run(*args, timeout=60, **kwargs):
    """Runs mpcrun; returns (status, stdout, stderr)."""
    done = subprocess.run([tool("mpcrun"), *map(str, args)], capture_output=True, text=True,
                          timeout=timeout, **kwargs)
    return done.returncode, done.stdout, done.stderr


def has_processes():
    """Can a job have several processes here?"""
    return os.path.exists(os.path.join(options.build, "lib/mpc/mpclaunch")) and not SANITIZED


class Programs:
    """Small C programs, compiled once with mpcc."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="mpcrun-cases-")
        self.made = {}

    def build(self, name, body):
        """A program of which `body` is the inside of main()."""
        return self.compile(
            name + ".c",
            "#define _GNU_SOURCE\n#include <errno.h>\n#include <mpi.h>\n#include <stdio.h>\n"
            "#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n#include <signal.h>\n"
            "#include <fcntl.h>\n#include <sys/resource.h>\n#include <sys/wait.h>\n"
            "int main(int argc, char **argv) {\n int rank = -1, size = 0;\n"
            " (void)argc; (void)argv; (void)rank; (void)size;\n" + body + "\n}\n", "-O1", "-g")

    def compile(self, name, text, *flags):
        """The whole text of a C, C++ or Fortran program, by the ending of its name."""
        stem, ending = os.path.splitext(name)
        if stem not in self.made:
            source = os.path.join(self.folder.name, name)
            output = os.path.join(self.folder.name, stem)
            with open(source, "w", encoding="utf-8") as file:
                file.write(text)
            compiler = tool({".c": "mpcc", ".cpp": "mpcxx"}.get(ending, "mpcfort"))
            subprocess.run([compiler, *flags, source, "-o", output], check=True)
            self.made[stem] = output
        return self.made[stem]


INIT = ("MPI_Init(&argc, &argv); MPI_Comm_rank(MPI_COMM_WORLD, &rank);"
        "MPI_Comm_size(MPI_COMM_WORLD, &size);")
END = "MPI_Finalize(); return 0;"


def small_stack():
    """The smallest that mpcrun takes; ThreadSanitizer keeps 1.1 MiB of its own on each stack."""
    return "2m" if options.sanitize == "thread" else "256k"


class Case(unittest.TestCase):
    maxDiff = None  # reports of a sanitizer are long
    programs = None

    @classmethod
    def setUpClass(cls):
        cls.programs = Programs()

    def refused(self, status, *args, says=(), **kwargs):
        got, out, err = run(*args, **kwargs)
        self.assertEqual(got, status, err)
        self.assertEqual(out, "")
        self.assertTrue(err.startswith("mpcrun: "), err)
        for text in says:
            self.assertIn(text, err)
        return err


def parse_options():
    """Sets `options`; returns what is left for unittest."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--sanitize", default="")
    return parser.parse_known_args(namespace=options)[1]
