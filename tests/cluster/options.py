#!/usr/bin/env python3
"""-p and --ranks-per-process: what is said of wrong values. Needs neither PMIx nor UCX."""

import os
import subprocess
import sys
import unittest

from common import ClusterCase, example, parse_options, run, tool


class Options(ClusterCase):
    def test_wrong_numbers_are_refused_with_what_would_do(self):
        hello = example("hello")
        for args, says in ((("-p", 0), ("-p", "1 to", "'0'")),
                           (("-p", "two"), ("-p", "'two'")),
                           (("-p",), ("-p",)),
                           (("-p", 9), ("-p 9", "8 ranks")),
                           (("--ranks-per-process", 0), ("--ranks-per-process", "'0'")),
                           (("--ranks-per-process", 3), ("--ranks-per-process 3", "1, 2, 4, 8")),
                           (("--ranks-per-process", 16), ("--ranks-per-process 16", "8")),
                           (("-p", 4, "--ranks-per-process", 4), ("-p 4", "2 processes"))):
            with self.subTest(args=args):
                self.refused(2, "-n", 8, *args, hello, says=says)

    def test_wrong_hosts_are_refused_with_what_would_do(self):
        hello = example("hello")
        for args, says in ((("--hosts=",), ("--hosts wants HOST",)),
                           (("--hosts", "a,,b"), ("--hosts a,,b", "no name of a host")),
                           (("--hosts", "-oProxyCommand=x"), ("no name of a host",)),
                           (("-H", "a:0"), ("1 or more",)),
                           (("-H", "a:2,b:2"), ("8 ranks", "room for 4", "--ranks-per-host")),
                           (("--hosts", "a,b", "--ranks-per-host", 3), ("--ranks-per-host 3", "room for 6")),
                           (("--hosts", "a,b", "-p", 3), ("-p 3", "2 hosts")),
                           (("--hosts", "a,b", "--processes-per-host", 5), ("5 processes on host a", "4 ranks")),
                           (("--ranks-per-host", 4), ("--hosts or --hostfile",)),
                           (("--processes-per-host", 4), ("--hosts or --hostfile",)),
                           (("--hosts", "a", "-f", "b"), ("one of the two",)),
                           (("--hostfile", "/no/such/file"), ("/no/such/file", "No such file"))):
            with self.subTest(args=args):
                self.refused(2, "-n", 8, *args, hello, says=says)

    def test_what_is_of_one_process_is_refused_before_others_start(self):
        hello = example("hello")
        for option, says in ((("--emulate", "knl64"), ("--emulate", "one process", "has 2")),
                             (("--set", "job.virtual_processes=2"), ("job.virtual_processes=2", "2 real processes"))):
            for several in (("-p", 2), ("--ranks-per-process", 4),
                            # No host is asked: the agent would fail.
                            ("--hosts", "a,b", "--agent", "false")):
                with self.subTest(option=option, several=several):
                    self.refused(2, "-n", 8, *several, *option, hello, says=says)
        status, out, err = run("-n", 2, "-p", 1, "--emulate", "skylake48", "--show", hello)
        self.assertEqual((status, err), (0, ""))

    def test_this_host_needs_no_daemon(self):
        for name in ("localhost", os.uname().nodename, "127.0.0.1"):
            status, out, err = run("-n", 2, "--hosts", name, "--agent", "false", example("hello"))
            self.assertEqual((status, err), (0, ""))
            self.assertEqual(len(out.splitlines()), 2)

    def test_the_ranks_of_all_programs_count(self):
        hello = example("hello")
        self.refused(2, "-n", 1, "-p", 4, hello, ":", "-n", 2, hello, says=("-p 4", "3"))
        self.refused(2, "-n", 2, hello, ":", "-n", 2, "-p", 2, hello, says=("before the first",))

    def test_one_process_is_what_it_was(self):
        status, out, err = run("-n", 2, "-p", 1, example("hello"))
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(len(out.splitlines()), 2)
        env = {**os.environ, "LD_DEBUG": "files"}
        status, out, err = run("-n", 2, "--ranks-per-process", 2, example("hello"), env=env)
        self.assertEqual(status, 0)
        for library in ("libpmix", "libucp"):
            self.assertNotIn(library, err)

    def test_without_its_launcher_mpcrun_says_what_is_missing(self):
        if os.path.exists(os.path.join(os.path.dirname(tool("")), "..", "lib/mpc/mpclaunch")):
            self.skipTest("it is there")
        self.refused(3, "-n", 2, "-p", 2, example("hello"), says=("libpmix-dev",))

    def test_other_launchers_of_several_are_told_so_once(self):
        for size, index, name, sign in (("PMI_SIZE", "PMI_RANK", "mpiexec", "PMI_FD"),
                                        ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "srun", "SLURM_NTASKS"),
                                        ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "mpirun",
                                         "OMPI_MCA_orte_ess_num_procs")):
            env = {**os.environ, size: "4", index: "0", sign: "4"}
            for more in ((), ("-p", 2)):
                self.refused(3, "-n", 2, *more, example("hello"), env=env,
                             says=(name, "4 times", "mpcrun -n RANKS -p 4", size))
            status, out, err = run("-n", 2, example("hello"), env={**env, index: "1"})
            self.assertEqual((status, out, err), (3, "", ""))
            status, _, err = run("-n", 2, example("hello"), env={**env, size: "1"})
            self.assertEqual((status, err), (0, ""))

    def test_a_program_that_is_started_several_times_is_not_several_jobs(self):
        for index in ("0", "1"):
            env = {**os.environ, "PMI_SIZE": "4", "PMI_RANK": index, "PMI_FD": "5"}
            done = subprocess.run([example("hello")], env=env, capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stdout), (3, ""), done.stderr)
            self.assertEqual("mpcrun -n 4" in done.stderr, index == "0")
        env["PMI_SIZE"] = "1"
        done = subprocess.run([example("hello")], env=env, capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *parse_options()], verbosity=2)
