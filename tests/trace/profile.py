#!/usr/bin/env python3
"""mpcrun --profile as a user meets it: the table, the file, several processes, what cannot be written.

usage: profile.py --build BUILD --source SOURCE [unittest arguments]
"""

import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

from support import Case as TraceCase
from support import load, options, parse_options, tool

PROGRAM = r"""
#include <mpi.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

static void compute(double seconds) {
  const double end = now() + seconds;
  while (now() < end) {
  }
}

/* late: rank 1 sends what rank 0 waits for.  barrier: rank 1 comes late.  counts: many small messages,
   by communicators in which ranks have other numbers.  sleep: 1.2 s, in all ways.  abort: ends in between. */
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  char data[100] = "";
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (!strcmp(argv[1], "late")) {
    if (rank == 1) compute(0.4), MPI_Send(data, 100, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    if (rank == 0) MPI_Recv(data, 100, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (!strcmp(argv[1], "barrier")) {
    if (rank == 1) compute(0.4);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (!strcmp(argv[1], "counts")) {
    MPI_Comm back, pair;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &back);  /* world rank r is number size-1-r */
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &pair);
    if (rank == 0)
      for (int i = 0; i < 100; ++i) MPI_Send(data, 10, MPI_BYTE, 0, 0, back);
    if (rank == size - 1)
      for (int i = 0; i < 100; ++i)
        MPI_Recv(data, 10, MPI_BYTE, i % 2 ? size - 1 : MPI_ANY_SOURCE, 0, back, MPI_STATUS_IGNORE);
    if (rank % 2 == 0) MPI_Send(data, 50, MPI_BYTE, 1, 0, pair);
    else MPI_Recv(data, 50, MPI_BYTE, 0, 0, pair, MPI_STATUS_IGNORE);
    MPI_Comm_free(&back);
    MPI_Comm_free(&pair);
  }
  if (!strcmp(argv[1], "sleep")) {
    const struct timespec some = {0, 200000000};
    struct timeval rest = {0, 200000};
    MPI_Barrier(MPI_COMM_WORLD);
    usleep(200000);
    nanosleep(&some, NULL);
    clock_nanosleep(CLOCK_MONOTONIC, 0, &some, NULL);
    thrd_sleep(&some, NULL);
    poll(NULL, 0, 200);
    select(0, NULL, NULL, NULL, &rest);
  }
  if (!strcmp(argv[1], "abort")) {
    compute(0.2);
    if (rank == 1) MPI_Abort(MPI_COMM_WORLD, 9);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
"""


def has_processes():
    return os.path.exists(os.path.join(options.build, "lib", "mpc", "mpclaunch"))


class Profile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = tempfile.TemporaryDirectory(prefix="profile-")
        source = os.path.join(cls.home.name, "program.c")
        cls.program = source[:-2]
        with open(source, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        subprocess.run([tool("mpcc"), "-O1", "-o", cls.program, source], check=True)

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="profile-case-")
        self.addCleanup(self.folder.cleanup)
        self.file = os.path.join(self.folder.name, "profile.json")

    def run_job(self, *args, status=0, ranks=4):
        done = subprocess.run([tool("mpcrun"), "-n", str(ranks), *map(str, args)], capture_output=True,
                              text=True, timeout=120, cwd=self.folder.name, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr

    def waits(self, profile):
        sums = collections.Counter()
        for rank, partner, call, waiting, _ in profile["calls"]:
            sums[rank, partner, call] += waiting * 1e-9
        return sums

    def messages(self, file):
        return {(to, source): (count, size) for to, source, count, size in file}

    def test_names_who_waited_for_whom(self):
        err = self.run_job("--profile-file", self.file, self.program, "late", ranks=2)
        waits = self.waits(load(self.file))
        self.assertGreater(waits[0, 1, "MPI_Recv"], 0.25, waits)
        self.assertRegex(err, r"rank 0 for rank 1 +\d+\.\d+ s  in MPI_Recv\n")
        self.assertRegex(err, r"mpcrun: profile of 2 ranks: \d+\.\d+ s, looked at \d+ times\n")
        self.assertRegex(err, r"rank 1 to rank 0 +100 B  in 1 message\n")
        for part in ("computing", "waiting in MPI", "calls that cost most", "median"):
            self.assertIn(part, err)

    def test_a_barrier_waits_for_the_late_rank(self):
        self.run_job("--profile-file", self.file, self.program, "barrier")
        waits = self.waits(load(self.file))
        for rank in (0, 2, 3):
            self.assertGreater(waits[rank, 1, "MPI_Barrier"], 0.2, waits)
        computing = {row[0]: row[1] * 1e-9 for row in load(self.file)["times_ns"]}
        self.assertGreater(computing[1], 0.2)

    def test_a_rank_that_sleeps_is_asleep(self):
        self.run_job("--profile-file", self.file, self.program, "sleep")
        for row in load(self.file)["times_ns"]:
            computing, _, _, ready, asleep = (ns * 1e-9 for ns in row[1:])
            self.assertGreater(asleep, 0.9, row)
            self.assertLess(computing + ready, 0.4, row)

    def test_counts_each_message_by_world_ranks(self):
        self.run_job("--profile-file", self.file, self.program, "counts")
        counted = self.messages(load(self.file)["messages"])
        self.assertEqual(counted[3, 0], (100, 1000))
        self.assertEqual(counted[1, 0], (1, 50))
        self.assertEqual(counted[3, 2], (1, 50))

    def test_a_trace_counts_them_too(self):
        trace = os.path.join(self.folder.name, "trace.json")
        self.run_job("--trace", trace, self.program, "counts")
        counted = self.messages(load(trace)["otherData"]["messages"])
        self.assertEqual(counted[3, 0], (100, 1000))
        matches = [event["args"] for event in load(trace)["traceEvents"]
                   if event.get("name") == "match" and event["args"].get("bytes") == 10]
        self.assertEqual({(args["rank"], args["source"]) for args in matches}, {(3, 0)})

    def test_alone_it_prints_and_writes_nothing(self):
        err = self.run_job("--profile", self.program, "counts")
        self.assertIn("mpcrun: profile of 4 ranks", err)
        self.assertEqual(os.listdir(self.folder.name), [])
        self.assertEqual(self.run_job(self.program, "counts"), "")

    def test_mpcinfo_shows_the_file_again(self):
        err = self.run_job("--profile-file", self.file, self.program, "late", ranks=2)
        done = subprocess.run([tool("mpcinfo"), "profile", self.file], capture_output=True, text=True,
                              check=True, timeout=60)
        self.assertEqual(done.stdout, err)
        page = os.path.join(self.folder.name, "page.html")
        subprocess.run([tool("mpcinfo"), "profile", self.file, "--html", page], check=True, timeout=60)
        with open(page, encoding="utf-8") as file:
            self.assertIn("MPI_Recv", file.read())

    def test_a_job_that_ends_early_has_one_too(self):
        err = self.run_job("--profile-file", self.file, self.program, "abort", status=9)
        self.assertIn("MPI_Abort", err)
        self.assertIn("mpcrun: profile of 4 ranks", err)
        self.assertEqual(load(self.file)["ranks"], 4)

    # --- several processes -----------------------------------------------------------------------

    def several(self):
        if not has_processes():
            self.skipTest("mpclaunch was not built: libpmix-dev is missing")
        return ("-p", 2)

    def test_several_processes_have_one_profile(self):
        err = self.run_job(*self.several(), "--profile-file", self.file, self.program, "counts")
        self.assertEqual(len(re.findall("mpcrun: profile of 4 ranks", err)), 1, err)
        file = load(self.file)
        self.assertEqual([row[0] for row in file["times_ns"]], [0, 1, 2, 3])
        self.assertEqual(self.messages(file["messages"])[3, 0], (100, 1000))

    def test_several_processes_have_one_trace(self):
        several, path = self.several(), os.path.join(self.folder.name, "trace.json")
        self.assertEqual(self.run_job(*several, "--trace", path, self.program, "counts"), "")
        self.assertEqual(os.listdir(self.folder.name), ["trace.json"])
        file = load(path)
        TraceCase.check(self, file)
        self.assertEqual(self.messages(file["otherData"]["messages"])[3, 0], (100, 1000))
        calls = {event["tid"] // 2 for event in file["traceEvents"]
                 if event["ph"] == "B" and event["name"] == "MPI_Init"}
        self.assertEqual(calls, {0, 1, 2, 3})
        arrows = collections.defaultdict(dict)
        for event in file["traceEvents"]:
            if event["ph"] in "sf":
                arrows[event["id"]][event["ph"]] = event["ts"]
        common = [both for number, both in arrows.items() if str(number).startswith("common")]
        self.assertGreaterEqual(len(common), 100)
        for both in common:
            self.assertLessEqual(both["s"], both["f"])
        subprocess.run([tool("mpcinfo"), "trace", path, "--html", path + ".html"], check=True, timeout=60)

    def test_several_processes_have_one_table_of_counters(self):
        err = self.run_job(*self.several(), "--counters", self.program, "counts")
        names = [line.split()[0] for line in err.splitlines()]
        self.assertEqual(len(names), len(set(names)), err)
        self.assertNotIn("process 0 of", err)

    # --- what is wrong ---------------------------------------------------------------------------

    def test_a_file_that_cannot_be_made_stops_the_job_before_it_starts(self):
        err = self.run_job("--profile-file", "/no/such/folder/p.json", self.program, "late", status=2, ranks=2)
        self.assertEqual(err, "mpcrun: --profile-file /no/such/folder/p.json: No such file or directory\n")

    def test_a_full_disk_is_said_and_in_the_status(self):
        err = self.run_job("--profile-file", "/dev/full", self.program, "counts", status=122)
        self.assertIn("--profile-file /dev/full: No space left on device", err)

    def test_bad_files_for_mpcinfo(self):
        for text in ("{", "{}", '{"profile":1}', '{"profile":1,"program":"p","ranks":1,"seconds":1,'
                     '"samples":1,"states":[1,2,3,4,5],"times_ns":[[9,1,1,1,1,1]],"calls":[],"messages":[]}'):
            with open(self.file, "w", encoding="utf-8") as file:
                file.write(text)
            done = subprocess.run([tool("mpcinfo"), "profile", self.file], capture_output=True, text=True,
                                  timeout=60, check=False)
            self.assertEqual(done.returncode, 2, text)
            self.assertIn("is no file of mpcrun --profile-file", done.stderr)

    def test_a_page_that_cannot_be_written(self):
        self.run_job("--profile-file", self.file, self.program, "counts")
        for path, says in (("/no/such/folder/x.html", "No such file"), ("/dev/full", "No space left")):
            done = subprocess.run([tool("mpcinfo"), "profile", self.file, "--html", path],
                                  capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn(says, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *parse_options()], verbosity=2)
