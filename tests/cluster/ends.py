#!/usr/bin/env python3
"""How a job of several processes ends: one report, one status, nothing left behind, within a second."""

import os
import pty
import select
import signal
import subprocess
import sys
import time
import unittest

from common import END, INIT, STUCK, ClusterCase, parse_options, processes_of, run, tool

READY = " MPI_Barrier(MPI_COMM_WORLD); if (rank == 0) { puts(\"ready\"); fflush(stdout); } "
# Detection, grace and the machine's noise.
SOON_S = 3.0


class Ends(ClusterCase):
    def ends(self, body, status, *says, ranks=4, processes=2, options=(), name):
        program = self.build(name, INIT + body + END)
        begin = time.monotonic()
        got, out, err = run("-n", ranks, "-p", processes, *options, program)
        self.assertEqual(got, status, err)
        self.assertLess(time.monotonic() - begin, SOON_S + 5)
        for text in says:
            self.assertIn(text, err)
        self.assertEqual(processes_of(program), {})
        return out, err

    def start(self, name, body, *options, ranks=4, processes=2):
        """The job, when all its ranks are there."""
        program = self.build(name, INIT + READY + body + END)
        job = subprocess.Popen([tool("mpcrun"), "-n", str(ranks), "-p", str(processes), *options,
                                program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(job.stdout.readline(), "ready\n")
        return job, program

    def finish(self, job, program, within=SOON_S):
        begin = time.monotonic()
        out, err = job.communicate(timeout=30)
        self.assertLess(time.monotonic() - begin, within)
        self.gone(program)
        return job.returncode, out, err

    def gone(self, program):
        for _ in range(40):
            left = processes_of(program)
            if not left:
                return
            time.sleep(0.05)
        self.fail(f"left behind: {left}")

    def test_abort(self):
        _, err = self.ends(f"if (rank == 3) MPI_Abort(MPI_COMM_WORLD, 7); {STUCK}", 7,
                           "rank 3: MPI_Abort(MPI_COMM_WORLD, 7)", name="aborts")
        self.assertEqual(len(err.splitlines()), 1)

    def test_all_abort_and_one_is_reported(self):
        _, err = self.ends("MPI_Abort(MPI_COMM_WORLD, 7);", 7, "MPI_Abort", name="all_abort")
        self.assertEqual(len(err.splitlines()), 1)

    def test_others_may_say_last_words(self):
        out, _ = self.ends("if (rank == 3) exit(5); usleep(20000);"
                           " if (rank == 0) { puts(\"last words\"); exit(5); }" + STUCK, 5,
                           "rank 3 of 4", "status 5", name="last_words")
        self.assertEqual(out, "last words\n")

    def test_a_status_after_finalize_is_the_jobs(self):
        _, err = self.ends("MPI_Finalize(); return rank == 2 ? 9 : 0;", 9,
                           "rank 2 of 4", "status 9", name="late_status")
        self.assertEqual(len(err.splitlines()), 1)

    def test_without_finalize(self):
        self.ends("if (rank == 2) return 0;" + STUCK, 1, "rank 2", "MPI_Finalize", name="no_end")

    def test_a_crash_has_its_report(self):
        _, err = self.ends("if (rank == 2) *(volatile int *)8 = 1;" + STUCK,
                           128 + signal.SIGSEGV, "rank 2 of 4", "signal 11", name="crashes")
        self.assertEqual(err.count("mpcrun:"), 1, err)

    def test_the_end_of_a_process_is_reported(self):
        job, program = self.start("is_killed", STUCK)
        children = [pid for pid, line in processes_of(program).items() if pid != job.pid]
        self.assertEqual(len(children), 2)
        os.kill(max(children), signal.SIGKILL)
        status, _, err = self.finish(job, program)
        self.assertEqual(status, 128 + signal.SIGKILL)
        self.assertRegex(err, r"^mpcrun: process 1 \(ranks 2-3\) died of signal 9 \(Killed\); "
                              r"the job is ended\n$")

    def test_nothing_stays_when_mpcrun_is_killed(self):
        job, program = self.start("orphans", STUCK)
        job.kill()
        job.wait()
        self.gone(program)
        job.stdout.close()
        job.stderr.close()

    def test_signals_end_all_with_one_line(self):
        for which, name in ((signal.SIGTERM, "Terminated"), (signal.SIGINT, "Interrupt"),
                            (signal.SIGHUP, "Hangup")):
            job, program = self.start("waits", STUCK)
            job.send_signal(which)
            status, _, err = self.finish(job, program)
            self.assertEqual((status, err), (128 + which, f"mpcrun: {name}: the job is ended\n"))

    def test_an_interrupt_of_the_whole_group_has_one_line(self):
        program = self.build("waits", INIT + READY + STUCK + END)
        job = subprocess.Popen([tool("mpcrun"), "-n", "4", "-p", "2", program], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               start_new_session=True)
        self.assertEqual(job.stdout.readline(), "ready\n")
        os.killpg(job.pid, signal.SIGINT)
        status, _, err = self.finish(job, program)
        self.assertEqual((status, err), (130, "mpcrun: Interrupt: the job is ended\n"))

    def test_handlers_when_the_whole_group_gets_the_signal(self):
        """As by Ctrl-C and `timeout`: mpcrun and its processes get it at once; each handler runs once, and all save."""
        program = self.build("saves", "static int count; void note(int s) { (void)s; ++count; } int all = 0, own;"
                             " signal(SIGTERM, note); signal(SIGINT, note);" + INIT + READY +
                             " while (!all) { usleep(10000); own = *(volatile int*)&count > 0;"
                             " MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD); }"
                             " MPI_Barrier(MPI_COMM_WORLD); usleep(200000);"
                             " printf(\"rank %d has saved at %d\\n\", rank, count);" + END)
        for which in 4 * (signal.SIGTERM, signal.SIGINT):
            job = subprocess.Popen([tool("mpcrun"), "-n", "4", "-p", "2", "--set", "job.signal_grace_ms=20000", program],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
            self.assertEqual(job.stdout.readline(), "ready\n")
            os.killpg(job.pid, which)
            out, err = job.communicate(timeout=60)
            self.assertEqual((job.returncode, len(err.splitlines())), (128 + which, 1), err)
            self.assertEqual(sorted(out.splitlines()), [f"rank {r} has saved at 1" for r in range(4)], err)

    def test_keys_of_a_terminal(self):
        program = self.build("waits", INIT + READY + STUCK + END)
        job, terminal = pty.fork()
        if job == 0:
            os.execv(tool("mpcrun"), ["mpcrun", "-n", "4", "-p", "2", program])
        self.assertEqual(self.read(terminal, "ready\r\n").count("ready"), 1)
        time.sleep(0.3)
        os.write(terminal, b"\x1c")  # Ctrl-\
        table = self.read(terminal, "rank 3: waits in MPI_Recv")
        self.assertEqual(table.count("state of the job"), 1)
        os.write(terminal, b"\x03")  # Ctrl-C
        rest = self.read(terminal, None)
        self.assertEqual(rest.count("Interrupt: the job is ended"), 1, rest)
        _, status = os.waitpid(job, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), 130)
        self.gone(program)

    def read(self, terminal, until):
        """What the terminal shows, until this text or the end."""
        text = ""
        while until is None or until not in text:
            if not select.select([terminal], [], [], 20)[0]:
                self.fail(f"no '{until}' in '{text}'")
            try:
                part = os.read(terminal, 4096).decode(errors="replace")
            except OSError:
                part = ""
            if not part:
                self.assertIsNone(until, text)
                return text
            text += part
        return text

    def test_one_process_that_is_told_to_end_ends_the_job(self):
        job, program = self.start("waits", STUCK)
        children = [pid for pid, line in processes_of(program).items() if pid != job.pid]
        os.kill(max(children), signal.SIGTERM)
        status, _, err = self.finish(job, program)
        self.assertEqual((status, err), (143, "mpcrun: Terminated: the job is ended\n"))

    def test_the_table_of_all_ranks(self):
        job, program = self.start("waits", STUCK)
        time.sleep(0.3)
        job.send_signal(signal.SIGQUIT)
        self.assertEqual(job.stderr.readline(), "mpcrun: state of the job\n")
        for rank in range(4):
            self.assertIn(f"rank {rank}: waits in MPI_Recv", job.stderr.readline())
        job.terminate()
        self.finish(job, program)

    def test_time_limit(self):
        _, err = self.ends(STUCK, 124, "--timeout: the job ran for 4 s", "rank 0", "rank 3",
                           options=("--timeout", 4), name="too_long")
        self.assertEqual(err.count("mpcrun:"), 1)

    def test_time_limit_of_hosts_that_do_not_answer(self):
        agent = os.path.join(self.programs.folder.name, "silent")
        with open(agent, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\nexec sleep 1000.{os.getpid()}\n")
        os.chmod(agent, 0o755)
        program = self.build("waits", INIT + END)
        status, _, err = run("-n", 2, "--hosts", "not.here,nor.there", "--agent", agent, "--timeout", 1, program)
        self.assertEqual((status, err.splitlines()[1:]), (
            124, ["no rank has been started: no daemon has connected from not.here, nor.there"]))
        self.assertRegex(err, "--timeout: the job ran for 1 s; it is ended")
        self.gone(f"1000.{os.getpid()}")

    def test_processes_that_end_at_different_times(self):
        out, err = self.ends("MPI_Finalize(); if (rank == 3) { usleep(500000); puts(\"late\"); }"
                             " return 0;", 0, name="one_is_late")
        self.assertEqual((out, err), ("late\n", ""))

    def test_output_that_cannot_be_written(self):
        program = self.build("says", INIT + "printf(\"rank %d\\n\", rank);" + END)
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([tool("mpcrun"), "-n", "2", "-p", "2", program], stdout=full,
                                  stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual(done.returncode, 122)
        self.assertEqual(done.stderr.count("mpcrun:"), 1)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *parse_options()], verbosity=2)
