"""What the tests of mpcrun --trace share: a program, its jobs, and what holds for every file."""

import argparse
import collections
import json
import os
import subprocess
import tempfile
import unittest

options = argparse.Namespace()      # filled by parse_options()
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


def parse_options():
    """Fills `options`; returns what is left for unittest."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--source", required=True)
    return parser.parse_known_args(namespace=options)[1]
