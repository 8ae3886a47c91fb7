#!/usr/bin/env python3
"""How a job on several hosts ends: one report that says what died, one status, nothing left behind,
within a second; within six when a host falls silent."""

import os
import re
import select
import signal
import socket
import subprocess
import sys
import time

from common import END, INIT, STUCK
from virtual_hosts import HostsCase, main

# All ranks but one wait for a message that never comes.
READY = " MPI_Barrier(MPI_COMM_WORLD); if (rank == 0) { puts(\"ready\"); fflush(stdout); } "
# What a busy machine adds to the second.
SOON_S = 3.0
SILENCE_S = 6.0


class HostEnds(HostsCase):
    def start(self, name, body, *options, hosts="h1,h2", ranks=4):
        """The job, when all its ranks are there."""
        program = self.build(name, INIT + READY + body + END)
        job = subprocess.Popen(self.hosts.mpcrun("-n", ranks, "--hosts", hosts, *options, program),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, job)
        self.assertEqual(job.stdout.readline(), "ready\n")
        return job

    def end(self, job):
        if job.poll() is None:
            job.kill()
        job.wait()
        job.stdout.close()
        job.stderr.close()

    def finish(self, job, within=SOON_S):
        begin = time.monotonic()
        out, err = job.communicate(timeout=30)
        took = time.monotonic() - begin
        print(f" {took:.2f} s", end=" ", file=sys.stderr)
        self.assertLess(took, within, err)
        return job.returncode, out, err

    def find(self, host, pattern):
        """The process there whose command line matches."""
        found = [pid for pid, line in self.hosts.processes(host).items()
                 if re.search(pattern, line)]
        self.assertEqual(len(found), 1, self.hosts.processes(host))
        return found[0]

    def head(self):
        """mpcrun itself: the process that is nobody's child there."""
        return min(pid for pid, line in self.hosts.processes("h1").items() if "mpcrun" in line)

    def test_abort_on_another_host(self):
        program = self.build("aborts", INIT + "if (rank == 3) MPI_Abort(MPI_COMM_WORLD, 7);" + STUCK
                             + END)
        status, _, err = self.run_job("-n", 4, "--hosts", "h1,h2", program)
        self.assertEqual((status, err), (7, "mpc: rank 3: MPI_Abort(MPI_COMM_WORLD, 7)\n"))

    def test_a_crash_has_its_report(self):
        program = self.build("crashes", INIT + "if (rank == 3) *(volatile int *)8 = 1;" + STUCK
                             + END)
        status, _, err = self.run_job("-n", 4, "--hosts", "h1,h2", program)
        self.assertEqual(status, 128 + signal.SIGSEGV)
        self.assertIn("rank 3 of 4", err)
        self.assertEqual(err.count("mpcrun:"), 1, err)

    def test_last_words_come_before_the_report(self):
        program = self.build("last_words", INIT + "if (rank == 0) exit(5); usleep(20000);"
                             " if (rank == 3) { puts(\"last words\"); exit(5); }" + STUCK + END)
        done = subprocess.run(self.hosts.mpcrun("-n", 4, "--hosts", "h1,h2", program),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=60)
        self.assertEqual(done.returncode, 5)
        self.assertRegex(done.stdout, r"^last words\nmpcrun: rank 0 of 4")

    def test_a_process_that_is_killed(self):
        for host, who in (("h2", r"process 1 \(ranks 2-3\) on host h2"),
                          ("h1", r"process 0 \(ranks 0-1\) on host h1")):
            job = self.start("waits", STUCK)
            pids = [pid for pid, line in self.hosts.processes(host).items()
                    if line.startswith(self.mpcrun_line()) and pid != self.head_on(host)]
            self.hosts.kill(host, max(pids))
            status, _, err = self.finish(job)
            self.assertEqual(status, 128 + signal.SIGKILL)
            self.assertRegex(err, rf"^mpcrun: {who} died of signal 9 \(Killed\); the job is ended\n$")

    def mpcrun_line(self):
        return self.hosts.mpcrun()[len(self.hosts.command("h1"))]

    def head_on(self, host):
        return self.head() if host == "h1" else -1

    def test_a_daemon_that_is_killed(self):
        job = self.start("waits", STUCK)
        self.hosts.kill("h2", self.find("h2", r"^\S*mpclaunch --daemon"))
        status, _, err = self.finish(job)
        self.assertEqual((status, err),
                         (3, "mpcrun: host h2: the daemon there has ended; the job is ended\n"))

    def test_nothing_stays_when_mpcrun_is_killed(self):
        job = self.start("waits", STUCK)
        self.hosts.kill("h1", self.head())
        self.finish(job)
        self.gone(SOON_S)

    def test_a_cable_that_is_pulled(self):
        for is_busy in (False, True):
            # Both hosts send all the time, or nothing passes.
            body = ("for (;;) MPI_Allreduce(MPI_IN_PLACE, &size, 1, MPI_INT, MPI_MAX,"
                    " MPI_COMM_WORLD);" if is_busy else STUCK)
            job = self.start("busy" if is_busy else "waits", body)
            self.hosts.link("h2", "down")
            try:
                status, _, err = self.finish(job, SILENCE_S + 2)
                self.assertEqual(status, 3, err)
                self.assertRegex(err, r"^mpcrun: host h2: it does not answer any more \(.*\); "
                                      r"the job is ended\n$")
                self.gone(SILENCE_S + 6)  # sshd, too, has to notice it
            finally:
                self.hosts.link("h2", "up")

    def test_signals_end_all_with_one_line(self):
        for which, name in ((signal.SIGTERM, "Terminated"), (signal.SIGINT, "Interrupt"),
                            (signal.SIGHUP, "Hangup")):
            job = self.start("waits", STUCK)
            self.hosts.kill("h1", self.head(), int(which))
            status, _, err = self.finish(job)
            self.assertEqual((status, err), (128 + which, f"mpcrun: {name}: the job is ended\n"))

    def test_the_table_of_all_ranks(self):
        job = self.start("waits", STUCK)
        time.sleep(0.3)
        self.hosts.kill("h1", self.head(), int(signal.SIGQUIT))
        self.assertEqual(job.stderr.readline(), "mpcrun: state of the job\n")
        for rank in range(4):
            self.assertIn(f"rank {rank}: waits in MPI_Recv", job.stderr.readline())
        self.hosts.kill("h1", self.head(), int(signal.SIGTERM))
        job.communicate(timeout=30)

    def test_time_limit(self):
        program = self.build("waits", INIT + READY + STUCK + END)
        status, _, err = self.run_job("-n", 4, "--hosts", "h1,h2", "--timeout", 6, program)
        self.assertEqual(status, 124)
        self.assertIn("--timeout: the job ran for 6 s", err)
        for rank in range(4):
            self.assertIn(f"rank {rank}: ", err)

    def test_a_reader_that_takes_its_time_or_goes(self):
        program = self.build("prints", INIT + "for (int i = 0; i < 100000; ++i)"
                             " printf(\"%d line of rank %d\\n\", i, rank);" + END)
        job = subprocess.Popen(self.hosts.mpcrun("-n", 2, "--hosts", "h2,h1", program),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.end, job)
        self.assertTrue(select.select([job.stdout], [], [], 30)[0])
        time.sleep(SILENCE_S)  # the connection stays
        out, err = job.communicate(timeout=60)
        self.assertEqual((job.returncode, err), (0, b""))
        self.assertEqual(len(out.splitlines()), 200000)
        job = subprocess.Popen(self.hosts.mpcrun("-n", 2, "--hosts", "h2,h1", program),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.end, job)
        job.stdout.read(100)
        job.stdout.close()
        self.assertEqual(job.stderr.read(), b"")
        job.wait(30)

    def test_output_that_cannot_be_written(self):
        program = self.build("says", INIT + "printf(\"rank %d\\n\", rank);" + END)
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run(self.hosts.mpcrun("-n", 1, "--hosts", "h2", program),
                                  stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual(done.returncode, 122)
        self.assertEqual(done.stderr.count("mpcrun:"), 1)


class Strangers(HostsCase):
    """Who else connects to mpcrun while it waits for its daemons is dropped, and harms nobody."""

    def port(self):
        """Where mpcrun on h1 waits for daemons."""
        until = time.monotonic() + 20
        while time.monotonic() < until:
            table = subprocess.run(self.hosts.command("h1", "cat", "/proc/net/tcp6", "/proc/net/tcp"),
                                   capture_output=True, text=True, timeout=10, check=True).stdout
            for line in map(str.split, table.splitlines()):
                if line[3] == "0A" and not line[1].endswith(":0016"):  # listens; not sshd
                    return int(line[1].split(":")[1], 16)
            time.sleep(0.02)
        self.fail("mpcrun does not listen")

    def test_garbage_floods_and_silence(self):
        program = self.build("quick", INIT + "if (rank == 0) puts(\"done\");" + END)
        slow = os.path.join(self.programs.folder.name, "slow-agent")
        with open(slow, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\nuntil [ -e {slow}.met ]; do sleep 0.1; done\nexec {self.hosts.ssh()} \"$@\"\n")
        os.chmod(slow, 0o755)
        job = subprocess.Popen(self.hosts.mpcrun("-n", 2, "--hosts", "h1,h2", program, agent=slow),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        stranger = subprocess.run(
            self.hosts.command("h2", sys.executable, os.path.abspath(__file__), "--strangers",
                               f"{slow}.met", self.port()), capture_output=True, text=True, timeout=60)
        out, err = job.communicate(timeout=60)
        self.assertEqual((job.returncode, out, err), (0, "done\n", ""))
        self.assertEqual(stranger.returncode, 0, stranger.stderr)
        self.assertIn("met", stranger.stdout)


def be_strangers(met, port):
    """On another host: connect in all the wrong ways. The daemon connects when the file `met` is there."""
    kept = []
    for kind in range(1000):
        one = socket.create_connection(("h1", port), 5)
        try:
            if kind % 4 == 0:
                one.sendall(os.urandom(32))  # as long as an answer
            elif kind % 4 == 1:
                one.sendall(os.urandom(100000))
            elif kind % 4 == 2:
                one.sendall(b"\0\0")
        except OSError:
            pass  # dropped already
        kept.append(one)
    print("met", len(kept))
    sys.stdout.flush()
    with open(met, "w", encoding="utf-8"):
        pass
    time.sleep(4)  # half-open, while the daemon connects


if __name__ == "__main__":
    if "--strangers" in sys.argv:
        be_strangers(sys.argv[-2], int(sys.argv[-1]))
    else:
        main()
