#!/usr/bin/env python3
"""Jobs whose processes srun starts, on two nodes of a Slurm of the test's own."""

import os
import signal
import subprocess
import sys
import time
import unittest

import slurm
from common import END, INIT, ClusterCase, example, parse_options, tool
from guests import READY, STUCK, Guests


class UnderSlurm(Guests, ClusterCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.slurm = cls.enterClassContext(slurm.Slurm())
        cls.environment = cls.slurm.environment

    def tearDown(self):
        # A job that a failed case has left would keep the nodes from all others.
        subprocess.run(["scancel", "--user=root"], env=self.environment, capture_output=True, timeout=30)
        super().tearDown()

    def launcher(self, processes, how=("--mpi=pmix",), nodes=2):
        nodes = 1 if processes < 2 else nodes
        return ("srun", "--quiet", *how, "-N", nodes, "-n", processes, "--distribution=block")

    def one_host(self, processes):
        return self.launcher(processes, nodes=1)  # two would not know that they are one machine

    def where(self, *words):
        """On which node each rank is, and how many processes there are."""
        program = self.build("where", INIT + "printf(\"%d %s %d\\n\", rank, getenv(\"SLURMD_NODENAME\") ?"
                             " getenv(\"SLURMD_NODENAME\") : \"here\", getpid());" + END)
        done = subprocess.run([*map(str, words), program], env=self.environment, text=True,
                              capture_output=True, timeout=60)
        self.assertEqual((done.returncode, self.ours(done.stderr)), (0, []), done.stderr)
        lines = sorted((line.split() for line in done.stdout.splitlines()), key=lambda line: int(line[0]))
        return " ".join(line[1] for line in lines), len(set(line[2] for line in lines))

    def test_block_layout_over_nodes(self):
        self.assertEqual(self.where("srun", "--mpi=pmix", "-N2", "--ntasks-per-node=2", tool("mpcrun"), "-n", 8),
                         ("n1 n1 n1 n1 n2 n2 n2 n2", 4))

    def test_in_an_allocation_it_uses_all_nodes(self):
        salloc = ("salloc", "-Q", "-N2", tool("mpcrun"))
        self.assertEqual(self.where(*salloc, "-n", 5), ("n1 n1 n2 n2 n2", 2))
        self.assertEqual(self.where(*salloc, "-n", 4, "-p", 4), ("n1 n1 n2 n2", 4))
        self.assertEqual(self.where(*salloc, "-n", 1), ("here", 1))
        self.assertEqual(self.where("salloc", "-Q", "-N1", tool("mpcrun"), "-n", 2), ("here here", 1))
        done = subprocess.run([*salloc, "-n", "4", "/nowhere/at/all"], env=self.environment, text=True,
                              capture_output=True, timeout=60)
        self.assertEqual((done.returncode, len(self.ours(done.stderr))), (127, 1), done.stderr)

    def test_without_pmix_it_is_refused_once(self):
        hello = example("hello")
        for how in ("--mpi=none", "--mpi=pmi2"):
            for words in ((tool("mpcrun"), "-n", "4", hello), (tool("mpcrun"), "-n", "4", "-p", "2", hello),
                          (hello,)):
                with self.subTest(how=how, words=words):
                    done = subprocess.run([*map(str, self.launcher(3, (how,))), *words], timeout=60,
                                          env=self.environment, text=True, capture_output=True)
                    self.assertEqual((done.returncode, done.stdout), (3, ""), done.stderr)
                    self.assertEqual(len(self.ours(done.stderr)), 1, done.stderr)
                    self.assertIn("3 times", done.stderr)
                    self.assertIn("srun --mpi=pmix -n 3", done.stderr)

    def test_one_task_is_a_job_of_its_own(self):
        for how in ("--mpi=pmix", "--mpi=none"):
            for words in (("-n", 4), ("-n", 4, "-p", 2)):
                done = subprocess.run([*map(str, self.launcher(1, (how,))), tool("mpcrun"), *map(str, words),
                                       example("hello")], timeout=60, env=self.environment, text=True,
                                      capture_output=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(len(done.stdout.splitlines()), 4, done.stdout)

    def test_the_table_of_all_ranks(self):
        job, program, _ = self.start("waits", STUCK)
        step = subprocess.run(["squeue", "--steps", "--noheader", "--format=%i"], env=self.environment,
                              text=True, capture_output=True, check=True).stdout.split()[0]
        subprocess.run(["scancel", "--signal=QUIT", step], env=self.environment, check=True)
        self.assertEqual(job.stderr.readline(), "mpcrun: state of the job\n")
        for rank in range(4):
            self.assertIn(f"rank {rank}: waits in MPI_Recv", job.stderr.readline())
        job.terminate()
        _, _, err = self.finish(job, program)
        self.assertNotIn("state of the job", err)

    def test_kill_on_bad_exit_and_the_opposite(self):
        for how in ("-K1", "-K0"):
            program = self.build("ready_last_words", INIT + READY + "if (rank == 3) exit(5); usleep(20000);"
                                 " if (rank == 0) { puts(\"last words\"); exit(5); }" + STUCK + END)
            done = subprocess.run([*map(str, self.launcher(2, ("--mpi=pmix", how))), tool("mpcrun"), "-n", "4",
                                   program], timeout=60, env=self.environment, text=True, capture_output=True)
            self.assertEqual(done.returncode, 5, done.stderr)
            self.assertIn("last words\n", done.stdout)
            self.assertEqual(len(self.ours(done.stderr)), 1, done.stderr)

    def test_an_interrupt_has_one_line(self):
        job, program, _ = self.start("waits", STUCK)
        until = time.monotonic() + 15
        while job.poll() is None and time.monotonic() < until:
            job.send_signal(signal.SIGINT)  # srun wants two within a second, and sees two at once as one
            time.sleep(0.3)
        status, _, err = self.finish(job, program)
        self.assertNotEqual(status, 0)
        self.assertLessEqual(len(self.ours(err)), 1, err)


if __name__ == "__main__":
    REASON = slurm.reason_against()
    rest = parse_options()
    if REASON:
        print(f"skipped: Slurm: {REASON}")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
