#!/usr/bin/env python3
"""The history of benchmark runs and the comparison with a revision, with measurements made up here.

usage: history.py --source SOURCE
"""
import argparse
import contextlib
import csv
import importlib.machinery
import importlib.util
import io
import math
import random
import re
import shutil
import subprocess
import sys
import tempfile
import types
import unittest
from pathlib import Path

MACHINE = "2 cores, a processor; a system, Linux 6"


def load(name):
    """A program of bench/ as a module."""
    path = str(OPTIONS.source / "bench" / name)
    loader = importlib.machinery.SourceFileLoader(f"{name}_program", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    sys.modules[loader.name] = module
    loader.exec_module(module)
    return module


class Fake(unittest.TestCase):
    """Experiments whose figures a test gives."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="bench-history-test-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def replace(self, module, **values):
        for name, value in values.items():
            self.addCleanup(setattr, module, name, getattr(module, name))
            setattr(module, name, value)

    def sample(self, module, figures, error=""):
        return module.machine.Sample(figures=dict(figures), error=error)


class History(Fake):
    def run_it(self, program, ours_us):
        values = {"ours": ours_us, "openmpi": 1.0, "mpich": 0.8}

        def latency(_, mpi):
            return self.sample(program, {("latency", 8): (values[mpi.name], "us"),
                                         ("bandwidth", 1 << 20): (2000 * values[mpi.name], "MB/s")})

        def floor(_):
            return self.sample(program, {("pingpong", 8): (0.25, "us")})

        self.replace(program.experiments, EXPERIMENTS={"latency": ("one way", latency, floor)})
        self.replace(program.machine, describe=lambda: MACHINE.split("; "),
                     revision=lambda: "abc1234")
        self.replace(program.report, plot=lambda *_: [])
        context = types.SimpleNamespace(
            mpis=[types.SimpleNamespace(name=name) for name in values], build=self.folder / "out",
            quick=False)
        options = types.SimpleNamespace(results=self.folder / "R.md", quick=False, rounds=3,
                                        seconds=0, prefer=False)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            self.assertEqual(program.measure_all(options, context, ["latency"]), 0)
        return out.getvalue()

    def rows(self):
        with (self.folder / "history.csv").open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def test_each_value_of_a_run_is_a_line(self):
        said = self.run_it(load("compare"), 0.4)
        self.assertIn("history.csv", said)
        self.assertIn("| latency | 8 B | us | 0.4 | 1 | 0.8 |", (self.folder / "R.md").read_text())
        rows = self.rows()
        self.assertEqual([(row["case"], row["implementation"], row["value"]) for row in rows],
                         [("latency 8 B", "ours", "0.4"), ("latency 8 B", "openmpi", "1"),
                          ("latency 8 B", "mpich", "0.8"), ("latency 8 B", "floor", "0.25"),
                          ("bandwidth 1 MiB", "ours", "800"), ("bandwidth 1 MiB", "openmpi", "2000"),
                          ("bandwidth 1 MiB", "mpich", "1600")])
        first = rows[0]
        self.assertRegex(first["date"], r"^\d{4}-\d\d-\d\d$")
        self.assertEqual((first["revision"], first["machine"], first["benchmark"], first["unit"]),
                         ("abc1234", MACHINE, "latency", "us"))
        # Half of the better peer, but 1.6 of the floor: both goals are met.
        self.assertEqual((first["ratio"], first["goal"]), ("0.50", "met"))
        self.assertEqual((rows[1]["ratio"], rows[1]["goal"]), ("", ""))
        self.assertEqual((rows[4]["ratio"], rows[4]["goal"]), ("0.40", ""))

    def test_one_goal_of_several_that_is_missed_is_a_miss(self):
        self.run_it(load("compare"), 0.45)   # 0.56 of the peer, 1.8 of the floor
        self.assertEqual(self.rows()[0]["goal"], "missed")

    def test_a_second_run_adds_its_lines(self):
        program = load("compare")
        self.run_it(program, 0.4)
        self.run_it(program, 0.3)
        text = (self.folder / "history.csv").read_text(encoding="utf-8")
        self.assertEqual(text.count("date,revision,machine"), 1)
        self.assertEqual([row["value"] for row in self.rows() if row["implementation"] == "ours" and
                          row["unit"] == "us"], ["0.4", "0.3"])

    def test_overlap_adds_medians_of_its_rounds(self):
        program = load("overlap")
        rows = [program.rowlib.Row("real", "2 cores", "ours", "ireduce", 65536, 2, 2, "", number, name,
                                   value)
                for number, (total, hidden) in enumerate(((10, 0.9), (30, 0.5), (11, 0.88)))
                for name, value in (("total", total), ("overlap", hidden))]
        lines = program.history.overlap_rows(rows, ("2026-01-02", "abc1234", MACHINE))
        self.assertEqual(lines, [
            ("2026-01-02", "abc1234", MACHINE, "overlap", "ireduce 65536 B, 2 ranks: total", "ours", "11",
             "us", 0, "", ""),
            ("2026-01-02", "abc1234", MACHINE, "overlap", "ireduce 65536 B, 2 ranks: overlap", "ours",
             "0.88", "of 1", 0, "", "")])

    def test_progress_cost_adds_its_ratios(self):
        program = load("progress-cost")
        samples = {(("barrier", 16), "off"): [(0, 1.0, "us"), (1, 2.0, "us")],
                   (("barrier", 16), "default"): [(0, 1.1, "us"), (1, 2.2, "us")]}
        lines = program.history_lines(samples)
        self.assertEqual([row[3:8] + row[9:10] for row in lines], [
            ("progress-cost", "barrier 16 ranks", "progress.policy=off", "1.5", "us", ""),
            ("progress-cost", "barrier 16 ranks", "default, no spare core", "1.65", "us", "1.100")])

    def test_the_history_of_the_repository_can_be_read(self):
        program = load("compare")
        with (OPTIONS.source / "bench/history.csv").open(newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
        self.assertEqual(tuple(rows[0]), program.history.COLUMNS)
        for row in rows[1:]:
            self.assertEqual(len(row), len(rows[0]), row)
            self.assertGreaterEqual(float(row[6]), 0)


class Pairs(Fake):
    def setUp(self):
        super().setUp()
        self.program = load("against")
        self.pairs = self.program.pairs

    def test_a_change_above_the_noise_is_found(self):
        generator = random.Random(5)
        drift = [math.exp(generator.gauss(0, 0.3)) for _ in range(11)]   # the machine's own

        def noisy(factor):
            return [(factor * value * math.exp(generator.gauss(0, 0.005)), value) for value in drift]

        slower = self.pairs.ratio(noisy(1.1), "us")
        self.assertAlmostEqual(slower.value, 1.1, 2)
        self.assertLess(slower.noise, 0.02)
        self.assertEqual(slower.verdict, "**slower**")
        self.assertEqual(self.pairs.ratio(noisy(0.9), "us").verdict, "faster")
        self.assertEqual(self.pairs.ratio(noisy(1.0), "us").verdict, "same")
        self.assertEqual(self.pairs.ratio(noisy(0.9), "MB/s").verdict, "**slower**")

    def test_what_is_within_the_noise_is_the_same(self):
        found = self.pairs.ratio([(1.3, 1), (0.8, 1), (1.2, 1), (0.9, 1), (1.1, 1)], "us")
        self.assertGreater(found.noise, 0.1)
        self.assertEqual(found.verdict, "same")

    def test_few_pairs_say_nothing(self):
        self.assertEqual(self.pairs.ratio([(2, 1)] * 4, "us").verdict, "too few pairs")
        self.assertIsNone(self.pairs.ratio([(0, 1)], "us"))

    def test_builds_are_measured_in_turn(self):
        order = []

        def fake(context, _):
            order.append(context.name)
            return self.sample(self.program, {("start", 8): (2.0 if context.name == "new" else 1.0,
                                                             "us"), (context.name, 1): (1.0, "us")})

        self.replace(self.program.experiments, EXPERIMENTS={"start": ("", fake, None)})
        contexts = {name: types.SimpleNamespace(name=name, mpis=[None]) for name in ("new", "old")}
        options = types.SimpleNamespace(pairs=6, names=["start"])
        with contextlib.redirect_stderr(io.StringIO()):
            samples, errors = self.program.take(options, contexts)
        self.assertEqual(order, ["new", "old", "old", "new"] * 3)
        self.assertEqual(errors, set())
        # What only one of the builds measures is left out.
        self.assertEqual(samples, {("start", ("start", 8)): [(2.0, 1.0, "us")] * 6})
        text = self.pairs.table(self.pairs.compare(samples), "abc1234")
        self.assertIn("| start | 8 ranks | us | 2 | 1 | 2.000 | ±0.000 | **slower** |", text)
        self.assertTrue(text.endswith("\n\n1 slower"), text)
        self.program.write_csv(self.folder / "a.csv", samples)
        self.assertEqual(len((self.folder / "a.csv").read_text().splitlines()), 7)

    def test_an_error_is_told_with_its_build(self):
        def fake(context, _):
            return self.sample(self.program, {}, context.error)

        self.replace(self.program.experiments, EXPERIMENTS={"idle": ("", fake, None)})
        contexts = {"new": types.SimpleNamespace(mpis=[None], error=""),
                    "old": types.SimpleNamespace(mpis=[None], error="status 1")}
        with contextlib.redirect_stderr(io.StringIO()):
            samples, errors = self.program.take(types.SimpleNamespace(pairs=1, names=["idle"]), contexts)
        self.assertEqual((samples, errors), ({}, {"idle, old build: status 1"}))


class Revision(unittest.TestCase):
    """build_revision of ./run, with a project that has nothing to compile."""

    @unittest.skipUnless(shutil.which("git") and shutil.which("ninja"), "needs git and ninja")
    def test_is_built_from_a_copy_of_its_files(self):
        folder = Path(tempfile.mkdtemp(prefix="bench-revision-test-"))
        self.addCleanup(shutil.rmtree, folder)
        text = (OPTIONS.source / "run").read_text(encoding="utf-8")
        function = re.search(r"^build_revision\(\) \{.*?^\}", text, re.M | re.S)[0]
        script = f"""set -eu
jobs=1
say() {{ printf '== %s\\n' "$*"; }}
fail() {{ printf 'run: %s\\n' "$*" >&2; exit 1; }}
{function}
build_revision "$1" "$2"
"""

        def git(*words):
            subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=folder,
                           check=True, capture_output=True)

        def build(revision):
            return subprocess.run(["sh", "-c", script, "sh", revision, "build/out"], cwd=folder,
                                  capture_output=True, text=True, check=False, timeout=60)

        git("init", "-q")
        project = folder / "CMakeLists.txt"
        project.write_text("cmake_minimum_required(VERSION 3.25)\nproject(old NONE)\n"
                           "install(PROGRAMS mpcrun DESTINATION bin)\n", encoding="utf-8")
        (folder / "mpcrun").write_text("old", encoding="utf-8")
        git("add", ".")
        git("commit", "-qm", "old")
        git("tag", "old")
        project.write_text("broken", encoding="utf-8")
        git("commit", "-qam", "new")
        done = build("old")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual((folder / "build/out/prefix/bin/mpcrun").read_text(), "old")
        done = build("HEAD")
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot be built, see build/out/log", done.stderr)
        self.assertFalse((folder / "build/out/prefix").exists())


class Distance(unittest.TestCase):
    """Cores that a hypervisor moves: only samples of one distance are compared."""

    def sample(self, value, *lines_us):
        return self.machine.Sample(figures={("latency", 8): (value, "us")},
                                   lines_us={("latency", 8): list(lines_us)} if lines_us else {})

    def setUp(self):
        program = load("compare")
        self.machine, self.report = program.machine, program.report

    def values(self, taken):
        self.machine.tell_apart(taken)
        return {mpi: self.report.summarise(samples)[("latency", 8)] for mpi, samples in taken.items()}

    def test_samples_of_the_distance_that_all_have_are_compared(self):
        taken = {"ours": [self.sample(0.1, 0.05, 0.05)] * 3 + [self.sample(0.4, 0.25, 0.26) for _ in range(4)],
                 "peer": [self.sample(0.2, 0.05, 0.05) for _ in range(6)] + [self.sample(0.5, 0.25, 0.25)]}
        found = self.values(taken)
        self.assertEqual((found["ours"].value, found["ours"].quiet), (0.1, 3))
        self.assertEqual((found["peer"].value, found["peer"].quiet), (0.2, 6))

    def test_twice_as_far_is_another_distance(self):
        taken = {"ours": [self.sample(0.1, 0.028, 0.031) for _ in range(5)] + [self.sample(0.15, 0.05, 0.055)] * 3,
                 "peer": [self.sample(0.3, 0.048, 0.06) for _ in range(5)] + [self.sample(0.2, 0.03, 0.03)]}
        found = self.values(taken)
        self.assertEqual((found["ours"].value, found["peer"].value), (0.15, 0.3))

    def test_a_floor_is_that_of_the_same_distance(self):
        key = ("pingpong", 8)
        floors = [self.machine.Sample(figures={key: (line, "us")}, lines_us={key: [line, line]})
                  for line in (0.21, 0.052, 0.22, 0.21)]
        taken = {"ours": [self.sample(0.1, 0.05, 0.06)] * 3, "floor": floors}
        self.machine.tell_apart(taken)
        self.assertEqual(self.report.summarise(floors)[key].value, 0.052)

    def test_a_job_during_which_the_cores_were_moved_does_not_count(self):
        taken = {"ours": [self.sample(0.1, 0.05, 0.06) for _ in range(3)] + [self.sample(0.3, 0.05, 0.25)] * 9}
        found = self.values(taken)["ours"]
        self.assertEqual((found.value, found.quiet), (0.1, 3))

    def test_small_differences_and_unknown_distances_do_not_matter(self):
        taken = {"ours": [self.sample(0.1, 0.05, 0.06), self.sample(0.1, 0.07, 0.07), self.sample(0.1)],
                 "peer": [self.sample(0.2)] * 3}
        found = self.values(taken)
        self.assertEqual((found["ours"].quiet, found["peer"].quiet), (3, 3))


class CommandLine(unittest.TestCase):
    def refused(self, *words):
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60,
                              cwd=OPTIONS.source)
        self.assertNotEqual(done.returncode, 0)
        self.assertNotIn("Traceback", done.stderr)
        return done.stderr

    def test_wrong_words_are_refused(self):
        self.assertIn("needs a revision", self.refused("./run", "bench", "--against"))
        self.assertIn("no-such-revision",
                      self.refused("./run", "bench", "--against", "no-such-revision"))
        program = [sys.executable, "-B", "bench/against", "--prefix", "/nowhere", "--other", "/nowhere"]
        self.assertIn("no experiment speed", self.refused(*program, "speed"))
        self.assertIn("--pairs", self.refused(*program, "--pairs", "0"))
        self.assertIn("missing", self.refused(*program))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=Path, required=True)
    OPTIONS = parser.parse_args()
    unittest.main(argv=[sys.argv[0], "-v"])
