#!/usr/bin/env python3
"""Several jobs at a time: they choose cores that no other one holds.

usage: jobs.py --build BUILD [unittest arguments]

Runs in a network namespace of its own where it may make one: leases of cores hold within one, so other
jobs of this machine do not matter then. Where it may not, it waits until there are none, or leaves out what
they would disturb.
"""

import argparse
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

options = None

WAITER = """#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) { printf("ready\\n"); fflush(stdout); getchar(); }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
"""


def tool(name):
    return os.path.join(options.build, "bin", name)


class Job:
    """A job whose ranks wait until it is told to go on."""

    def __init__(self, program, *args):
        self.process = subprocess.Popen([tool("mpcrun"), *map(str, args), program],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def wait_until_it_runs(self):
        line = self.process.stdout.readline()
        assert line == "ready\n", line

    def bound_to(self):
        """CPUs to which threads of the job are bound alone: its workers."""
        cpus = set()
        for path in glob.glob(f"/proc/{self.process.pid}/task/*/status"):
            with open(path, encoding="ascii") as file:
                allowed = re.search(r"^Cpus_allowed_list:\s*(\S+)", file.read(), re.M).group(1)
            if allowed.isdigit():
                cpus.add(int(allowed))
        return cpus

    def end(self):
        self.process.communicate("\n", timeout=60)
        return self.process.returncode

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate(timeout=60)


def wait_until_alone(limit_s=30):
    """False: other jobs of this machine hold cores all the time."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        with open("/proc/net/unix", encoding="ascii", errors="replace") as file:
            if "@mpc/core/" not in file.read():
                return True
        time.sleep(0.1)
    return False


def show(*args):
    """What --show says: the PUs of workers with ranks, and the line on binding."""
    text = subprocess.run([tool("mpcrun"), "--show", *map(str, args)], capture_output=True, text=True,
                          timeout=60, check=True).stdout
    pus = {int(pu) for pu in re.findall(r"\(PU (\d+)\): ranks", text)}
    return pus, re.search(r"^binding: (.*)$", text, re.M).group(1)


class SeveralJobs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="mpcrun-jobs-")
        source = os.path.join(cls.folder.name, "waiter.c")
        with open(source, "w", encoding="ascii") as file:
            file.write(WAITER)
        cls.program = os.path.join(cls.folder.name, "waiter")
        subprocess.run([tool("mpcc"), source, "-o", cls.program], check=True)
        cls.cores = len(os.sched_getaffinity(0))

    def setUp(self):
        self.jobs = []
        if self.cores < 2:
            self.skipTest("needs two cores")
        if not wait_until_alone():
            self.skipTest("other jobs of this machine hold cores")

    def tearDown(self):
        for job in self.jobs:
            if job.process.poll() is None:
                job.kill()

    def start(self, *args):
        self.jobs.append(Job(self.program, *args))
        self.jobs[-1].wait_until_it_runs()
        return self.jobs[-1]

    def test_a_job_that_is_alone_gets_the_first_core(self):
        pus, binding = show("-n", 1, self.program)
        self.assertEqual(pus, {min(os.sched_getaffinity(0))})
        self.assertEqual(binding, "core")

    def test_two_jobs_are_bound_to_different_cores(self):
        # No cores for communication: these may be shared, and would be found among bound_to().
        one = self.start("-n", 1, "--comm-cores", 0)
        two = self.start("-n", 1, "--comm-cores", 0)
        self.assertEqual(len(one.bound_to()), 1)
        self.assertEqual(len(two.bound_to()), 1)
        self.assertNotEqual(one.bound_to(), two.bound_to())
        self.assertEqual((one.end(), two.end()), (0, 0))

    def test_jobs_that_start_at_once_are_bound_to_different_cores(self):
        for _ in range(5):
            one, two = (Job(self.program, "-n", 1, "--comm-cores", 0) for _ in range(2))
            self.jobs += [one, two]
            one.wait_until_it_runs()
            two.wait_until_it_runs()
            self.assertEqual(len(one.bound_to() | two.bound_to()), 2)
            self.assertEqual((one.end(), two.end()), (0, 0))

    def test_show_names_cores_of_other_jobs(self):
        first = self.start("-n", 1, "--comm-cores", 0)
        pus, binding = show("-n", 1, self.program)
        self.assertTrue(pus.isdisjoint(first.bound_to()), binding)
        self.assertRegex(binding, r"^core; other jobs hold core \d+$")
        first.end()
        self.assertEqual(show("-n", 1, self.program)[1], "core")

    def test_a_job_is_not_bound_where_others_hold_all_cores(self):
        first = self.start("-n", self.cores)
        self.assertEqual(len(first.bound_to()), self.cores)
        second = self.start("-n", 1)
        self.assertEqual(second.bound_to(), set())
        self.assertRegex(show("-n", 1, self.program)[1],
                         r"^none; other jobs hold cores .*, which leaves too few: not bound$")
        self.assertEqual((first.end(), second.end()), (0, 0))

    def test_a_job_with_a_rank_for_each_core_shares_them(self):
        first = self.start("-n", 1, "--comm-cores", 0)
        second = self.start("-n", self.cores + 1)
        self.assertEqual(len(second.bound_to()), self.cores)
        self.assertRegex(show("-n", self.cores, self.program)[1],
                         r"^core; other jobs hold cores .*: shared$")
        self.assertEqual((first.end(), second.end()), (0, 0))

    def test_a_killed_job_holds_nothing(self):
        self.start("-n", self.cores).kill()
        pus, binding = show("-n", 1, self.program)
        self.assertEqual((pus, binding), ({min(os.sched_getaffinity(0))}, "core"))

    def test_what_the_user_asks_for_is_honoured(self):
        first = self.start("-n", self.cores)
        listed = self.start("-n", 1, "--cores", "0,1", "--comm-cores", 1)
        self.assertEqual(listed.bound_to(), set(sorted(os.sched_getaffinity(0))[:2]))
        bound = self.start("-n", 2, "--bind", "core")
        self.assertEqual(len(bound.bound_to()), 2)
        self.assertEqual(self.start("-n", 2, "--bind", "none").bound_to(), set())
        self.assertEqual([job.end() for job in self.jobs], [0] * 4)

    def test_few_descriptors_do_not_stop_a_job(self):
        done = subprocess.run(["sh", "-c", 'ulimit -n 12; exec "$@"', "sh", tool("mpcrun"), "-n", "1",
                               self.program], input="\n", capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "ready\n", ""))


def enter_namespace():
    """Starts anew in a network namespace of its own, if that is allowed."""
    mark = "MPC_TEST_IN_NAMESPACE"
    unshare = shutil.which("unshare")
    if os.environ.pop(mark, None) or unshare is None:
        return
    for flags in ("-n", "-rn"):
        if subprocess.run([unshare, flags, "true"], capture_output=True, check=False).returncode == 0:
            os.execvpe(unshare, [unshare, flags, sys.executable, *sys.argv], {**os.environ, mark: "1"})


def main():
    global options
    enter_namespace()
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    options, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)


if __name__ == "__main__":
    main()
