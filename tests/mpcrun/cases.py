#!/usr/bin/env python3
"""mpcrun as a user meets it. Each case is a function of the Case class, run by unittest.

usage: cases.py --build BUILD --source SOURCE [--sanitize NAME] [unittest arguments]
"""

import argparse
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


def tool(name):
    return os.path.join(options.build, "bin", name)


def example(name):
    return os.path.join(options.build, "examples", name)


def run(*args, timeout=60, **kwargs):
    """Runs mpcrun; returns (status, stdout, stderr)."""
    done = subprocess.run([tool("mpcrun"), *map(str, args)], capture_output=True, text=True,
                          timeout=timeout, **kwargs)
    return done.returncode, done.stdout, done.stderr


class Programs:
    """Small C programs, compiled once with mpcc."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="mpcrun-cases-")
        self.made = {}

    def build(self, name, body):
        """A program of which `body` is the inside of main()."""
        return self.compile(
            name + ".c",
            "#define _GNU_SOURCE\n#include <errno.h>\n#include <mpi.h>\n#include <stdio.h>\n"
            "#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n#include <signal.h>\n"
            "int main(int argc, char **argv) {\n int rank = -1, size = 0;\n"
            " (void)argc; (void)argv; (void)rank; (void)size;\n" + body + "\n}\n", "-O1", "-g")

    def compile(self, name, text, *flags):
        """The whole text of a C or Fortran program, by the ending of its name."""
        stem, ending = os.path.splitext(name)
        if stem not in self.made:
            source = os.path.join(self.folder.name, name)
            output = os.path.join(self.folder.name, stem)
            with open(source, "w", encoding="utf-8") as file:
                file.write(text)
            compiler = tool("mpcc" if ending == ".c" else "mpcfort")
            subprocess.run([compiler, *flags, source, "-o", output], check=True)
            self.made[stem] = output
        return self.made[stem]


INIT = ("MPI_Init(&argc, &argv); MPI_Comm_rank(MPI_COMM_WORLD, &rank);"
        "MPI_Comm_size(MPI_COMM_WORLD, &size);")
END = "MPI_Finalize(); return 0;"


def small_stack():
    """The smallest that mpcrun takes; ThreadSanitizer keeps 1.1 MiB of its own on each stack."""
    return "2m" if options.sanitize == "thread" else "256k"


class Case(unittest.TestCase):
    programs = None

    @classmethod
    def setUpClass(cls):
        cls.programs = Programs()

    def refused(self, status, *args, says=(), **kwargs):
        got, out, err = run(*args, **kwargs)
        self.assertEqual(got, status, err)
        self.assertEqual(out, "")
        self.assertTrue(err.startswith("mpcrun: "), err)
        for text in says:
            self.assertIn(text, err)
        return err

    # --- options and bad input -----------------------------------------------------------------

    def test_an_unknown_emulated_machine_is_refused_with_the_known_ones(self):
        self.refused(2, "-n", 2, "--emulate", "cray1", example("hello"),
                     says=("--emulate", "cray1", "knl64", "skylake48"))
        self.refused(2, "-n", 2, "--emulate", "skylake48", "--cores", 49, example("hello"),
                     says=("--cores 49", "48 cores"))
        status, out, err = run("-n", 60, "--emulate", "knl64", "--show", example("hello"))
        self.assertEqual(status, 0, err)
        self.assertIn("emulated machine: knl64, 64 cores", out)
        self.assertEqual(out.count(": communication"), 4)

    def test_scattered_ranks_are_far_from_each_other(self):
        status, out, err = run("-n", 2, "--emulate", "skylake48", "--placement", "scatter",
                               "--show", example("hello"))
        self.assertEqual(status, 0, err)
        cores = [int(core) for core, ranks in
                 re.findall(r"on core (\d+) .*: ranks (\d+)", out)]
        self.assertEqual(len(cores), 2)
        self.assertEqual({core // 24 for core in cores}, {0, 1}, "not on both packages")
        status, out, _ = run("-n", 4, "--emulate", "skylake48", "--cores", "0,1,24,25",
                             "--placement", "scatter", "--show", example("hello"))
        self.assertRegex(out, r"(?s)on core 0 .*: ranks 0\n.*on core 24 .*: ranks 1\n")

    def test_placement_on_a_worker_that_is_not_there(self):
        self.refused(2, "-n", 2, "--placement", "0,4000", example("hello"), says=["worker 4000"])

    def test_libc_messages_name_the_program(self):
        program = self.programs.build(
            "named", INIT + "if (rank == 1) perror(program_invocation_short_name);" + END)
        status, _, err = run("-n", 2, program)
        self.assertEqual(status, 0)
        self.assertTrue(err.startswith("named: "), err)

    def test_help_teaches(self):
        status, out, _ = run("--help")
        self.assertEqual(status, 0)
        for text in ("-n", "--cores", "--stack-size", "Examples", "Exit status"):
            self.assertIn(text, out)

    def test_unknown_option(self):
        self.refused(2, "--nonsense", "-n", 2, example("hello"))

    def test_no_program(self):
        self.refused(2, "-n", 2, says=["no program"])

    def test_zero_ranks(self):
        self.refused(2, "-n", 0, example("hello"))

    def test_too_many_ranks(self):
        self.refused(2, "-n", 1000000, example("hello"))

    def test_unknown_setting_names_the_nearest(self):
        self.refused(2, "-n", 1, "--set", "log.levle=info", example("hello"), says=["log.level"])

    def test_bad_core_list(self):
        self.refused(2, "-n", 2, "--cores", "0,x", example("hello"))
        self.refused(2, "-n", 2, "--cores", "4000", example("hello"), says=["4000"])

    def test_bad_timeout(self):
        for value in ("0", "-1", "soon", "1e99"):
            self.refused(2, "-n", 1, f"--timeout={value}", example("hello"), says=["seconds above 0"])

    def test_bad_stack_size(self):
        self.refused(2, "-n", 1, "--stack-size", "many", example("hello"), says=["many"])
        self.refused(2, "-n", 1, "--stack-size", "255k", example("hello"), says=["256k"])
        self.assertEqual(run("-n", 20, "--stack-size", small_stack(), example("hello"))[0], 0)

    def test_missing_program(self):
        self.refused(127, "-n", 2, "./does-not-exist", says=["does-not-exist"])

    def test_program_that_is_not_executable(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("hello\n")
            file.flush()
            os.chmod(file.name, 0o644)
            self.refused(126, "-n", 2, file.name)

    def test_script_instead_of_a_program(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "script.sh")
            with open(path, "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\necho hello\n")
            os.chmod(path, 0o755)
            self.refused(126, "-n", 2, path, says=[path])

    def test_thread_locals_that_do_not_fit_on_a_small_stack(self):
        program = self.programs.compile(
            "large_tls.c",
            "#include <mpi.h>\nstatic __thread char large[1 << 20];\n"
            "int main(int c, char **v) { MPI_Init(&c, &v); large[c] = 1;"
            "MPI_Finalize(); return large[c] - 1; }\n")
        self.assertEqual(run("-n", 4, program)[0], 0)
        self.assertEqual(run("-n", 4, "--stack-size", small_stack(), program)[0], 0)

    def test_program_that_mpcc_did_not_make(self):
        err = self.refused(126, "-n", 2, "/bin/true", says=["/bin/true"])
        self.assertIn("mpcc", err)

    def test_wdir_that_does_not_exist(self):
        self.refused(2, "-n", 1, "--wdir", "/no/such/folder", example("hello"),
                     says=["/no/such/folder"])

    def test_show_runs_nothing(self):
        status, out, err = run("-n", 4, "--show", example("hello"))
        self.assertEqual((status, err), (0, ""))
        self.assertIn("4 ranks", out)
        self.assertNotIn("hello from rank", out)

    def test_values_without_meaning_are_refused(self):
        for assignment, why in (("sched.spin_us=-1", "0 to 1000000"),
                                ("sched.spin_us=99999999999999999999", "0 to 1000000"),
                                ("nbc.segment_bytes=9000000000G", "1 or more"),
                                ("sched.steal=2", "0|1"), ("nbc.plan=guess", "table|model"),
                                ("nbc.split=-1", "auto|0|1"), ("nbc.split=99999999999", "auto|0|1"),
                                ("nbc.algorithm=bcast", "'bcast' names no algorithm"),
                                ("nbc.algorithm=bcats:chain", "no collective 'bcats'"),
                                ("nbc.algorithm=bcast:chain,scan:cahin", "linear, chain, doubling"),
                                ("progress.policy=nearest", "closest")):
            self.refused(2, "-n", 1, "--set", assignment, example("hello"),
                         says=[assignment.partition("=")[0], why])

    def test_a_variable_that_is_no_setting_is_named_once(self):
        def errors_of(**variables):
            status, out, err = run("-n", 2, example("hello"), env=dict(os.environ, **variables))
            self.assertEqual((status, len(out.splitlines())), (0, 2), err)
            return err
        err = errors_of(MPC_SCHED_STEALS="1", MPC_SCHED_STEAL="1")
        self.assertEqual(len(err.splitlines()), 1, err)
        self.assertIn("MPC_SCHED_STEALS, did you mean 'MPC_SCHED_STEAL'?", err)
        self.assertIn("MPC_NO_SUCH_THING;", errors_of(MPC_NO_SUCH_THING=""))
        # Not those of ./run, mpcc, the tests and GNU MPC.
        self.assertEqual(errors_of(MPC_JOBS="2", MPC_TEST_JOBS="2", MPC_CC="cc", MPC_TEST_SEED="1",
                                   MPC_ROOT="/usr", MPC_LOG_LEVEL="warn"), "")
        self.assertEqual(errors_of(MPC_NO_SUCH_THING="", MPC_LOG_LEVEL="error"), "")

    def test_the_page_of_settings_is_current(self):
        done = subprocess.run([tool("mpcinfo"), "--settings", "--markdown"], capture_output=True,
                              text=True, check=True)
        with open(os.path.join(options.source, "docs", "settings.md"), encoding="utf-8") as file:
            self.assertEqual(file.read(), done.stdout,
                             "run: mpcinfo --settings --markdown > docs/settings.md")

    def test_topology_of_named_machines(self):
        for machine, cores in (("knl64", 64), ("skylake48", 48)):
            done = subprocess.run([tool("mpcinfo"), "--topology", "--machine", machine],
                                  capture_output=True, text=True, check=True)
            self.assertIn(str(cores), done.stdout)
        done = subprocess.run([tool("mpcinfo"), "--topology", "--machine", "no-such-machine"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("knl64", done.stderr)

    # --- running -------------------------------------------------------------------------------

    def test_silent_when_all_is_well(self):
        status, out, err = run("-n", 3, example("hello"))
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(len(out.splitlines()), 3)

    def test_mpmd(self):
        boss = self.programs.build("boss", INIT + 'printf("boss %d %d\\n", rank, size);' + END)
        worker = self.programs.build("worker", INIT + 'printf("worker %d %d\\n", rank, size);' + END)
        status, out, _ = run("-n", 1, boss, ":", "-n", 2, worker)
        self.assertEqual(status, 0)
        self.assertEqual(sorted(out.splitlines()), ["boss 0 3", "worker 1 3", "worker 2 3"])

    def test_arguments_and_environment(self):
        program = self.programs.build(
            "args", INIT + 'if (rank == 0) printf("%d %s %s %s\\n", argc, argv[1], argv[2], '
            'getenv("COLOUR"));' + END)
        status, out, _ = run("-n", 2, "-x", "COLOUR=green", program, "-n", "two words")
        self.assertEqual((status, out), (0, "3 -n two words green\n"))

    def test_lines_stay_whole(self):
        program = self.programs.build(
            "lines", INIT + 'for (int i = 0; i < 200; ++i) { printf("rank %d", rank);'
            'printf(" part two"); if (i % 10 == 0) MPI_Barrier(MPI_COMM_WORLD);'
            'printf(" of line %d\\n", i); }' + END)
        status, out, _ = run("-n", 8, program)
        self.assertEqual(status, 0)
        lines = out.splitlines()
        self.assertEqual(len(lines), 1600)
        for line in lines:
            self.assertRegex(line, r"^rank [0-7] part two of line \d+$")

    def test_long_lines_stay_whole_when_the_reader_is_slow(self):
        program = self.programs.build(
            "long", INIT + "static char line[200001]; memset(line, 'a' + rank, 200000);"
            'for (int i = 0; i < 4; ++i) { printf("%s\\n", line); fprintf(stderr, "%s\\n", line); }'
            + END)
        process = subprocess.Popen([tool("mpcrun"), "-n", "4", program], stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT)
        text = b""
        while piece := process.stdout.read(20000):
            text += piece
            time.sleep(0.0005)
        process.stdout.close()
        self.assertEqual(process.wait(), 0)
        lines = text.split(b"\n")[:-1]
        self.assertEqual({(len(line), len(set(line))) for line in lines}, {(200000, 1)})
        self.assertEqual(len(lines), 32)

    def test_a_forked_child_writes_nothing_of_other_ranks(self):
        program = self.programs.build(
            "forking", "setvbuf(stdout, NULL, _IOFBF, 8192);" + INIT +
            'if (rank == 0) printf("once\\n"); MPI_Barrier(MPI_COMM_WORLD);'
            'if (rank == 1) { if (fork() == 0) { printf("child\\n"); exit(0); } sleep(1); }' + END)
        status, out, _ = run("-n", 3, program)
        self.assertEqual(status, 0)
        self.assertEqual(sorted(out.splitlines()), ["child", "once"])

    def test_labels(self):
        status, out, _ = run("-n", 2, "-l", example("hello"))
        self.assertEqual(status, 0)
        for line in out.splitlines():
            self.assertRegex(line, r"^\[([01])\] hello from rank \1 of 2")

    def test_output_without_newline_is_passed_on_unchanged(self):
        program = self.programs.build("tail", INIT + 'if (rank == 1) printf("no newline");' + END)
        status, out, _ = run("-n", 2, program)
        self.assertEqual((status, out), (0, "no newline"))

    def test_stdin_goes_to_rank_0(self):
        program = self.programs.build(
            "reader", INIT + 'char line[100]; int lines = 0;'
            'while (fgets(line, sizeof line, stdin)) ++lines;'
            'printf("rank %d read %d\\n", rank, lines);' + END)
        status, out, _ = run("-n", 2, program, input="a\nb\nc\n")
        self.assertEqual(status, 0)
        self.assertEqual(sorted(out.splitlines()), ["rank 0 read 3", "rank 1 read 0"])

    def test_stack_size(self):
        program = self.programs.build(
            "deep", INIT + 'volatile char big[12 << 20]; big[0] = 1; big[sizeof big - 1] = 1;'
            'if (rank == 0) printf("deep enough %d\\n", big[0] + big[sizeof big - 1]);' + END)
        status, out, _ = run("-n", 2, "--stack-size", "20M", program)
        self.assertEqual((status, out), (0, "deep enough 2\n"))

    # --- ends ----------------------------------------------------------------------------------

    def test_status_of_a_rank(self):
        program = self.programs.build("seven", INIT + "MPI_Finalize(); return rank == 1 ? 7 : 0;")
        status, _, err = run("-n", 3, program)
        self.assertEqual(status, 7)
        self.assertIn("rank 1", err)

    def test_exit_without_finalize_ends_the_job(self):
        program = self.programs.build(
            "early", INIT + "if (rank == 1) exit(3); MPI_Barrier(MPI_COMM_WORLD);" + END)
        status, _, err = run("-n", 3, program)
        self.assertEqual(status, 3)
        self.assertIn("rank 1", err)
        self.assertIn("MPI_Finalize", err)

    def test_abort(self):
        program = self.programs.build(
            "abort", INIT + "if (rank == 2) MPI_Abort(MPI_COMM_WORLD, atoi(argv[1]));"
            "MPI_Barrier(MPI_COMM_WORLD);" + END)
        for code, wanted in ((42, 42), (0, 0), (256, 1), (300, 44), (-1, 255)):
            status, _, err = run("-n", 4, program, code)
            self.assertEqual(status, wanted, code)
            self.assertIn("rank 2", err)
            self.assertIn(f"MPI_Abort(MPI_COMM_WORLD, {code})", err)

    def test_wrong_mpi_call(self):
        program = self.programs.build(
            "wrong", INIT + "int v = 0; MPI_Send(&v, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);" + END)
        status, _, err = run("-n", 2, program)
        self.assertEqual(status, 123)
        for text in ("MPI_Send", "MPI_ERR_RANK", "99", "rank "):
            self.assertIn(text, err)

    @unittest.skipIf({"address", "thread"} & set(",".join(sys.argv).split(",")),
                     "the sanitizer has its own report of signals")
    def test_crash_report(self):
        status, _, err = run("-n", 2, example("crash"))
        self.assertEqual(status, 128 + signal.SIGSEGV)
        for text in ("rank 1 of 2", "Segmentation fault", "broken", "#0"):
            self.assertIn(text, err)

    @unittest.skipIf({"address", "thread"} & set(",".join(sys.argv).split(",")),
                     "the sanitizer has its own report of signals")
    def test_stack_overflow_report(self):
        status, _, err = run("-n", 2, "--stack-size", "256k", example("crash"), "stack")
        self.assertEqual(status, 128 + signal.SIGSEGV)
        for text in ("rank 1 of 2", "stack overflow", "--stack-size"):
            self.assertIn(text, err)

    @unittest.skipIf({"address", "thread"} & set(",".join(sys.argv).split(",")),
                     "the sanitizer has its own report of signals")
    def test_crash_by_a_call_of_no_function_names_the_caller(self):
        program = self.programs.build(
            "wild", INIT + "if (rank == 1) ((void (*)(void))0)(); MPI_Barrier(MPI_COMM_WORLD);" + END)
        status, _, err = run("-n", 2, program)
        self.assertEqual(status, 128 + signal.SIGSEGV)
        self.assertRegex(err, r"0x0 is no function; it was called by\n  #0 main\+")

    @unittest.skipIf({"address", "thread"} & set(",".join(sys.argv).split(",")),
                     "the sanitizer has its own report of signals")
    def test_crash_report_of_a_fortran_program(self):
        if shutil.which("gfortran") is None:
            self.skipTest("no gfortran")
        program = self.programs.compile(
            "crash.f90",
            "subroutine broken(rank)\n integer :: rank\n integer, pointer :: p(:)\n"
            " nullify(p)\n if (rank == 1) p(1) = 5\nend subroutine\n"
            "program main\n include 'mpif.h'\n integer :: error, rank\n"
            " call mpi_init(error)\n call mpi_comm_rank(MPI_COMM_WORLD, rank, error)\n"
            " call broken(rank)\n call mpi_barrier(MPI_COMM_WORLD, error)\n"
            " call mpi_finalize(error)\nend program\n")
        status, _, err = run("-n", 3, program)
        self.assertEqual(status, 128 + signal.SIGSEGV, err)
        self.assertIn("rank 1 of 3", err)
        self.assertIn("#0 broken_", err)

    def test_deadlock_report(self):
        status, _, err = run("-n", 3, example("deadlock"), timeout=30)
        self.assertEqual(status, 125)
        self.assertIn("deadlock", err)
        for rank in range(3):
            self.assertRegex(err, rf"rank {rank}: .*MPI_Recv.*from rank {(rank + 1) % 3}.*tag 7")

    @unittest.skipIf({"address", "thread"} & set(",".join(sys.argv).split(",")),
                     "the sanitizer has its own report of signals")
    def test_crash_of_a_thread_and_with_a_broken_heap(self):
        program = self.programs.compile(
            "in_thread.c",
            "#include <mpi.h>\n#include <pthread.h>\n#include <stdlib.h>\n"
            "#include <string.h>\nstatic void *t(void *v) { char *p = malloc(10);"
            "if (v == 0) *(volatile int *)8 = 1;"
            "memset(p - 8, 255, 400000); for (;;) free(malloc(100000)); }\n"
            "int main(int c, char **v) { MPI_Init(&c, &v); pthread_t id; int r;"
            "MPI_Comm_rank(MPI_COMM_WORLD, &r);"
            "if (r == 1) { pthread_create(&id, 0, t, c > 1 ? &id : 0);"
            "pthread_join(id, 0); } MPI_Barrier(MPI_COMM_WORLD);"
            "MPI_Finalize(); return 0; }\n",
            "-w", "-O0", "-pthread")
        status, _, err = run("-n", 3, program)
        self.assertEqual(status, 128 + signal.SIGSEGV)
        self.assertIn("rank 1 of 3", err)
        self.assertIn("in a thread that it started", err)
        self.assertRegex(err, r"#0 t\+0x")
        begin = time.monotonic()
        status, _, err = run("-n", 3, program, "heap")
        self.assertIn(status, (128 + signal.SIGSEGV, 128 + signal.SIGABRT))
        self.assertIn("rank 1 of 3", err)
        self.assertLess(time.monotonic() - begin, 20)

    def test_deadlock_report_counts_the_members_that_are_there(self):
        program = self.programs.build(
            "missing", INIT + "if (rank == size - 1) MPI_Recv(&size, 1, MPI_INT, 0, 3, "
            "MPI_COMM_WORLD, MPI_STATUS_IGNORE); MPI_Barrier(MPI_COMM_WORLD);" + END)
        for cores in (1, 2):
            for ranks in (2, 3, 4):
                status, _, err = run("-n", ranks, "--cores", min(cores, os.cpu_count()), program)
                self.assertEqual(status, 125)
                self.assertIn(f"{ranks - 1} of {ranks} members are there", err)

    def test_deadlock_report_says_which_communicator(self):
        program = self.programs.build(
            "splitted", INIT + "MPI_Comm half; MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);"
            'if (rank % 2) MPI_Comm_set_name(half, "odd ones"); if (rank > 1) MPI_Barrier(half);'
            "MPI_Barrier(MPI_COMM_WORLD);" + END)
        status, _, err = run("-n", 6, program)
        self.assertEqual(status, 125)
        self.assertRegex(err, r"ranks 2,4: waits in MPI_Barrier on communicator \d+ "
                              r"\(ranks 0,2,4\): 2 of 3 members are there")
        self.assertRegex(err, r"ranks 3,5: waits in MPI_Barrier on odd ones: 2 of 3 members")

    def test_a_rank_stands_once_in_a_line_of_the_table(self):
        program = self.programs.compile(
            "receivers.c",
            "#include <mpi.h>\n#include <pthread.h>\nstatic void *get(void *v) {"
            "MPI_Recv(&v, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);"
            "return 0; }\nint main(int c, char **v) { int level; pthread_t t[3];"
            "MPI_Init_thread(&c, &v, MPI_THREAD_MULTIPLE, &level);"
            "for (int i = 0; i < 3; ++i) pthread_create(t + i, 0, get, 0);"
            "for (int i = 0; i < 3; ++i) pthread_join(t[i], 0); return 0; }\n",
            "-pthread")
        status, _, err = run("-n", 2, program)
        self.assertEqual(status, 125)
        self.assertRegex(err, r"ranks 0-1: a thread of the rank waits in MPI_Recv.*\(6 threads\)")

    def test_sleeping_rank_is_no_deadlock(self):
        program = self.programs.build(
            "sleepy", INIT + "int v = 0; if (rank == 0) { sleep(2);"
            "MPI_Send(&v, 1, MPI_INT, 1, 0, MPI_COMM_WORLD); } else if (rank == 1)"
            "MPI_Recv(&v, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);" + END)
        for cores in (1, 2):
            status, _, err = run("-n", 3, "--cores", min(cores, os.cpu_count()), program)
            self.assertEqual((status, err), (0, ""))

    def test_sleeping_rank_does_not_stop_its_neighbours(self):
        program = self.programs.build(
            "sleepers", INIT + "sleep(1);" + END)
        begin = time.monotonic()
        status, _, _ = run("-n", 8, "--cores", 1, program)
        self.assertEqual(status, 0)
        self.assertLess(time.monotonic() - begin, 4, "8 ranks slept one after the other")

    def test_timeout(self):
        program = self.programs.build("forever", INIT + "for (;;) sleep(1);" + END)
        status, _, err = run("-n", 2, "--timeout", 1, program, timeout=30)
        self.assertEqual(status, 124)
        self.assertIn("--timeout", err)

    def start(self, *args):
        return subprocess.Popen([tool("mpcrun"), *map(str, args)], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def test_interrupt(self):
        program = self.programs.build(
            "waiting", INIT + 'if (rank == 0) printf("ready\\n"); for (;;) sleep(1);' + END)
        for number in (signal.SIGINT, signal.SIGTERM):
            process = self.start("-n", 2, program)
            self.assertEqual(process.stdout.readline(), "ready\n")
            process.send_signal(number)
            _, err = process.communicate(timeout=20)
            self.assertEqual(process.returncode, 128 + number)
            self.assertIn("mpcrun: ", err)

    def test_quit_prints_the_table_and_goes_on(self):
        program = self.programs.build(
            "table", INIT + 'int v = 0; if (rank == 0) { printf("ready\\n"); sleep(3);'
            "MPI_Send(&v, 1, MPI_INT, 1, 5, MPI_COMM_WORLD); } else"
            " MPI_Recv(&v, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);" + END)
        process = self.start("-n", 2, program)
        self.assertEqual(process.stdout.readline(), "ready\n")
        time.sleep(0.5)
        process.send_signal(signal.SIGQUIT)
        _, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 0)
        self.assertRegex(err, r"rank 1: .*MPI_Recv.*tag 5")

    def wrapper_library(self):
        """A library that counts a rank's barriers in a global of its own."""
        source = os.path.join(self.programs.folder.name, "counting.c")
        library = os.path.join(self.programs.folder.name, "libcounting.so")
        if not os.path.exists(library):
            with open(source, "w", encoding="utf-8") as file:
                file.write("""#include <mpi.h>
#include <stdio.h>
static int calls;
int MPI_Barrier(MPI_Comm comm) { ++calls; return PMPI_Barrier(comm); }
int MPI_Finalize(void) {
  int rank;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  printf("rank %d: %d barriers\\n", rank, calls);
  return PMPI_Finalize();
}
""")
            subprocess.run([tool("mpcc"), "-fPIC", "-shared", source, "-o", library], check=True)
        return library

    BARRIERS = INIT + "for (int i = 0; i < 3; ++i) MPI_Barrier(MPI_COMM_WORLD);" + END
    COUNTED = [f"rank {rank}: 3 barriers" for rank in range(4)]

    def test_preloaded_wrapper_library_is_private_to_each_rank(self):
        program, library = self.programs.build("barriers", self.BARRIERS), self.wrapper_library()
        for job in (dict(env=dict(os.environ, LD_PRELOAD=library)), {}):
            arguments = [] if job else ["-x", f"LD_PRELOAD={library}"]
            status, out, err = run(*arguments, "-n", 4, program, **job)
            self.assertEqual((status, err), (0, ""))
            self.assertEqual(sorted(out.splitlines()), self.COUNTED)

    def test_linked_wrapper_library_is_private_to_each_rank(self):
        library = self.wrapper_library()
        source = self.programs.build("barriers", self.BARRIERS) + ".c"
        program = os.path.join(self.programs.folder.name, "barriers_linked")
        subprocess.run([tool("mpcc"), source, library, "-o", program], check=True)
        status, out, err = run("-n", 4, program)
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(sorted(out.splitlines()), self.COUNTED)

    def test_no_memory_for_stacks(self):
        err = self.refused(3, "--stack-size", "100g", "-n", 3000, example("hello"),
                           says=["no address space for a stack", "lower the stack size"])
        self.assertNotIn("core dumped", err)

    def test_atexit_handlers_run_once_per_rank(self):
        program = self.programs.compile(
            "handlers.c",
            '#include <mpi.h>\n#include <stdio.h>\n#include <stdlib.h>\n'
            'static int rank;\nstatic void bye(void) { printf("bye %d\\n", rank); }\n'
            'int main(int c, char **v) { MPI_Init(&c, &v);'
            'MPI_Comm_rank(MPI_COMM_WORLD, &rank); atexit(bye); MPI_Finalize();'
            'if (rank % 2) exit(0); return 0; }\n')
        status, out, _ = run("-n", 4, program)
        self.assertEqual(status, 0)
        self.assertEqual(sorted(out.splitlines()), [f"bye {r}" for r in range(4)])


def main():
    global options
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--sanitize", default="")
    options, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)


if __name__ == "__main__":
    main()
