#!/usr/bin/env python3
"""mpcinfo model, simulate, calibrate ...: what a user types and what comes back.

    models.py --build FOLDER --source FOLDER [unittest options]
"""
import argparse
import csv
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

parser = argparse.ArgumentParser()
parser.add_argument("--build", required=True)
parser.add_argument("--source", required=True)
options, rest = parser.parse_known_args()


def mpcinfo(*arguments, path=None):
    """Status, stdout, stderr."""
    environment = dict(os.environ)
    if path is not None:
        environment["PATH"] = path
    done = subprocess.run([os.path.join(options.build, "bin", "mpcinfo"), *map(str, arguments)],
                          capture_output=True, text=True, check=False, timeout=120,
                          env=environment)
    return done.returncode, done.stdout, done.stderr


class Case(unittest.TestCase):
    def rows(self, *arguments):
        status, out, err = mpcinfo(*arguments, "--csv")
        self.assertEqual((status, err), (0, ""))
        return list(csv.DictReader(io.StringIO(out)))

    def refused(self, *arguments, says, **more):
        status, out, err = mpcinfo(*arguments, **more)
        self.assertEqual((status, out), (2, ""), err)
        for word in says:
            self.assertIn(word, err)


class Model(Case):
    def reference(self, cores, kind):
        path = os.path.join(options.source, "tests/unit/model/split_tree_model.tsv")
        with open(path, encoding="utf-8") as file:
            rows = [line.split() for line in file if not line.startswith("#")]
        return [row for row in rows if row[:2] == [str(cores), kind]]

    def test_equals_the_reference_table(self):
        for machine, cores in (("knl64", 64), ("skylake48", 48)):
            for operation, kind in (("ibcast", "constant"), ("iscatter", "doubling")):
                rows = self.rows("model", "--machine", machine, "--op", operation)
                expected = self.reference(cores, kind)
                self.assertEqual(len(rows), len(expected))
                for row, wanted in zip(rows, expected):
                    got = list(row.values())
                    self.assertEqual(got[:2], wanted[:2])
                    for value, number in zip(got[2:], wanted[2:], strict=True):
                        self.assertAlmostEqual(float(value), float(number), places=5)

    def test_kind_overrules_the_operation(self):
        self.assertEqual(
            self.rows("model", "--machine", "knl64", "--op", "igather", "--kind", "constant"),
            self.rows("model", "--machine", "knl64", "--op", "ireduce"))

    def test_text_says_what_is_best(self):
        status, out, _ = mpcinfo("model", "--machine", "knl64")
        self.assertEqual(status, 0)
        self.assertIn("Fastest: 51 ranks, the other 13 cores for communication, S=0", out)

    def test_synthetic_machine(self):
        rows = self.rows("model", "--machine", "pack:2 core:4 pu:1")
        self.assertEqual([row["N"] for row in rows], ["2", "3", "4", "5", "6", "7"])

    def test_wrong_names_list_the_known_ones(self):
        self.refused("model", "--machine", "no-such", says=["knl64", "skylake48"])
        self.refused("model", "--machine", "knl64", "--op", "ialltoall",
                     says=["ialltoall", "ibcast", "iallreduce"])
        self.refused("model", "--machine", "knl64", "--kind", "odd",
                     says=["odd", "constant", "doubling"])
        self.refused("model", "--machine", "pack:1 core:2 pu:1", says=["2 cores"])


    def test_calibrated_is_in_microseconds_of_the_given_machine(self):
        rows = self.rows("model", "--machine", "knl64", "--kind", "calibrated")
        self.assertEqual([row["N"] for row in rows], [str(n) for n in range(2, 64)])
        small = self.rows("model", "--machine", "knl64", "--kind", "calibrated", "--bytes", "1KB")
        self.assertLess(float(small[40]["C"]), 0.1 * float(rows[40]["C"]))
        self.refused("model", "--machine", "knl64", "--bytes", "2XB", says=["2XB"])
        self.refused("model", "--machine", "knl64", "--parameters", "/no/such.json",
                     says=["/no/such.json"])

    def test_advice(self):
        status, out, err = mpcinfo("advise", "--machine", "knl64", "--ops",
                                   "ibcast:2MB:1,ireduce:2MB:2", "--compute", "2ms")
        self.assertEqual((status, err), (0, ""))
        self.assertRegex(out, r"Use \d+ ranks; leave \d+ cores")
        rows = self.rows("advise", "--machine", "knl64", "--ops", "iscatter:64KB:3",
                         "--compute", "150us")
        self.assertEqual(len(rows), 64)
        for row in rows:
            self.assertLessEqual(float(row["total_us"]), float(row["blocking_us"]) + 1e-6)
        self.refused("advise", "--machine", "knl64", "--ops", "ibcast:2MB:0", says=["count"])
        self.refused("advise", "--machine", "knl64", "--ops", "ibcast:1:2:3", says=["BYTES"])
        self.refused("advise", "--machine", "knl64", "--compute", "soon", says=["soon", "2ms"])


COSTS = {"version": 1, "machine": "test", "source": "by hand",
         "shape": {"cores": 2, "cores_per_cache": 2, "cores_per_numa": 2}, "node_us": 0,
         "handover_us": 0, "message_us": 0, "numa_gbs": 0, "reduce_gbs": 1, "call_us": 0.5,
         "copy": {reach: {"latency_us": 0, "bandwidth_gbs": 1}
                  for reach in ("cache", "numa", "machine")},
         "caches": [{"bytes": 65536, "near_copy_us": 2, "far_copy_us": 12, "near_reduce_us": 1,
                     "far_reduce_us": 6}]}


class Possible(Case):
    def setUp(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
            json.dump(COSTS, file)
        self.file = file.name
        self.addCleanup(os.unlink, self.file)

    def possible(self, *arguments):
        rows = self.rows("possible", "--parameters", self.file, "--bytes", "64KB", "--ranks", 2,
                         "--cores", 2, "--comm-cores", 1, *arguments)
        self.assertEqual(len(rows), 1)
        return {name: float(value) for name, value in rows[0].items() if name != "op"}

    def test_keeps_what_the_cache_has_and_hands_over_what_a_long_window_hides(self):
        short = self.possible("--op", "ibcast", "--window", "2us")
        self.assertAlmostEqual(short["blocking_us"], 2, 3)
        self.assertAlmostEqual(short["kept_us"], 2 * 2.5 + 2, 3)
        self.assertAlmostEqual(short["handed_us"], 2 * .5 + 2 + 12, 3)
        self.assertEqual(short["possible_us"], short["kept_us"])
        self.assertEqual(short["hidden_percent"], 0)
        long = self.possible("--op", "ibcast", "--window", "20us")
        self.assertAlmostEqual(long["possible_us"], 41, 3)
        self.assertAlmostEqual(long["hidden_percent"], 50, 1)

    def test_ranks_that_wait_take_part_in_long_copies(self):
        alone = self.possible("--op", "ibcast", "--window", "6us")
        shared = self.possible("--op", "ibcast", "--window", "6us", "--shared-copy", "64KB")
        self.assertEqual(alone["kept_us"], shared["kept_us"])
        # Of 12 us 6 are left, for a core that is six times as fast as well.
        self.assertAlmostEqual(alone["handed_us"] - shared["handed_us"], 6 * 6 / 7, 3)
        self.assertEqual(alone, self.possible("--op", "ibcast", "--window", "6us",
                                              "--shared-copy", 0))

    def test_knows_what_has_no_tree(self):
        self.assertGreater(self.possible("--op", "ialltoall")["blocking_us"], 7.9)

    def test_text_says_whether_it_pays(self):
        for window, says in (("2us", "does not pay"), ("20us", "50.0 % hidden")):
            status, out, _ = mpcinfo("possible", "--parameters", self.file, "--bytes", "64KB",
                                     "--cores", 2, "--window", window)
            self.assertEqual(status, 0)
            self.assertIn(says, out)

    def test_wrong_input(self):
        self.refused("possible", "--op", "ibarrier", says=["ibarrier", "ialltoall"])
        self.refused("possible", "--machine", "knl64", "--comm-cores", 64, says=["--comm-cores"])
        self.refused("possible", "--machine", "knl64", "--ranks", 1, says=["two ranks"])
        self.refused("possible", "--machine", "knl64", "--window", "long", says=["long"])


class Simulate(Case):
    def test_names_best_and_chosen_split(self):
        rows = self.rows("simulate", "--machine", "skylake48", "--op", "ireduce", "--from", 30)
        self.assertEqual([row["N"] for row in rows], [str(n) for n in range(30, 48)])
        for row in rows:
            best = float(row["T_overlapped_S" + row["best_S"]])
            chosen = float(row["T_overlapped_S" + row["chosen_S"]])
            self.assertEqual(row["kind"], "simulated")
            self.assertLessEqual(chosen, 1.05 * best)
            self.assertLessEqual(chosen, float(row["blocking_plus_C"]))

    def test_is_deterministic(self):
        arguments = ("simulate", "--machine", "pack:2 numa:1 l3:1 core:4 pu:1", "--csv")
        self.assertEqual(mpcinfo(*arguments), mpcinfo(*arguments))

    def test_wrong_input(self):
        self.refused("simulate", "--machine", "knl64", "--algorithm", "best",
                     says=["best", "binomial", "chain"])
        self.refused("simulate", "--machine", "knl64", "--to", 64, says=["2 to 63"])
        self.refused("simulate", "--machine", "knl65", says=["knl64"])


class Calibrate(Case):
    def test_writes_a_file_that_the_models_read(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "sub", "machine.json")
            self.refused("calibrate", "--output", file, says=[file, "no folder"])
            self.assertEqual(os.listdir(folder), [])
            os.mkdir(os.path.dirname(file))
            status, out, err = mpcinfo("calibrate", "--output", file)
            self.assertEqual(status, 0, err)
            with open(file, encoding="utf-8") as made:
                self.assertEqual(made.read(), out)
            costs = json.loads(out)
            self.assertGreater(costs["numa_gbs"], 0)
            self.assertGreater(costs["copy"]["numa"]["bandwidth_gbs"], 0)
            # How large the figures are is the machine's affair: two workers of one core, or a
            # busy neighbour, make a far copy as fast as a near one, and calls free.
            self.assertGreaterEqual(costs["call_us"], 0)
            if os.cpu_count() > 1:
                self.assertEqual([line["bytes"] for line in costs["caches"]],
                                 [16 << 10, 64 << 10, 256 << 10, 2 << 20])
                for line in costs["caches"]:
                    for copy in ("near_copy_us", "far_copy_us", "near_reduce_us", "far_reduce_us"):
                        self.assertGreater(line[copy], 0)
            rows = self.rows("model", "--machine", "knl64", "--kind", "calibrated",
                             "--parameters", file)
            self.assertEqual(len(rows), 62)
            with open(file, "w", encoding="utf-8") as broken:
                broken.write("{}")
            self.refused("model", "--machine", "knl64", "--parameters", file, says=[file])


COMMANDS = ("topology", "settings", "trace", "profile", "calibrate", "tune", "collectives", "model",
            "simulate", "advise", "possible")


class CommandLine(Case):
    def test_unknown_words_are_named(self):
        self.refused("--nonsense", says=["mpcinfo: unknown option '--nonsense'", "after the command"])
        self.refused("topologie", says=["there is no command 'topologie', did you mean 'topology'?"])
        self.refused("frobnicate", says=["there is no command 'frobnicate'\n"])
        self.refused("model", "--cvs", says=["unknown option '--cvs', did you mean '--csv'?",
                                             "mpcinfo model --help"])
        self.refused("model", "knl64", says=["model: unknown argument 'knl64'"])
        self.refused("possible", "--ranks", "many", says=["mpcinfo: possible: ", "many"])
        for command in ("topology", "model", "advise"):
            self.refused(command, "--machine", "", says=["--machine: wants a name"])
        self.refused("simulate", "--machine", "knl64", "--from", "-4", says=["--from"])
        self.refused("trace", says=["file is required"])

    def test_flags_that_became_commands_name_them(self):
        for flag in ("--topology", "--settings", "--trace", "--calibrate", "--model", "--simulate",
                     "--advise", "--possible"):
            command = f"mpcinfo {flag[2:]}"
            self.refused(flag, says=[f"{flag} is a command now: {command}"])
        self.refused("--trace=job.json", says=["mpcinfo trace FILE"])
        self.refused("--machine", "knl64", says=["mpcinfo topology NAME"])

    def test_an_option_of_another_command_is_unknown(self):
        self.refused("topology", "--markdown", says=["unknown option '--markdown'"])
        self.refused("model", "--algorithm", "chain", says=["unknown option '--algorithm'"])
        self.refused("calibrate", "--machine", "knl64", says=["unknown option '--machine'"])

    def test_names_of_commands_are_good_names_of_files_and_settings(self):
        self.refused("trace", "model", says=["model: No such file"])
        self.assertIn("trace.events", mpcinfo("settings", "trace")[1])

    def test_settings_are_found_by_name_or_beginning(self):
        status, out, _ = mpcinfo("settings", "sched.steal")
        self.assertEqual(status, 0)
        self.assertEqual([line for line in out.splitlines() if not line.startswith(" ")],
                         [out.splitlines()[0]])
        self.assertTrue(out.startswith("sched.steal = "), out)
        _, out, _ = mpcinfo("settings", "progress")
        self.assertTrue(all(line.startswith(("progress.", " ")) for line in out.splitlines()), out)
        self.refused("settings", "sched.stael", says=["did you mean 'sched.steal'?"])

    def test_machines_are_given_with_or_without_their_option(self):
        self.assertEqual(mpcinfo("topology", "knl64"), mpcinfo("topology", "--machine", "knl64"))

    def test_sizes_are_those_of_the_settings(self):
        rows = [self.rows("model", "--machine", "pack:2 core:4 pu:1", "--kind", "calibrated",
                          "--bytes", size) for size in ("64k", "64KiB", "65536", "0x10000")]
        self.assertEqual(rows, 4 * rows[:1])
        self.refused("model", "--machine", "knl64", "--bytes", "1.5", says=["1.5"])

    def test_help_lists_the_commands_and_their_options(self):
        _, text, _ = mpcinfo("--help")
        self.assertEqual(text, mpcinfo()[1])
        self.assertEqual(tuple(re.findall(r"^  (\w+)  +[A-Z]", text, re.M)), COMMANDS)
        for command in COMMANDS:
            status, out, err = mpcinfo(command, "--help")
            self.assertEqual((status, err), (0, ""))
            self.assertIn(f"Usage: mpcinfo {command}", out)
            self.assertEqual(out, mpcinfo("help", command)[1])

    def test_examples_of_the_help_are_right(self):
        _, text, _ = mpcinfo("--help")
        examples = text[text.index("Examples:"):].split("\n  mpcinfo ")[1:]
        self.assertEqual(len(examples), len(COMMANDS))
        for example in examples:
            words = example.split()
            self.assertNotIn("unknown", mpcinfo(words[0], "--help", *words[1:])[2])

    def test_the_man_page_has_every_option_of_every_command(self):
        with open(os.path.join(options.source, "docs/man/mpcinfo.1.in"), encoding="utf-8") as file:
            page = file.read().replace("\\-", "-")
        for command in COMMANDS:
            section = page[page.index(f".SS {command}\n"):]
            section = re.split(r"\n\.S[SH] ", section, maxsplit=1)[0]
            known = set(re.findall(r"^ +(?:-\w,)?(?:\w+,)?(--[\w-]+)", mpcinfo(command, "--help")[1],
                                   re.M)) - {"--help"}
            self.assertEqual(known, set(re.findall(r"--[\w-]+", "\n".join(
                line for line in section.splitlines()
                if "mpcrun" not in line))) - {"--help"}, command)

    def test_a_file_that_is_no_trace(self):
        with tempfile.TemporaryDirectory() as folder:
            for text in ("root:x:0:0", '{"traceEvents": 3}', '["no", "trace"]', ""):
                file = os.path.join(folder, "file")
                with open(file, "w", encoding="utf-8") as made:
                    made.write(text)
                status, _, err = mpcinfo("trace", file)
                self.assertEqual(status, 2, text)
                self.assertIn(f"{file} is no file of mpcrun --trace", err)
                self.assertNotIn("exception", err)

    def test_a_pipe_is_no_trace(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "pipe")
            os.mkfifo(file)
            self.refused("trace", file, says=[file + " is no regular file"])

    def test_one_core_and_too_many_ranks(self):
        status, out, err = mpcinfo("possible", "--machine", "knl64", "--ranks", 2, "--cores", 2)
        self.assertEqual(status, 0, err)
        self.assertIn("2 ranks on 1 core, ", out)
        self.refused("possible", "--machine", "knl64", "--ranks", 1000000, says=["--ranks 1000000"])


class Plot(Case):
    def test_svg_and_png(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, magic in (("a.svg", b"<?xml"), ("a.png", b"\x89PNG")):
                file = os.path.join(folder, name)
                status, _, err = mpcinfo("model", "--machine", "skylake48", "--plot", file)
                if "need gnuplot" in err and not os.environ.get("MPC_TEST_STRICT"):
                    self.skipTest("no gnuplot")
                self.assertEqual(status, 0, err)
                with open(file, "rb") as made:
                    self.assertTrue(made.read().startswith(magic))

    def test_other_endings_are_refused(self):
        self.refused("model", "--machine", "knl64", "--plot", "x.pdf", says=[".svg", ".png"])

    def test_missing_gnuplot_is_said(self):
        with tempfile.TemporaryDirectory() as folder:
            os.symlink("/bin/sh", os.path.join(folder, "sh"))
            self.refused("model", "--machine", "knl64", "--plot",
                         os.path.join(folder, "x.svg"), says=["gnuplot", "--csv"], path=folder)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *rest])
