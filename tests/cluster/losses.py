#!/usr/bin/env python3
"""mpcrun --on-fail notify: a process that dies leaves the others running; what needs it fails, and nothing hangs."""

import sys
import unittest

from common import ClusterCase, parse_options, processes_of, run, source_of
from support import SANITIZED, Case

NOTIFY = ("--ranks-per-process", 1, "--on-fail", "notify")
WATCHDOG_S = 60  # of the job itself: with what each rank does
KILLED = 128 + 9


class LossesCase(ClusterCase):
    program = None

    def setUp(self):
        super().setUp()
        if LossesCase.program is None:
            LossesCase.program = Case.shared.compile("losses.c", source_of("losses.c"), "-O1")

    def job(self, count, *part):
        return run("-n", count, *NOTIFY, "--timeout", WATCHDOG_S, self.program, *part, timeout=2 * WATCHDOG_S)

    def goes_on(self, count, *part, status=KILLED, deaths=1, says="died of signal 9 (Killed)"):
        """The others come to their end; each death is one line, and the status tells of it."""
        got, out, err = self.job(count, *part)
        lines = err.splitlines()
        self.assertEqual(len(lines), deaths, err)
        for line in lines:
            self.assertRegex(line, r"^mpcrun: rank \d+ of \d+ ")
            self.assertIn(says, line)
            self.assertTrue(line.endswith("; the others go on"), line)
        self.assertEqual(got, status, err)
        self.assertEqual(processes_of(self.program), {})
        return out

    def ends(self, count, *part, status, says):
        """The job ends, and says why."""
        got, _, err = self.job(count, *part)
        self.assertEqual(got, status, err)
        for pattern in says:
            self.assertRegex(err, pattern)
        self.assertNotIn("--timeout", err)
        self.assertEqual(processes_of(self.program), {})


@unittest.skipIf(SANITIZED, "ranks that are killed cannot say what they have leaked")
class PointToPoint(LossesCase):
    def test_a_master_does_without_workers_that_die(self):
        for how, status, says in (("kill", KILLED, "died of signal 9"), ("segv", 139, "died of signal 11"),
                                  ("exit", 3, "exited with status 3"), ("_exit", 4, "exited with status 4")):
            with self.subTest(how=how):
                out = self.goes_on(6, "farm", how, status=status, deaths=2, says=says)
                self.assertEqual(out.splitlines(), ["400 tasks, sum 79800, 2 lost", "finished"])

    def test_what_waits_for_the_dead_fails_and_nothing_else(self):
        for how in ("kill", "exit"):
            with self.subTest(how=how):
                self.assertIn("finished", self.goes_on(4, "receives", how, status=KILLED if how == "kill" else 3,
                                                       says="rank 1 of 4"))

    def test_what_was_sent_before_comes(self):
        self.assertIn("finished", self.goes_on(3, "last_words"))

    def test_a_rank_that_is_killed_while_it_sends(self):
        for after_us in (0, 200, 1000, 3000, 10000, 30000):
            with self.subTest(after_us=after_us):
                self.assertIn("finished", self.goes_on(3, "in_the_midst", after_us))


@unittest.skipIf(SANITIZED, "ranks that are killed cannot say what they have leaked")
class Together(LossesCase):
    def test_collectives_fail_everywhere_and_go_on_without_the_dead(self):
        for which in range(6):
            for dead in (1, 3):
                with self.subTest(which=which, dead=dead):
                    self.assertIn("finished", self.goes_on(5, "collectives", "kill", which, dead))

    def test_without_rank_0(self):
        self.goes_on(4, "collectives", "kill", 2, 0)

    def test_a_split_under_way_fails(self):
        self.assertIn("finished", self.goes_on(4, "waits_in", "kill", "split"))

    def test_what_cannot_do_without_ends_the_job(self):
        self.ends(4, "has_window", "kill", status=KILLED, says=("rank 1 of 4", "(a window|MPI_Win_fence)", "the job is ended"))
        self.ends(4, "waits_in", "kill", "window", status=KILLED, says=("rank 1 of 4", "the job is ended"))


@unittest.skipIf(SANITIZED, "ranks that are killed cannot say what they have leaked")
class Ends(LossesCase):
    def test_nobody_dies(self):
        self.assertEqual(self.job(4, "nothing"), (0, "finished\n", ""))

    def test_a_death_in_the_last_call(self):
        self.assertIn("finished", self.goes_on(4, "in_finalize"))
        self.assertIn("finished", self.goes_on(4, "at_once"))

    def test_a_death_after_the_last_call(self):
        self.assertEqual(self.goes_on(4, "after_finalize"), "finished\n")
        self.assertEqual(self.goes_on(4, "after_finalize", "segv", status=139, says="signal 11"), "finished\n")

    def test_only_one_is_left(self):
        self.goes_on(4, "only_one", deaths=3)

    def test_before_all_are_there_a_death_ends_the_job(self):
        self.ends(3, "before", "kill", status=KILLED, says=("rank 1 of 3", "the job is ended"))

    def test_deaths_at_random_moments_right_after_init(self):
        """No connection is being made any more when deaths are survived: UCX 1.13 would fail in an assertion."""
        for seed in range(12):
            with self.subTest(seed=seed):
                self.assertEqual(self.goes_on(6, "storm", seed, deaths=3), "finished\n")

    def test_an_abort_ends_the_job(self):
        self.ends(3, "aborts", status=7, says=(r"MPI_Abort\(MPI_COMM_WORLD, 7\)",))

    def test_an_error_that_is_fatal_ends_the_job(self):
        self.ends(3, "fatal", "kill", status=KILLED, says=("rank 1 of 3", "MPI_ERR_PROC_ABORTED"))

    def test_where_it_cannot_be(self):
        for arguments in (("-n", 4), ("-n", 4, "-p", 1), ("-n", 1, "--ranks-per-process", 1)):
            status, _, err = run(*arguments, "--on-fail", "notify", "true")
            self.assertEqual(status, 2, err)
            self.assertIn("--on-fail notify", err)
        status, _, err = run("-n", 2, "--on-fail", "perhaps", "true")
        self.assertEqual((status, err), (2, "mpcrun: --on-fail wants end or notify, not 'perhaps'\n"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + parse_options())
