#!/usr/bin/env python3
"""mpcrun --on-fail notify on several hosts: a process of another host that dies, a host that is lost with all its ranks."""

import re
import subprocess
import unittest

from common import SANITIZED, Case, source_of
from virtual_hosts import HostsCase, main

NOTIFY = ("--ranks-per-process", 1, "--on-fail", "notify")
WATCHDOG_S = 60
KILLED = 128 + 9
LAUNCH = 3


@unittest.skipIf(SANITIZED, "ranks that are killed cannot say what they have leaked")
class HostLosses(HostsCase):
    COUNT = 3
    program = None

    def setUp(self):
        super().setUp()
        if HostLosses.program is None:
            HostLosses.program = Case.shared.compile("losses.c", source_of("losses.c"), "-O1")

    def words(self, count, *part, hosts="h1,h2,h3", how=NOTIFY):
        return ("-n", count, "--hosts", hosts, *how, "--timeout", WATCHDOG_S, self.program, *part)

    def goes_on(self, count, *part, hosts="h1,h2,h3", deaths=1):
        status, out, err = self.run_job(*self.words(count, *part, hosts=hosts), timeout=2 * WATCHDOG_S)
        lines = err.splitlines()
        self.assertEqual((status, len(lines)), (KILLED, deaths), err)
        for line in lines:
            self.assertIn("died of signal 9 (Killed)", line)
            self.assertTrue(line.endswith("; the others go on"), line)
        return out

    def loses_host(self, name, break_it, first, last, is_busy, count=6, hosts="h1,h2,h3", how=NOTIFY, says=""):
        """All ranks from first to last are lost at once; the others see it, and come to their end."""
        job = subprocess.Popen(self.hosts.mpcrun(*self.words(count, "host_lost", first, last, is_busy, hosts=hosts,
                                                                 how=how)),
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            self.assertEqual(job.stdout.readline(), "ready\n")
            break_it(name)
            out, err = job.communicate(timeout=2 * WATCHDOG_S)
        finally:
            if job.poll() is None:
                job.kill()
                job.communicate()
        self.assertRegex(err, rf"^mpcrun: host {name}: {says}.*: ranks {first}-{last} are lost; the others go on\n$")
        self.assertEqual((job.returncode, out.splitlines()[0]), (LAUNCH, "went on"), err)
        self.assertEqual("finished" in out, first != 0)

    def kill_daemon(self, name):
        found = [pid for pid, line in self.hosts.processes(name).items() if re.search(r"^\S*mpclaunch --daemon", line)]
        self.assertEqual(len(found), 1, self.hosts.processes(name))
        self.hosts.kill(name, found[0])

    def test_a_process_of_any_host_dies(self):
        self.assertEqual(self.goes_on(6, "farm", "kill", deaths=2).splitlines(),
                         ["400 tasks, sum 79800, 2 lost", "finished"])
        for dead in (1, 2, 5):  # on each of the hosts
            with self.subTest(dead=dead):
                self.assertIn("finished", self.goes_on(6, "collectives", "kill", dead, dead))
        self.assertIn("finished", self.goes_on(6, "last_words"))
        self.assertIn("finished", self.goes_on(6, "in_finalize"))

    def test_deaths_at_random_moments(self):
        for seed in range(4):
            self.assertEqual(self.goes_on(6, "storm", seed, deaths=3), "finished\n")

    def test_a_daemon_that_is_killed(self):
        for is_busy in (0, 1):
            with self.subTest(is_busy=is_busy):
                self.loses_host("h2", self.kill_daemon, 2, 3, is_busy, says="the daemon there has ended")

    def test_the_host_of_rank_0(self):
        self.loses_host("h2", self.kill_daemon, 0, 1, 1, count=4, hosts="h2,h3", says="the daemon there has ended")

    def test_a_cable_that_is_pulled(self):
        for is_busy in (0, 1):
            with self.subTest(is_busy=is_busy):
                try:
                    self.loses_host("h3", lambda name: self.hosts.link(name, "down"), 4, 5, is_busy,
                                    says="it does not answer any more")
                    self.gone(10)
                finally:
                    self.hosts.link("h3", "up")

    def test_hosts_with_processes_of_several_ranks(self):
        """Eight ranks, two in each process, two processes on each host."""
        program = Case.shared.compile("losses_together.c", source_of("losses_together.c"), "-O1")
        options = ("-n", 8, "--hosts", "h1,h2", "--processes-per-host", 2, "--on-fail", "notify", "--timeout", WATCHDOG_S)
        for doomed, which in ((3, 1), (5, 0), (6, 4)):
            with self.subTest(doomed=doomed):
                status, out, err = self.run_job(*options, program, "collectives", 2, "kill", doomed, which,
                                                timeout=2 * WATCHDOG_S)
                self.assertEqual((status, out), (KILLED, "finished\n"), err)
                self.assertRegex(err, rf"^mpcrun: process {doomed // 2} \(ranks {doomed // 2 * 2}-{doomed // 2 * 2 + 1}\) "
                                      r"on host h\d died of signal 9 \(Killed\); the others go on\n$")
        for is_busy in (0, 1):
            with self.subTest(is_busy=is_busy):
                self.loses_host("h2", self.kill_daemon, 4, 7, is_busy, count=8, hosts="h1,h2",
                                how=("--processes-per-host", 2, "--on-fail", "notify"), says="the daemon there has ended")

    def test_before_all_are_there_a_death_ends_the_job(self):
        status, _, err = self.run_job(*self.words(6, "before", "kill"), timeout=2 * WATCHDOG_S)
        self.assertEqual(status, KILLED, err)
        self.assertIn("the job is ended", err)


if __name__ == "__main__":
    main()
