#!/usr/bin/env python3
"""bench/progress-cost: a quick run, ratios, wrong options.

usage: progress_cost.py --build BUILD --source SOURCE
"""
import argparse
import csv
import importlib.machinery
import importlib.util
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path


def load():
    """The program as a module."""
    path = str(OPTIONS.source / "bench/progress-cost")
    loader = importlib.machinery.SourceFileLoader("progress_cost_program", path)
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader(loader.name, loader))
    sys.modules[loader.name] = module   # dataclasses look for it there
    loader.exec_module(module)
    return module


class ProgressCost(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="progress-cost-test-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def run_it(self, *arguments):
        return subprocess.run(
            [sys.executable, "-B", str(OPTIONS.source / "bench/progress-cost"), "--out",
             str(self.folder / "out"), *map(str, arguments)],
            capture_output=True, text=True, timeout=110, check=False)

    def test_measures_all_figures_of_all_variants(self):
        done = self.run_it("--prefix", OPTIONS.build, "--quick", "--results",
                           self.folder / "R.md")
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        with (self.folder / "out/progress-cost.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        figures = {(row["figure"], row["parameter"]) for row in rows}
        self.assertEqual(figures, {("latency", "8"), ("latency", "65536"), ("latency", "1048576"),
                                   ("latency_same_core", "8"), ("rate", "8"), ("rate", "65536"),
                                   ("barrier", "16"), ("allreduce_8B", "16")})
        self.assertEqual({row["variant"] for row in rows}, {"off", "again", "default"})
        self.assertEqual(len(rows), 3 * len(figures))
        text = (self.folder / "R.md").read_text()
        for word in ("| latency | 8 B | us |", "| barrier | 16 ranks | us |", "| rate | 64 KiB |"):
            self.assertIn(word, text)

    def test_ratios_are_of_times_and_of_the_same_round(self):
        program = load()
        samples = {(("barrier", 16), "off"): [(0, 1.0, "us"), (1, 2.0, "us")],
                   (("barrier", 16), "default"): [(0, 1.1, "us"), (1, 2.0, "us"), (2, 9.0, "us")],
                   (("rate", 8), "off"): [(0, 10.0, "M/s")],
                   (("rate", 8), "default"): [(0, 5.0, "M/s")]}
        self.assertEqual(program.ratios(samples, ("barrier", 16), "default"), [1.1, 1.0])
        self.assertEqual(program.ratios(samples, ("rate", 8), "default"), [2.0])

    def test_says_when_the_limit_is_missed(self):
        program = load()
        same = [0.99, 1.0, 1.01]
        self.assertEqual(program.verdict([1.0, 1.01, 1.5], same), "yes")
        self.assertEqual(program.verdict([1.0, 1.0, 1.03, 1.03, 1.03], same), "within the noise")
        self.assertEqual(program.verdict([1.03, 1.04, 1.05], [0.9, 1.0, 1.2]), "within the noise")
        self.assertEqual(program.verdict([1.03, 1.04, 1.05], same), "**no**")

    def test_refuses_what_makes_no_sense(self):
        for arguments in (["--prefix", self.folder], [],
                          ["--prefix", OPTIONS.build, "--rounds", "0"]):
            done = self.run_it(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertNotIn("Traceback", done.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--source", type=Path, required=True)
    OPTIONS = parser.parse_args()
    unittest.main(argv=[sys.argv[0], "-v"])
