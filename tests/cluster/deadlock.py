#!/usr/bin/env python3
"""A deadlock over several processes is reported, once, as that of one process; nothing else is one."""

import os
import re
import signal
import subprocess
import sys
import time
import unittest

from common import END, INIT, ClusterCase, parse_options, processes_of, run, tool

WHERE = "MPI_COMM_WORLD, MPI_STATUS_IGNORE"
RECEIVES = (" MPI_Barrier(MPI_COMM_WORLD);"
            f" MPI_Recv(&size, 1, MPI_INT, (rank + 1) % size, 7, {WHERE}); ")
HEAD = "mpcrun: deadlock: every rank waits and nothing is in flight; the job is ended"


def without_times(report):
    return re.sub(r", since [0-9.]+ s", "", report)


def wait_until_stopped(pid):
    """A thread that runs on another core stops a little later."""
    for _ in range(1000):
        states = []
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/stat", encoding="utf-8") as file:
                states.append(file.read().rpartition(")")[2].split()[0])
        if set(states) == {"T"}:
            return
        time.sleep(0.01)
    raise AssertionError(f"process {pid} does not stop: {states}")


class Deadlock(ClusterCase):
    def is_reported(self, name, body, *lines, ranks=4, processes=2, options=()):
        program = self.build(name, INIT + body + END)
        status, out, err = run("-n", ranks, "-p", processes, *options, program, timeout=60)
        self.assertEqual((status, out), (125, ""), err)
        self.assertEqual(without_times(err).splitlines(), [HEAD, *lines])
        self.assertEqual(processes_of(program), {})

    def test_receives_are_one_table(self):
        for ranks, processes in ((4, 2), (4, 4)):
            self.is_reported(
                "in_a_ring", RECEIVES,
                *(f"  rank {rank}: waits in MPI_Recv: receive of 1 element from rank"
                  f" {(rank + 1) % ranks}, tag 7, MPI_COMM_WORLD" for rank in range(ranks)),
                ranks=ranks, processes=processes)

    def test_processes_that_meet_in_memory_that_they_share(self):
        before = " for (int i = 0; i < 9; ++i) MPI_Barrier(MPI_COMM_WORLD);"
        self.is_reported(
            "one_stays_away", before + f" if (rank == 2) MPI_Recv(&size, 1, MPI_INT, 0, 7, {WHERE});"
            " else MPI_Barrier(MPI_COMM_WORLD);",
            "  ranks 0-1,3: wait in MPI_Barrier on MPI_COMM_WORLD: 3 of 4 processes are there",
            "  rank 2: waits in MPI_Recv: receive of 1 element from rank 0, tag 7, MPI_COMM_WORLD",
            processes=4)

    def test_calls_that_differ_in_memory_that_processes_share(self):
        program = self.build(
            "differ", INIT + "double in[2] = {1, 2}, out[2];"
            " for (int i = 0; i < 9; ++i) MPI_Barrier(MPI_COMM_WORLD);"
            " MPI_Allreduce(in, out, rank == 2 ? 2 : 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);" + END)
        status, _, err = run("-n", 4, "-p", 4, program, timeout=60)
        self.assertNotEqual(status, 0)
        self.assertIn("rank 0 calls MPI_Allreduce of 8 bytes, MPI_SUM while rank 2 calls"
                      " MPI_Allreduce of 16 bytes, MPI_SUM", err)

    def test_ranks_of_several_processes_in_the_same_state_are_one_line(self):
        self.is_reported("for_one", f" MPI_Recv(&size, 1, MPI_INT, 0, 9, {WHERE}); ",
                         "  ranks 0-5: wait in MPI_Recv: receive of 1 element from rank 0, tag 9,"
                         " MPI_COMM_WORLD", ranks=6, processes=3)

    def test_sends_of_all_kinds_after_others_that_have_come(self):
        self.is_reported(
            "sends", " static char a[100000], b[100000]; int other = 1 - rank, n; MPI_Request r;"
            " for (n = 1; n <= 100000; n *= 10) {"
            " MPI_Issend(a, n, MPI_CHAR, other, 1, MPI_COMM_WORLD, &r);"
            f" MPI_Recv(b, n, MPI_CHAR, other, 1, {WHERE}); MPI_Wait(&r, MPI_STATUS_IGNORE); }}"
            " MPI_Isend(a, 100000, MPI_CHAR, other, 2, MPI_COMM_WORLD, &r); MPI_Cancel(&r);"
            " MPI_Wait(&r, MPI_STATUS_IGNORE);"
            " if (rank) MPI_Ssend(a, 1, MPI_CHAR, other, 3, MPI_COMM_WORLD);"
            " else MPI_Send(a, 100000, MPI_CHAR, other, 3, MPI_COMM_WORLD); ",
            "  rank 0: waits in MPI_Send: send of 100000 elements to rank 1, tag 3, MPI_COMM_WORLD",
            "  rank 1: waits in MPI_Ssend: send of 1 element to rank 0, tag 3, MPI_COMM_WORLD",
            ranks=2)

    def test_one_process_waits_while_the_others_have_ended(self):
        program = self.build("without_mpi", "if (getenv(\"WAITS\")) {" + INIT +
                             f" MPI_Recv(&size, 1, MPI_INT, 0, 9, {WHERE}); }} return 0;")
        status, _, err = run("-n", 2, "-p", 2, program, ":", "-n", 2, "-x", "WAITS=1", program,
                             timeout=60)
        self.assertEqual(status, 125, err)
        self.assertIn("  ranks 0-1: ended\n", err)
        self.assertIn("  ranks 2-3: wait in MPI_Init", err)

    def test_virtual_processes_are_seen_as_real_ones(self):
        program = self.build("in_a_ring", INIT + RECEIVES + END)
        status, _, err = run("-n", 4, "--set", "job.virtual_processes=2", "--set",
                             "net.loopback_seed=3", program, timeout=60)
        self.assertEqual(status, 125, err)
        self.assertEqual(len(err.splitlines()), 5)

    def test_who_sleeps_reads_or_computes_is_waited_for(self):
        program = self.build(
            "goes_on", INIT + " char c; int x = 0; if (rank == 0) switch (atoi(argv[1])) {"
            " case 0: usleep(1500000); break; case 1: while (read(0, &c, 1) > 0) {} break;"
            " case 2: { double end = MPI_Wtime() + 1.5; while (MPI_Wtime() < end) {} } break;"
            " case 3: system(\"sleep 1.5\"); }"
            " for (int i = 0; i < 3; ++i) MPI_Barrier(MPI_COMM_WORLD);"
            " if (rank == 0) MPI_Send(&x, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD);"
            f" if (rank == size - 1) MPI_Recv(&x, 1, MPI_INT, 0, 0, {WHERE});" + END)
        for what in range(4):
            with self.subTest(what=what):
                reader, writer = os.pipe()
                job = subprocess.Popen([tool("mpcrun"), "-n", "4", "-p", "2", program, str(what)],
                                       stdin=reader, stderr=subprocess.PIPE, text=True)
                os.close(reader)
                time.sleep(1.5)
                os.close(writer)
                _, err = job.communicate(timeout=60)
                self.assertEqual((job.returncode, err), (0, ""))

    def test_a_job_that_rests_burns_no_cpu(self):
        program = self.build("rests", INIT + " if (rank == 0) sleep(atoi(argv[1]));"
                             " MPI_Barrier(MPI_COMM_WORLD);" + END)
        used = []
        for seconds in (0, 5):
            before = os.times()
            self.assertEqual(run("-n", 4, "-p", 2, program, seconds, timeout=60)[0], 0)
            after = os.times()
            used.append(after.children_user + after.children_system - before.children_user -
                        before.children_system)
        self.assertLess(used[1] - used[0], 0.5, used)

    # ---- tables on demand ----

    def start(self, body, ranks=4, processes=2):
        program = self.build("waits_for_input", INIT + " MPI_Barrier(MPI_COMM_WORLD);"
                             " if (rank == 0) { puts(\"ready\"); fflush(stdout); }" + body + END)
        job = subprocess.Popen([tool("mpcrun"), "-n", str(ranks), "-p", str(processes), program],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
        self.assertEqual(job.stdout.readline(), "ready\n")
        time.sleep(0.5)
        return job, program

    def test_a_question_has_one_table_and_names_who_does_not_answer(self):
        job, program = self.start(" if (rank == 0) getchar(); MPI_Barrier(MPI_COMM_WORLD);")
        children = sorted(pid for pid in processes_of(program) if pid != job.pid)
        job.send_signal(signal.SIGQUIT)
        lines = [job.stderr.readline() for _ in range(4)]
        self.assertEqual(lines[0], "mpcrun: state of the job\n")
        self.assertEqual(lines[1], "  rank 0: running in its own code\n")
        where = "in MPI_Barrier on MPI_COMM_WORLD"
        self.assertIn(f"  ranks 1,3: wait {where} (in its process): 1 of 2 members", lines[2])
        self.assertIn(f"  rank 2: waits {where} (between processes)", lines[3])
        os.kill(children[1], signal.SIGSTOP)
        try:
            wait_until_stopped(children[1])
            job.send_signal(signal.SIGQUIT)
            self.assertEqual(job.stderr.readline(), "mpcrun: state of the job\n")
            self.assertIn("  rank 0:", job.stderr.readline())
            self.assertIn("  rank 1:", job.stderr.readline())
            self.assertEqual(job.stderr.readline(), "  process 1 (ranks 2-3) does not answer\n")
        finally:
            os.kill(children[1], signal.SIGCONT)
        job.stdin.write("\n")
        job.communicate(timeout=60)
        self.assertEqual(job.returncode, 0)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *parse_options()], verbosity=2)
