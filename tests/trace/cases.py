#!/usr/bin/env python3
"""mpcrun --trace as a user meets it, and the guided path from MPI_Ibcast to memcpy.

usage: cases.py --build BUILD --source SOURCE [unittest arguments]
"""

import collections
import os
import subprocess
import sys
import unittest
import xml.etree.ElementTree

from guides import Guides  # noqa: F401
from support import CORES, RANKS, Case, about, load, parse_options, tool


class Files(Case):
    # --- the file --------------------------------------------------------------------------

    def test_shows_cores_ranks_calls_nodes_and_copies(self):
        # A rank that shares its core (it has computed for long) is not on the core's track.
        self.run_job("bcast", 3, before=("--set", "sched.preempt_ms=0",
                                          "--set", "sched.task_tick_ms=0"))
        file = load(self.file)
        self.check(file)
        self.assertEqual(file["otherData"]["ranks"], 4)
        self.assertEqual(file["otherData"]["lost_events"], 0)
        spans, flights = self.names(file), self.names(file, "b")
        for name in ("MPI_Init", "MPI_Ibcast", "MPI_Wait", "MPI_Finalize", "copy",
                     *(f"rank {rank}" for rank in range(4))):
            self.assertIn(name, spans)
        for name in ("MPI_Ibcast", "send", "recv"):
            self.assertIn(name, flights)
        tracks = {event["args"]["name"] for event in file["traceEvents"] if event["ph"] == "M"}
        for name in ("cores", "ranks", "core 0 (application)", "rank 3", "rank 3 progress"):
            self.assertIn(name, tracks)
        # Each rank calls each of them as often as the program does.
        calls = collections.Counter((event["name"], event["tid"] // 2)
                                    for event in file["traceEvents"]
                                    if event["ph"] == "B" and event.get("cat") == "mpi")
        for rank in range(4):
            self.assertEqual(calls["MPI_Ibcast", rank], 3)
        # All bytes that the three broadcasts moved, once.
        copied = sum(event["args"]["bytes"] for event in file["traceEvents"]
                     if event["ph"] == "B" and event["name"] == "copy" and event["pid"] == CORES)
        self.assertEqual(copied, 3 * 3 * (2 << 20))

    def test_arrows_lead_from_a_send_to_its_copy(self):
        self.run_job("bcast", 2)
        begins, ends = {}, {}
        for event in load(self.file)["traceEvents"]:
            if event["ph"] in "sf":
                side = begins if event["ph"] == "s" else ends
                self.assertNotIn(event["id"], side)
                side[event["id"]] = event["ts"]
        self.assertGreater(len(ends), 0)
        for number, time in ends.items():
            self.assertLessEqual(begins[number], time)

    def test_arrows_lead_from_process_to_process(self):
        self.run_job("send", 5, before=("--set", "job.virtual_processes=4"))
        file = load(self.file)
        self.check(file)
        begins, ends = {}, {}
        for event in file["traceEvents"]:
            if event["ph"] in "sf":
                (begins if event["ph"] == "s" else ends)[event["id"]] = event["ts"]
        self.assertGreaterEqual(len(ends), 5)
        for number, time in ends.items():
            self.assertLessEqual(begins[number], time)
        counts = collections.Counter(
            (event["ph"], event["name"], about(event)) for event in file["traceEvents"]
            if event["pid"] == RANKS and event.get("cat") == "message" and
            event.get("args", {}).get("bytes") == 100000)
        for event in (("i", "send", 0), ("i", "match", 1), ("B", "fetch", 1), ("i", "fetched", 1)):
            self.assertEqual(counts[event], 5, event)

    def test_progress_threads_follow_the_idle_core(self):
        """Emulated: four cores, of which rank 2's and rank 3's are idle in turn."""
        done = subprocess.run(
            [tool("mpcrun"), "-n", "4", "--emulate", "pack:1 core:4 pu:1", "--trace", self.file,
             self.program, "turns", "8"],
            capture_output=True, text=True, timeout=120, cwd=self.folder.name, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        file = load(self.file)
        self.check(file)
        moves = [event["args"] for event in file["traceEvents"] if event.get("name") == "move"]
        self.assertGreater(len(moves), 0)
        for move in moves:
            self.assertIn(move["rank"], (0, 1))
            self.assertNotEqual(move["from core"], move["to core"])
        targets = {event["args"]["to core"] for event in file["traceEvents"]
                   if event.get("name") == "submit" and event["cat"] == "progress"}
        self.assertEqual(targets & {2, 3}, {2, 3})

    def test_nothing_is_written_when_off(self):
        self.run_job("bcast", 1, traced=False)
        self.assertEqual(os.listdir(self.folder.name), [])

    def test_a_file_that_cannot_be_written_stops_the_job_before_it_starts(self):
        self.file = os.path.join(self.folder.name, "missing", "job.json")
        done = self.run_job("abort", 0, status=2)
        self.assertIn("--trace " + self.file, done.stderr)
        self.assertIn("No such file", done.stderr)

    def test_relative_to_where_mpcrun_was_called(self):
        self.file = "here.json"
        self.run_job("bcast", 1, before=["--wdir", "/"])
        self.check(load(os.path.join(self.folder.name, "here.json")))

    def test_is_complete_when_the_job_aborts(self):
        done = self.run_job("abort", 2, status=9)
        self.assertIn("MPI_Abort", done.stderr)
        file = load(self.file)
        self.check(file)
        self.assertIn("MPI_Abort", self.names(file))

    def test_says_what_is_lost(self):
        done = self.run_job("bcast", 5, before=["--set", "trace.events=1000"])
        file = load(self.file)
        self.check(file)
        lost = file["otherData"]["lost_events"]
        self.assertGreater(lost, 0)
        self.assertIn(f"the last {lost} events are missing", done.stderr)
        self.assertIn("trace.events", done.stderr)

    def test_a_rank_that_polls_does_not_fill_it(self):
        self.run_job("poll", 2)
        file = load(self.file)
        self.check(file)
        tests = [event for event in file["traceEvents"]
                 if event["ph"] == "B" and event["name"] == "MPI_Test"]
        self.assertGreater(len(tests), 0)
        self.assertEqual(file["otherData"]["lost_events"], 0)

    # --- list and picture --------------------------------------------------------------------

    def info(self, *args, status=0):
        done = subprocess.run([tool("mpcinfo"), *map(str, args)], capture_output=True,
                              text=True, timeout=60, cwd=self.folder.name)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def test_list_of_collectives(self):
        self.run_job("bcast", 3)
        lines = self.info("trace", self.file).stdout.splitlines()
        broadcasts = [line.split() for line in lines if " MPI_Ibcast " in line]
        self.assertEqual(len(broadcasts), 3)
        for fields in broadcasts:
            self.assertEqual(fields[2], "4")
            work = float(fields[-3]) + float(fields[-2])
            self.assertGreater(work, 0)

    def test_picture_of_a_collective(self):
        self.run_job("bcast", 2)
        picture = os.path.join(self.folder.name, "out.svg")
        self.info("trace", self.file, "--collective", 1, "--svg", picture)
        root = xml.etree.ElementTree.parse(picture).getroot()
        space = "{http://www.w3.org/2000/svg}"
        self.assertEqual(root.tag, space + "svg")
        texts = [text.text for text in root.iter(space + "text")]
        self.assertTrue(texts[0].startswith("MPI_Ibcast (collective 1 of the trace): 4 ranks"))
        for text in ("core 0", "application", "rank 3", "rank computes",
                     "microseconds since the first rank started it"):
            self.assertIn(text, texts)
        titles = [title.text for title in root.iter(space + "title")]
        self.assertTrue(any(title.startswith("copy of ") for title in titles), titles[:20])

    def test_bad_input_of_the_picture(self):
        self.run_job("bcast", 1)
        self.assertIn("no collective 99", self.info(
            "trace", self.file, "--collective", 99, "--svg", "x.svg", status=2).stderr)
        self.assertIn("No such file", self.info("trace", "nothing.json", status=2).stderr)
        with open(os.path.join(self.folder.name, "bad.json"), "w", encoding="utf-8") as file:
            file.write("{")
        self.assertIn("no file of mpcrun --trace",
                      self.info("trace", "bad.json", status=2).stderr)


def main():
    unittest.main(argv=[sys.argv[0], *parse_options()], verbosity=2)


if __name__ == "__main__":
    main()
