#!/usr/bin/env python3
"""mpcinfo collectives says what a job does: each line is compared with the trace of a job that makes that call.
mpcinfo tune: its file is found, used, and left alone where it is damaged or of another machine.

    collectives.py --build FOLDER --source FOLDER [unittest options]
"""
import argparse
import collections
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

# Makes the calls that it is told, each on a communicator of its own, so that no schedule is known before.
PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int n;
static char *in, *out;
static int *counts, *displs;
static MPI_Datatype* types;

#define BOTH(name, blocking, start)                                  \
  if (!strcmp(what, name)) {                                         \
    if (is_blocking) { blocking; } else { start; wait_for(request); } \
    return;                                                          \
  }

static void wait_for(MPI_Request request) { MPI_Wait(&request, MPI_STATUS_IGNORE); }

static void call(const char* what, int b, int is_blocking, MPI_Comm c) {
  MPI_Request request;
  const MPI_Datatype t = MPI_BYTE;
  for (int i = 0; i < n; ++i) counts[i] = b, displs[i] = i * b, types[i] = t;
  BOTH("barrier", MPI_Barrier(c), MPI_Ibarrier(c, &request))
  BOTH("bcast", MPI_Bcast(in, b, t, 0, c), MPI_Ibcast(in, b, t, 0, c, &request))
  BOTH("reduce", MPI_Reduce(in, out, b, t, MPI_BOR, 0, c), MPI_Ireduce(in, out, b, t, MPI_BOR, 0, c, &request))
  BOTH("allreduce", MPI_Allreduce(in, out, b, t, MPI_BOR, c), MPI_Iallreduce(in, out, b, t, MPI_BOR, c, &request))
  BOTH("scan", MPI_Scan(in, out, b, t, MPI_BOR, c), MPI_Iscan(in, out, b, t, MPI_BOR, c, &request))
  BOTH("exscan", MPI_Exscan(in, out, b, t, MPI_BOR, c), MPI_Iexscan(in, out, b, t, MPI_BOR, c, &request))
  BOTH("gather", MPI_Gather(in, b, t, out, b, t, 0, c), MPI_Igather(in, b, t, out, b, t, 0, c, &request))
  BOTH("scatter", MPI_Scatter(in, b, t, out, b, t, 0, c), MPI_Iscatter(in, b, t, out, b, t, 0, c, &request))
  BOTH("gatherv", MPI_Gatherv(in, b, t, out, counts, displs, t, 0, c),
       MPI_Igatherv(in, b, t, out, counts, displs, t, 0, c, &request))
  BOTH("scatterv", MPI_Scatterv(in, counts, displs, t, out, b, t, 0, c),
       MPI_Iscatterv(in, counts, displs, t, out, b, t, 0, c, &request))
  BOTH("allgather", MPI_Allgather(in, b, t, out, b, t, c), MPI_Iallgather(in, b, t, out, b, t, c, &request))
  BOTH("allgatherv", MPI_Allgatherv(in, b, t, out, counts, displs, t, c),
       MPI_Iallgatherv(in, b, t, out, counts, displs, t, c, &request))
  BOTH("alltoall", MPI_Alltoall(in, b, t, out, b, t, c), MPI_Ialltoall(in, b, t, out, b, t, c, &request))
  BOTH("alltoallv", MPI_Alltoallv(in, counts, displs, t, out, counts, displs, t, c),
       MPI_Ialltoallv(in, counts, displs, t, out, counts, displs, t, c, &request))
  BOTH("alltoallw", MPI_Alltoallw(in, counts, displs, types, out, counts, displs, types, c),
       MPI_Ialltoallw(in, counts, displs, types, out, counts, displs, types, c, &request))
  BOTH("reduce_scatter", MPI_Reduce_scatter(in, out, counts, t, MPI_BOR, c),
       MPI_Ireduce_scatter(in, out, counts, t, MPI_BOR, c, &request))
  BOTH("reduce_scatter_block", MPI_Reduce_scatter_block(in, out, b, t, MPI_BOR, c),
       MPI_Ireduce_scatter_block(in, out, b, t, MPI_BOR, c, &request))
  fprintf(stderr, "no call %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  const int most = atoi(argv[1]);
  in = calloc((size_t)n, (size_t)most);
  out = calloc((size_t)n, (size_t)most);
  counts = calloc((size_t)n, sizeof *counts);
  displs = calloc((size_t)n, sizeof *displs);
  types = calloc((size_t)n, sizeof *types);
  for (int i = 2; i + 2 < argc; i += 3) {
    MPI_Comm own;
    MPI_Comm_dup(MPI_COMM_WORLD, &own);
    call(argv[i], atoi(argv[i + 1]), !strcmp(argv[i + 2], "blocking"), own);
    MPI_Comm_free(&own);
  }
  MPI_Finalize();
  return 0;
}
"""


def tool(name):
    return os.path.join(options.build, "bin", name)


def run(*command, **variables):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, timeout=200,
                          env={**os.environ, **variables})
    return done.returncode, done.stdout, done.stderr


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        source = os.path.join(cls.folder.name, "calls.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        cls.program = os.path.join(cls.folder.name, "calls")
        status, _, err = run(tool("mpcc"), "-O1", source, "-o", cls.program)
        assert status == 0, err

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)


def what_was_done(events):
    """(way, algorithm) of each call of a collective, by its number, from all ranks' tracks."""
    done = collections.defaultdict(set)
    number, names = collections.Counter(), {}
    inside = {}
    skipped = ("MPI_Init", "MPI_Finalize", "MPI_Comm_size", "MPI_Comm_dup", "MPI_Comm_free", "MPI_Wait")
    for event in events:
        if event.get("pid") != 2 or event.get("tid", 0) % 2:
            continue
        tid, phase = event["tid"], event["ph"]
        if phase == "B" and event.get("cat") == "mpi":
            if event["name"] not in skipped:
                inside[tid] = number[tid]
                names[number[tid]] = event["name"]
                number[tid] += 1
        if tid in inside and event.get("cat") == "direct" and phase == "B":
            one_way = event["args"].get("one_way")
            done[inside[tid]].add(("one way" if one_way else "meeting", ""))
        if tid in inside and event.get("cat") == "algorithms" and not event["name"].endswith(" schedule"):
            done[inside[tid]].add(("messages", event["name"]))
    return done, names


class Choices(Case):
    SIZES = (8, 512, 4096, 32768)

    def lines(self, ranks, *arguments, **variables):
        status, out, err = run(tool("mpcinfo"), "collectives", "-n", ranks, "--csv", "--bytes",
                               ",".join(map(str, self.SIZES)), *arguments, **variables)
        self.assertEqual((status, err), (0, ""))
        # Neighbourhoods do not show in a trace how they go.
        return [line for line in csv.DictReader(io.StringIO(out)) if not line["collective"].startswith("neighbor")]

    def compare(self, ranks, *settings, comm_cores=None):
        variables = {"MPC_" + name.replace(".", "_").upper(): value
                     for name, value in (setting.split("=", 1) for setting in settings)}
        cores = [] if comm_cores is None else ["--comm-cores", comm_cores]
        lines = self.lines(ranks, *cores, **variables)
        words = [word for line in lines for word in (line["collective"], line["bytes"], line["call"])]
        trace = self.path("trace.json")
        status, _, err = run(tool("mpcrun"), "-n", ranks, *cores, "--trace", trace, "--timeout", 100,
                             "--set", "trace.events=4M", self.program, max(self.SIZES), *words, **variables)
        self.assertEqual(status, 0, err)
        with open(trace, encoding="utf-8") as file:
            done, names = what_was_done(json.load(file)["traceEvents"])
        self.assertEqual(len(names), len(lines))
        wrong = []
        for number, line in enumerate(lines):
            expected = {(line["way"], line["algorithm"])}
            if done[number] != expected:
                wrong.append(f"{names[number]} {line['bytes']} {line['call']}: said {expected}, done {done[number]}")
        self.assertEqual(wrong, [])
        return lines

    def test_two_ranks_do_what_is_said(self):
        ways = {line["way"] for line in self.compare(2)}
        self.assertEqual(ways, {"one way", "meeting", "messages"})

    def test_many_ranks_on_few_cores_do_what_is_said(self):
        self.compare(16)
        self.compare(80)
        lines = self.lines(150)     # too many for a scan, in which each reads from all before it
        ways = {(line["collective"], line["call"]): line["way"] for line in lines if line["bytes"] == "8"}
        self.assertEqual(ways["scan", "blocking"], "messages")
        self.assertEqual(ways["bcast", "blocking"], "one way")
        self.assertEqual(ways["bcast", "nonblocking"], "one way")
        self.assertEqual(ways["allreduce", "nonblocking"], "meeting")
        lines = self.lines(200, "--machine", "knl64")     # too many, with too many cores, for one of them to act
        ways = {(line["collective"], line["call"]): line["way"] for line in lines if line["bytes"] == "8"}
        for coll in ("bcast", "reduce", "gather"):
            self.assertEqual((ways[coll, "blocking"], ways[coll, "nonblocking"]), ("messages", "messages"))
        self.assertEqual(ways["allreduce", "nonblocking"], "messages")

    def test_what_is_forced_is_said_and_done(self):
        lines = self.compare(4, "nbc.direct=0")
        self.assertEqual({line["way"] for line in lines}, {"messages"})
        lines = self.compare(4, "nbc.direct=0", "nbc.algorithm=bcast:chain,allreduce:ring")
        named = {(line["algorithm"], line["by"]) for line in lines if line["call"] == "nonblocking" and
                 line["collective"] in ("bcast", "allreduce")}
        self.assertEqual(named, {("chain", "nbc.algorithm"), ("ring", "nbc.algorithm")})

    def test_forced_limits_are_said_and_done(self):
        lines = self.compare(8, "nbc.limits=bcast_segmented:8k,allreduce_halving_folded:1k")
        found = {(line["collective"], int(line["bytes"])): line["algorithm"] for line in lines
                 if line["call"] == "nonblocking"}
        self.assertNotEqual(found["bcast", 32768], found["bcast", 4096])

    def test_with_a_core_for_communication_they_do_what_is_said(self):
        if (os.cpu_count() or 1) < 2:
            self.skipTest("one core")
        self.compare(2, comm_cores=1)


class Table(Case):
    def refused(self, *arguments, says, **variables):
        status, out, err = run(tool("mpcinfo"), *arguments, **variables)
        self.assertEqual((status, out), (2, ""), err)
        for word in says:
            self.assertIn(word, err)

    def test_shows_ways_limits_and_settings(self):
        status, out, err = run(tool("mpcinfo"), "collectives", "allreduce", "-n", 16)
        self.assertEqual((status, err), (0, ""))
        for word in ("16 ranks on", "meeting, each worker reduces all", "limit direct_reduce = 2 KiB (built in)",
                     "forced by nbc.direct=0, nbc.algorithm=allreduce:NAME"):
            self.assertIn(word, out)
        self.assertNotIn("bcast", out)

    def test_another_machine_has_its_cores(self):
        status, out, err = run(tool("mpcinfo"), "collectives", "bcast", "--machine", "knl64", "-n", 60,
                               "--comm-cores", 4, "--bytes", "2M")
        self.assertEqual((status, err), (0, ""))
        self.assertIn("60 ranks on 60 cores", out)
        self.assertIn("a meeting of 60 cores: 2 stages", out)
        self.assertIn("(model)", out)

    def test_many_cores_meet_in_stages(self):
        status, out, err = run(tool("mpcinfo"), "collectives", "allreduce", "--machine", "knl64", "--bytes", "8")
        self.assertEqual((status, err), (0, ""))
        self.assertIn("meeting, workers reduce in stages", out)
        status, out, err = run(tool("mpcinfo"), "collectives", "barrier", "--machine", "knl64",
                               MPC_NBC_MEETING_GROUP="64")
        self.assertEqual((status, err), (0, ""))
        self.assertIn("a meeting of 64 cores: all look at all", out)
        self.assertIn("meeting, no data\n", "\n".join(line[:64].rstrip() for line in out.splitlines()) + "\n")

    def test_wrong_words_are_refused(self):
        self.refused("collectives", "allredce", says=["there is no collective 'allredce'", "allreduce"])
        self.refused("collectives", "--bytes", "many", says=["'many'"])
        self.refused("collectives", "--machine", "no-such", says=["no-such"])
        self.refused("collectives", "-n", 0, says=["collectives"])
        self.refused("collectives", says=["direct_reduce:x"], MPC_NBC_LIMITS="direct_reduce:x")


class Tune(Case):
    """With one limit's measurements from a file, as measuring all takes most of a minute."""

    def tuned(self, **changes):
        path = self.path("tuned.json")
        status, _, err = run(tool("mpcinfo"), "tune", "--seconds", 0, "--output", path)
        self.assertEqual(status, 0, err)
        with open(path, encoding="utf-8") as file:
            tuned = json.load(file)
        tuned["limits"] = [{"name": "direct_reduce", "bytes": 64,
                            "times": [{"bytes": 512, "below_us": 2.0, "above_us": 1.0}]}]
        tuned.update(changes)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(tuned, file)
        return path, tuned

    def table(self, path):
        return run(tool("mpcinfo"), "collectives", "allreduce", "-n", 2, "--bytes", 512, MPC_NBC_TUNED_FILE=path)

    def test_what_was_measured_is_used_and_shown(self):
        path, tuned = self.tuned()
        status, out, err = self.table(path)
        self.assertEqual((status, err), (0, ""))
        self.assertIn(f"limits: measured {tuned['made']}, {path}", out)
        self.assertIn("limit direct_reduce = 64 B (measured)", out)
        self.assertIn("workers reduce shares", out)
        _, out, _ = self.table("none")
        self.assertIn("limit direct_reduce = 2 KiB (built in)", out)

    def test_measures_by_jobs_of_its_own(self):
        path = self.path("measured.json")
        status, out, err = run(tool("mpcinfo"), "tune", "--seconds", 2, "--output", path)
        self.assertEqual(status, 0, err)
        with open(path, encoding="utf-8") as file:
            limits = json.load(file)["limits"]
        self.assertGreaterEqual(len(limits), 1)
        for limit in limits:
            self.assertIn(limit["name"], out)
            self.assertGreaterEqual(len(limit["times"]), 1)
            for times in limit["times"]:
                self.assertGreater(min(times["below_us"], times["above_us"]), 0)

    def test_is_found_where_it_is_written(self):
        cache = self.path("cache")
        status, _, err = run(tool("mpcinfo"), "tune", "--seconds", 0, XDG_CACHE_HOME=cache)
        self.assertEqual(status, 0, err)
        path = re.search(r"wrote (\S+)", err).group(1)
        self.assertTrue(path.startswith(cache + "/mpc/tuned-"), path)
        status, out, err = run(tool("mpcinfo"), "collectives", "barrier", XDG_CACHE_HOME=cache)
        self.assertEqual((status, err), (0, ""))
        self.assertIn(path, out)

    def ignored(self, path, says):
        status, out, err = self.table(path)
        self.assertEqual(status, 0, err)
        self.assertIn(says, err)
        self.assertIn(path, err)
        self.assertIn("limit direct_reduce = 2 KiB (built in)", out)
        status, out, err = run(tool("mpcrun"), "-n", 2, self.program, 8, "allreduce", 8, "blocking",
                               MPC_NBC_TUNED_FILE=path)
        self.assertEqual(status, 0, err)
        self.assertEqual(err.count(path), 1, err)

    def test_a_damaged_file_is_ignored_and_named(self):
        path, _ = self.tuned()
        with open(path, "w", encoding="utf-8") as file:
            file.write('{"version": 1, "machine"')
        self.ignored(path, "not a JSON object")
        self.ignored(self.path("no-such-file"), "cannot be read")

    def test_one_of_another_machine_is_ignored_and_named(self):
        _, tuned = self.tuned()
        path, _ = self.tuned(machine={**tuned["machine"], "cpu": "Another processor"})
        self.ignored(path, "measured on another machine (Another processor")
        path, _ = self.tuned(machine={**tuned["machine"], "cores": 1000})
        self.ignored(path, "1000 cores")

    def test_a_place_that_is_not_there_is_refused(self):
        status, out, err = run(tool("mpcinfo"), "tune", "--seconds", 0, "--output", "/proc/no/such")
        self.assertEqual((status, out), (2, ""), err)
        self.assertIn("no folder", err)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *rest])
