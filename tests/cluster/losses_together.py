#!/usr/bin/env python3
"""mpcrun -p K --on-fail notify: processes of several ranks. A process that dies takes all its ranks along, and the others
go on."""

import os
import sys
import tempfile
import unittest

from common import ClusterCase, parse_options, processes_of, run, source_of
from support import SANITIZED, Case

WATCHDOG_S = 60  # of the job itself: with what each rank does
KILLED = 128 + 9
# How a rank dies: the status, and what the line says.
DEATHS = {"kill": (KILLED, r"process 1 \(ranks 2-3\) died of signal 9 \(Killed\)"),
          "segv": (139, r"process 1 \(ranks 2-3\) has crashed"),
          "term": (143, r"rank 3 of 6 \(\S+\) died of signal 15 \(Terminated\); with it end ranks 2-3, its process"),
          "exit": (3, r"rank 3 of 6 \(\S+\) exited with status 3 without calling MPI_Finalize; with it end ranks 2-3, "
                      "its process")}


class TogetherCase(ClusterCase):
    program = None

    def setUp(self):
        super().setUp()
        if TogetherCase.program is None:
            TogetherCase.program = Case.shared.compile("losses_together.c", source_of("losses_together.c"), "-O1")

    def job(self, part, how="kill", doomed=3, *more, processes=3, per=2, options=()):
        return run("-n", processes * per, "-p", processes, "--on-fail", "notify", "--timeout", WATCHDOG_S, *options,
                   self.program, part, per, how, doomed, *more, timeout=2 * WATCHDOG_S)

    def goes_on(self, part, how="kill", doomed=3, *more, says=None, **kwargs):
        """The others come to their end; the death is one line, and the status tells of it."""
        status, line = DEATHS[how]
        got, out, err = self.job(part, how, doomed, *more, **kwargs)
        said = [line for line in err.splitlines() if line.endswith("; the others go on")]
        self.assertEqual(len(said), 1, err)
        self.assertRegex(said[0], f"^mpcrun: {says or line}; the others go on$")
        if how != "segv":  # which has its report
            self.assertEqual(len(err.splitlines()), 1, err)
        self.assertEqual(got, status, err)
        self.assertEqual(processes_of(self.program), {})
        return out


@unittest.skipIf(SANITIZED, "ranks that are killed cannot say what they have leaked")
class Together(TogetherCase):
    def test_collectives_fail_everywhere_and_go_on_without_the_dead(self):
        for which in range(7):
            with self.subTest(which=which):
                self.assertEqual(self.goes_on("collectives", "kill", 3, which), "finished\n")

    def test_however_a_rank_dies(self):
        for how in DEATHS:
            with self.subTest(how=how):
                self.assertEqual(self.goes_on("collectives", how, 3, 1), "finished\n")

    def test_the_process_of_rank_0(self):
        self.assertEqual(self.goes_on("collectives", "kill", 1, 2,
                                      says=r"process 0 \(ranks 0-1\) died of signal 9 \(Killed\)"), "")

    def test_four_ranks_in_each_of_two_processes(self):
        for which in (0, 1, 4):
            with self.subTest(which=which):
                self.assertEqual(self.goes_on("collectives", "kill", 6, which, processes=2, per=4,
                                              says=r"process 1 \(ranks 4-7\) died of signal 9 \(Killed\)"), "finished\n")

    def test_a_split_to_which_not_all_of_a_process_have_come_fails(self):
        self.assertEqual(self.goes_on("split"), "finished\n")
        self.assertEqual(self.goes_on("split", "kill", 10, processes=3, per=4,
                                      says=r"process 2 \(ranks 8-11\) died of signal 9 \(Killed\)"), "finished\n")

    def test_who_does_not_need_the_dead_sees_nothing(self):
        self.assertEqual(self.goes_on("unconcerned"), "finished\n")

    def test_a_master_does_without_workers_that_die(self):
        for how in DEATHS:
            with self.subTest(how=how):
                self.assertEqual(self.goes_on("farm", how).splitlines(), ["600 tasks, sum 179700, 2 lost", "finished"])

    def test_a_message_that_is_half_sent(self):
        self.assertEqual(self.goes_on("half_sent"), "finished\n")

    def test_small_and_large_messages_are_as_elsewhere(self):
        self.assertEqual(self.goes_on("collectives", "kill", 3, 1, options=("--set", "message.eager_limit=0")),
                         "finished\n")


@unittest.skipIf(SANITIZED, "ranks that are killed cannot say what they have leaked")
class Ends(TogetherCase):
    def test_nobody_dies(self):
        self.assertEqual(self.job("nothing"), (0, "finished\n", ""))
        self.assertEqual(self.job("nothing", options=("--set", "mpi.check=full")), (0, "finished\n", ""))

    def test_a_death_in_the_last_call_and_after_it(self):
        self.assertEqual(self.goes_on("in_finalize"), "finished\n")
        self.assertEqual(self.goes_on("after_finalize"), "finished\n")

    def test_deaths_at_random_moments_right_after_init(self):
        for seed in range(8):
            with self.subTest(seed=seed):
                status, out, err = self.job("storm", "kill", seed, processes=4, per=2)
                self.assertEqual((status, out), (KILLED, "finished\n"), err)
                self.assertEqual(len(err.splitlines()), 2, err)

    def test_before_all_are_there_a_death_ends_the_job(self):
        with tempfile.TemporaryDirectory() as folder:
            status, _, err = self.job("before", "kill", 3, os.path.join(folder, "first"))
        self.assertEqual(status, KILLED, err)
        self.assertIn("the job is ended", err)

    def test_an_abort_ends_the_job(self):
        status, _, err = self.job("aborts")
        self.assertEqual(status, 7, err)
        self.assertIn("MPI_Abort(MPI_COMM_WORLD, 7)", err)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + parse_options())
