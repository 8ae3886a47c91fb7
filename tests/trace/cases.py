#!/usr/bin/env python3
"""mpcrun --trace as a user meets it, and the guided path from MPI_Ibcast to memcpy.

usage: cases.py --build BUILD --source SOURCE [unittest arguments]
"""

import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

options = None
# Named on a line of another function; their files are in the tables of the page.
ELSEWHERE_IN_THE_PICTURE = ("finish", "progress_rank", "run_in_background")
CORES, RANKS = 1, 2  # the "processes" of the file

PROGRAM = r"""
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

extern int MPCX_Emulated_compute(double seconds);

/* Ranks 0 and 1 communicate while they compute; of 2 and 3 one computes, the other one waits. */
static void take_turns(int rank, double *data, int count, int rounds) {
  MPI_Comm pair;
  MPI_Comm_split(MPI_COMM_WORLD, rank < 2, 0, &pair);
  for (int i = 0; i < rounds; ++i) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (rank < 2)
      MPI_Iallreduce(MPI_IN_PLACE, data, count, MPI_DOUBLE, MPI_SUM, pair, &request);
    if (rank < 2 || (rank + i) % 2) MPCX_Emulated_compute(2e-3);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
}

/* Long messages from rank 0 to rank 1. */
static void send(int rank, char *data, int bytes, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) MPI_Send(data, bytes, MPI_BYTE, 1, 7, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(data, bytes, MPI_BYTE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
}

/* bcast N: N overlapped broadcasts.  abort: one rank ends the job.  poll: MPI_Test in a loop.
   turns N, send N: see there. */
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int bytes = 2 << 20;
  char *buffer = malloc(bytes);
  memset(buffer, rank, bytes);
  if (strcmp(argv[1], "turns") == 0) {
    take_turns(rank, (double *)buffer, bytes / 8, atoi(argv[2]));
    return 0;
  }
  if (strcmp(argv[1], "send") == 0) {
    send(rank, buffer, 100000, atoi(argv[2]));
    return 0;
  }
  for (int i = 0; i < atoi(argv[2]); ++i) {
    MPI_Request request;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Ibcast(buffer, bytes, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
    const double end = now() + 0.003;
    while (now() < end) {
    }
    int done = strcmp(argv[1], "poll") != 0;
    while (!done) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  if (strcmp(argv[1], "abort") == 0) {
    if (rank == 1) MPI_Abort(MPI_COMM_WORLD, 9);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
"""


def tool(name):
    return os.path.join(options.build, "bin", name)


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def about(event):
    """The rank that an event of the ranks' tracks is about."""
    return event.get("args", {}).get("rank", event["tid"] // 2)


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = tempfile.TemporaryDirectory(prefix="trace-cases-")
        source = os.path.join(cls.home.name, "program.c")
        cls.program = source[:-2]
        with open(source, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        subprocess.run([tool("mpcc"), "-O1", "-o", cls.program, source], check=True)

    def setUp(self):
        # Empty, so that one sees what is written.
        self.folder = tempfile.TemporaryDirectory(prefix="trace-case-")
        self.file = os.path.join(self.folder.name, "job.json")

    def tearDown(self):
        self.folder.cleanup()

    def run_job(self, *args, before=(), traced=True, status=0):
        cores = min(2, os.cpu_count())
        command = [tool("mpcrun"), "-n", "4", "--cores", str(cores), "--comm-cores",
                   str(cores - 1), *before]
        if traced:
            command += ["--trace", self.file]
        done = subprocess.run([*command, self.program, *map(str, args)], capture_output=True,
                              text=True, timeout=120, cwd=self.folder.name)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def check(self, file):
        """Balanced, in order of time on each track, with names for all tracks."""
        stacks = collections.defaultdict(int)
        flights = {}
        last = {}
        named = set()
        for event in file["traceEvents"]:
            track = (event["pid"], event["tid"])
            if event["ph"] == "M":
                if event["name"] == "thread_name":
                    named.add(track)
                continue
            self.assertGreaterEqual(event["ts"], last.get(track, 0), event)
            last[track] = event["ts"]
            if event["ph"] == "B":
                stacks[track] += 1
            elif event["ph"] == "E":
                stacks[track] -= 1
                self.assertGreaterEqual(stacks[track], 0, event)
            elif event["ph"] in "be":
                key = (event["cat"], event["id"])
                self.assertEqual(key in flights, event["ph"] == "e", event)
                if event["ph"] == "b":
                    flights[key] = event
                else:
                    del flights[key]
            elif event["ph"] not in "isf":
                self.fail(f"unknown phase: {event}")
        self.assertEqual({track for track, depth in stacks.items() if depth}, set())
        self.assertEqual(flights, {})
        self.assertLessEqual(set(last), named)

    def names(self, file, phase="B"):
        return {event["name"] for event in file["traceEvents"] if event["ph"] == phase}

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

    # --- docs/ibcast-to-memcpy.md, docs/send-to-memcpy.md ------------------------------------

    def stages(self, page):
        """The column "In the trace" of the page: for each stage, its events (any of them)."""
        found = []
        path = os.path.join(options.source, "docs", page)
        with open(path, encoding="utf-8") as file:
            for line in file:
                if re.match(r"\| \d+ \|", line):
                    cell = line.rstrip().rstrip("|").split("|")[-1]
                    found.append([tuple(event.split(" ", 2)) for event in
                                  re.findall(r"`([BEbei] \w+ [^`]+)`", cell)])
        return [events for events in found if events]

    # --- docs/completion.md --------------------------------------------------------------------

    def test_the_picture_of_a_completion_names_files_and_functions_that_exist(self):
        with open(os.path.join(options.source, "docs", "completion.md"), encoding="utf-8") as file:
            text = file.read()
        picture = re.search(r"```\n(.*?)```", text, re.DOTALL)[1]
        named = re.findall(r"\b(\w+)\(\) +([\w/]+\.\w+)", picture)
        self.assertGreater(len(named), 15)
        # Each function of the picture has its file beside it, or is that of another line.
        self.assertEqual({name for name in re.findall(r"\b(\w+)\(\)", picture)},
                         {name for name, _ in named} | set(ELSEWHERE_IN_THE_PICTURE))
        for functions, path in re.findall(r"((?:`[\w:]+`(?:, )?)+) in `([\w/]+\.\w+)`", text):
            named += [(name, path) for name in re.findall(r"`(?:\w+::)*(\w+)`", functions)]
        for name, path in named:
            with open(os.path.join(options.source, path), encoding="utf-8") as file:
                # A definition or a call: not a word of a comment.
                code = re.sub(r"//.*", "", file.read())
            self.assertRegex(code, rf"\b{name}\b", f"{name} is not in {path}")
        for path in re.findall(r"\b(?:nbc|runtime)/[\w/]+\.\w+", text):
            self.assertTrue(os.path.exists(os.path.join(options.source, path)), path)

    @unittest.skipIf(os.cpu_count() < 2, "needs a core for communication")
    def test_the_guided_path_is_true(self):
        stages = self.stages("ibcast-to-memcpy.md")
        self.assertGreaterEqual(len(stages), 10)
        # On a busy machine a rank may be in MPI_Wait before the other core has begun, and
        # takes its copies back: one broadcast of many is to show the whole way.
        # The data are in the cache of the ranks' core, and would be left to it otherwise.
        self.run_job("bcast", 30, before=("--set", "progress.near_bytes=0"))
        best = []
        for rank in range(1, 4):
            passed = None
            for event in load(self.file)["traceEvents"]:
                if event["pid"] != RANKS or event["ph"] == "M" or about(event) != rank:
                    continue
                what = (event["ph"], event.get("cat"), event.get("name"))
                if what == ("B", "mpi", "MPI_Ibcast"):
                    passed = []
                if passed is not None and len(passed) < len(stages) and \
                        what in stages[len(passed)]:
                    passed.append(what)
                    best = max(best, passed, key=len)
        self.assertEqual(len(best), len(stages),
                         f"after {best} this did not come: {stages[len(best):][:1]}")

    def test_the_guided_path_of_a_message_is_true(self):
        stages = self.stages("send-to-memcpy.md")
        self.assertEqual(len(stages), 4)
        self.run_job("send", 5)
        passed, whole = None, 0
        events = [event for event in load(self.file)["traceEvents"]
                  if event["pid"] == RANKS and event["ph"] in "Bi"]
        for event in sorted(events, key=lambda event: event["ts"]):
            what = (event["ph"], event.get("cat"), event.get("name"))
            if what in stages[0]:
                passed = 0
            if passed is not None and what in stages[passed]:
                # The call and the send are the sender's, match and copy are about the receiver.
                self.assertEqual(about(event), 0 if passed < 2 else 1, event)
                passed += 1
            if passed == len(stages):
                passed, whole = None, whole + 1
        self.assertEqual(whole, 5)


def main():
    global options
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--source", required=True)
    options, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)


if __name__ == "__main__":
    main()
