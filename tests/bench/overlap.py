#!/usr/bin/env python3
"""bench/overlap: a quick run of our own MPI, drawing again from its CSV, wrong options.

usage: overlap.py --build BUILD --source SOURCE
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

DRAWS = unittest.skipUnless(shutil.which("gnuplot") or os.environ.get("MPC_TEST_STRICT"),
                            "draws with gnuplot, which is not installed")


class Overlap(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="overlap-test-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def run_it(self, *arguments):
        return subprocess.run(
            [sys.executable, "-B", str(OPTIONS.source / "bench/overlap"), "--prefix",
             str(OPTIONS.build), "--out", str(self.folder / "out" / "overlap"), *arguments],
            capture_output=True, text=True, timeout=200, check=False)

    @DRAWS
    def test_measures_and_draws(self):
        done = self.run_it("--quick", "--mpi", "ours", "--ops", "ireduce", "--sizes", "64k",
                           "--results", str(self.folder / "R.md"))
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        csv = self.folder / "out/overlap/overlap.csv"
        lines = csv.read_text().splitlines()
        self.assertTrue(lines[0].startswith("# machine: "))
        totals = [line for line in lines if ",ours,ireduce,65536," in line and ",total," in line]
        self.assertEqual(len(totals), 1)
        self.assertTrue(totals[0].startswith("real,"))
        self.assertGreater(float(totals[0].rsplit(",", 1)[1]), 0)
        self.assertIn("| ireduce | 64 KiB | 2 |", (self.folder / "R.md").read_text())
        allowed = [line for line in lines if line.startswith("possible,")
                   and ",ours,ireduce,65536," in line and ",possible_us," in line]
        self.assertEqual(len(allowed), 1)
        self.assertGreater(float(allowed[0].rsplit(",", 1)[1]), 0)
        self.assertIn("possible hidden, % (model)", (self.folder / "R.md").read_text())
        self.assertIn("<svg", (self.folder / "out/overlap/overlap.html").read_text())
        first = (self.folder / "R.md").read_text()
        done = self.run_it("--from", str(csv), "--results", str(self.folder / "R2.md"))
        self.assertEqual(done.returncode, 0, done.stderr)

        def tables(text):
            return [line for line in text.splitlines() if line.startswith("|")]
        self.assertEqual(tables(first), tables((self.folder / "R2.md").read_text()))

    @DRAWS
    def test_emulates_and_compares_with_the_model(self):
        done = self.run_it("--quick", "--no-real", "--emulate", "skylake48", "--stretch", "4",
                           "--ops", "ibcast", "--ranks", "6", "--results",
                           str(self.folder / "R.md"))
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        lines = (self.folder / "out/overlap/overlap.csv").read_text().splitlines()
        emulated = [line.split(",") for line in lines if line.startswith("emulated,skylake48,")]
        splits = {words[7] for words in emulated if words[9] == "total"}
        self.assertEqual(splits, {"0", "1", "2", "3", "auto"})
        total = {words[7]: float(words[10]) for words in emulated if words[9] == "total"}
        # What the ranks were told to compute: it may take longer on a busy machine, never shorter.
        modelled = [line.split(",") for line in lines if line.startswith("model,skylake48,")]
        compute = [float(words[10]) for words in modelled
                   if words[9] == "compute" and words[6] == "6"]
        self.assertEqual(len(compute), 1)
        for value in total.values():  # nothing is shorter than the computation
            self.assertGreaterEqual(value, 0.99 * compute[0])
        self.assertTrue(any(line.startswith("paper,skylake48,") for line in lines))

    def test_refuses_what_makes_no_sense(self):
        for arguments, text in ((["--ops", "icast"], "no operation 'icast'"),
                                (["--cores", "2", "--comm-cores", "2"], "--comm-cores"),
                                (["--from", str(self.folder / "none.csv")], "none.csv"),
                                (["--no-real", "--simulate", "cray1"], "cray1")):
            done = self.run_it(*arguments)
            self.assertNotEqual(done.returncode, 0, arguments)
            self.assertIn(text, done.stderr)
            self.assertNotIn("Traceback", done.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--source", type=Path, required=True)
    OPTIONS = parser.parse_args()
    unittest.main(argv=[sys.argv[0], "-v"])
