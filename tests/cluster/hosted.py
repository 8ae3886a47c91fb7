#!/usr/bin/env python3
"""mpcrun --ranks-per-process 1: each rank is a process of its own, whatever its command is."""

import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

from common import END, INIT, ClusterCase, parse_options, processes_of, run, tool, traffic
from support import SANITIZED, options

HOSTED = ("--ranks-per-process", 1)
# Rank 0 waits for ever; the others do not wait in MPI, so it is no deadlock.
STUCK = (" if (rank == 0) MPI_Recv(&size, 1, MPI_INT, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);"
         " else for (;;) pause(); ")
READY = " MPI_Barrier(MPI_COMM_WORLD); if (rank == 0) { puts(\"ready\"); fflush(stdout); } "
EXCHANGE = (" int got = -1; MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 3, &got, 1, MPI_INT,"
            " (rank + size - 1) % size, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);"
            " if (got != (rank + size - 1) % size) return 9; ")
SAY = " printf(\"rank %d of %d\\n\", rank, size); "
SOON_S = 5.0


def lines(text):
    return sorted(text.splitlines())


def ranks(count):
    return [f"rank {r} of {count}" for r in range(count)]


class HostedCase(ClusterCase):
    """Programs of gcc's, which is told where MPI is and nothing else."""

    made = {}

    def gcc(self, name, body, *flags):
        if name not in self.made:
            folder = self.programs.folder.name
            source, output = os.path.join(folder, name + "_g.c"), os.path.join(folder, name + "_g")
            with open(source, "w", encoding="utf-8") as file:
                file.write("#define _GNU_SOURCE\n#include <mpi.h>\n#include <pthread.h>\n"
                           "#include <signal.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
                           "#include <string.h>\n#include <unistd.h>\n#include <sys/wait.h>\n"
                           "int main(int argc, char **argv) {\n int rank = -1, size = 0;\n"
                           "(void)rank; (void)size;" + body + "\n}\n")
            library = os.path.join(options.build, "lib")
            subprocess.run(["gcc", "-O1", source, "-I" + os.path.join(options.build, "include"),
                            "-L" + library, "-lmpi_abi", "-Wl,-rpath," + library, "-pthread", *flags,
                            "-o", output], check=True)
            self.made[name] = output
        return self.made[name]

    def runs(self, count, *command, expect=None, env=None):
        status, out, err = run("-n", count, *HOSTED, *command, env=env)
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(lines(out), ranks(count) if expect is None else sorted(expect))

    def fails(self, status, says, *command, count=2):
        got, out, err = run("-n", count, *HOSTED, *command)
        self.assertEqual(got, status, err)
        for text in says:
            self.assertIn(text, err)
        self.assertEqual(len(err.splitlines()), 1, err)
        return out, err

    def gone(self, *marks):
        for _ in range(60):
            left = {pid: line for mark in marks for pid, line in processes_of(mark).items()}
            if not left:
                return
            time.sleep(0.05)
        self.fail(f"left behind: {left}")


@unittest.skipIf(SANITIZED, "the library needs a sanitizer that gcc's programs do not bring")
class Commands(HostedCase):
    """What could not be a rank of a process that has several."""

    def test_a_program_of_gcc(self):
        program = self.gcc("hello", INIT + EXCHANGE + SAY + END)
        self.runs(3, program)
        self.runs(1, program)

    def test_a_program_for_a_fixed_address(self):
        self.runs(2, self.gcc("fixed", INIT + EXCHANGE + SAY + END, "-no-pie"))

    def test_a_program_of_mpcc(self):
        self.runs(3, self.build("hello", INIT + EXCHANGE + SAY + END))

    def test_auto_asks_the_program(self):
        body = INIT + " printf(\"%d\\n\", (int)getpid()); " + END
        for program, processes in ((self.build("pid", body), 1), (self.gcc("pid", body), 4)):
            status, out, err = run("-n", 4, "--ranks-per-process", "auto", program)
            self.assertEqual((status, err), (0, ""))
            self.assertEqual(len(set(out.split())), processes)

    def test_scripts_and_tools(self):
        program = self.gcc("hello", INIT + EXCHANGE + SAY + END)
        script = os.path.join(self.programs.folder.name, "start.sh")
        with open(script, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\nread line\necho \"line $line\"\n{program} \"$@\"\necho end $?\n")
        os.chmod(script, 0o755)
        self.runs(2, script, expect=ranks(2) + 2 * ["line ", "end 0"])
        self.runs(2, "env", "A=1", program)
        self.runs(2, "sh", "-c", f"exec {program}")
        self.runs(2, sys.executable, "-c",
                  f"import subprocess; subprocess.run(['{program}'], check=True)")

    @unittest.skipUnless(shutil.which("valgrind"), "valgrind is not installed")
    def test_valgrind_sees_one_rank_each(self):
        program = self.gcc("leaks", INIT + EXCHANGE + " if (rank == 1) *(volatile char *)malloc(1) = 0,"
                           " ((volatile char *)malloc(8))[9] = 1; " + SAY + END, "-g")
        status, out, err = run("-n", 2, *HOSTED, "-l", "valgrind", "--tool=memcheck", program,
                               timeout=120)
        self.assertEqual(status, 0, err)
        self.assertEqual(lines(out), ["[0] rank 0 of 2", "[1] rank 1 of 2"])
        self.assertIn("Invalid write of size 1", err)

    def test_python(self):
        script = os.path.join(self.programs.folder.name, "ring.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write("import ctypes, sys\n"
                       f"mpi = ctypes.CDLL('{options.build}/lib/libmpi_abi.so.1')\n"
                       "mpi.MPI_Init(None, None)\n"
                       "world = ctypes.c_void_p(0x101)\n"
                       "rank, size = ctypes.c_int(), ctypes.c_int()\n"
                       "mpi.MPI_Comm_rank(world, ctypes.byref(rank))\n"
                       "mpi.MPI_Comm_size(world, ctypes.byref(size))\n"
                       "mpi.MPI_Barrier(world)\n"
                       "print('rank', rank.value, 'of', size.value)\n"
                       "mpi.MPI_Finalize()\n")
        self.runs(3, sys.executable, script)

    def test_a_command_without_mpi(self):
        self.runs(4, "echo", "hello", expect=4 * ["hello"])

    def test_each_program_has_its_number(self):
        body = (INIT + " int *number, flag; MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &flag);"
                " printf(\"rank %d is of %d\\n\", rank, flag ? *number : -1); " + END)
        program = self.gcc("number", body)
        status, out, err = run("-n", 1, *HOSTED, program, ":", "-n", 2, program, ":", "-n", 1, "sh", "-c", program)
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(lines(out), [f"rank {rank} is of {number}" for rank, number in enumerate((0, 1, 1, 2))])

    def test_several_programs(self):
        program = self.gcc("hello", INIT + EXCHANGE + SAY + END)
        status, out, err = run("-n", 1, *HOSTED, "sh", "-c", program, ":", "-n", 2, program)
        self.assertEqual((status, err, lines(out)), (0, "", ranks(3)))


@unittest.skipIf(SANITIZED, "the library needs a sanitizer that gcc's programs do not bring")
class Processes(HostedCase):
    """What a process has of its own."""

    def test_all_kinds_of_messages(self):
        status, out, err = run("-n", 4, *HOSTED, traffic(), timeout=120)
        self.assertEqual((status, err), (0, ""))

    def test_threads_that_all_call_mpi(self):
        body = ("int level; MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);"
                " MPI_Comm_rank(MPI_COMM_WORLD, &rank); MPI_Comm_size(MPI_COMM_WORLD, &size);"
                " void *echo(void *tag) { for (int i = 0; i < 200; ++i) { int it = i;"
                " if (rank == 0) MPI_Send(&it, 1, MPI_INT, 1, (int)(long)tag, MPI_COMM_WORLD);"
                " MPI_Recv(&it, 1, MPI_INT, 1 - rank, (int)(long)tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);"
                " if (rank == 1) MPI_Send(&it, 1, MPI_INT, 0, (int)(long)tag, MPI_COMM_WORLD);"
                " if (it != i) abort(); } return NULL; }"
                " pthread_t all[3]; for (long t = 0; t < 3; ++t) pthread_create(&all[t], NULL, echo, (void *)t);"
                " for (int t = 0; t < 3; ++t) pthread_join(all[t], NULL);" + SAY + END)
        self.runs(2, self.gcc("threads", body))

    def test_fork_exec_and_signal_handlers(self):
        body = (" void take(int s) { (void)s; } signal(SIGUSR1, take);" + INIT +
                " pid_t child = fork(); if (child == 0) { execlp(\"true\", \"true\", NULL); _exit(7); }"
                " int end; waitpid(child, &end, 0); if (end != 0) return 8;"
                " child = fork(); if (child == 0) exit(0); waitpid(child, &end, 0); if (end != 0) return 8;"
                " raise(SIGUSR1);" + EXCHANGE + SAY + "fflush(stdout);"
                " MPI_Finalize(); execlp(\"echo\", \"echo\", \"next\", NULL); return 7;")
        self.runs(2, self.gcc("forks", body), expect=ranks(2) + 2 * ["next"])

    def test_only_one_process_of_a_rank_is_it(self):
        program = self.gcc("hello", INIT + EXCHANGE + SAY + END)
        status, out, err = run("-n", 2, *HOSTED, "sh", "-c", f"{program}; {program}; echo status $?")
        self.assertEqual(lines(out), ranks(2) + 2 * ["status 3"])
        self.assertEqual(status, 0, err)
        self.assertRegex(err, r"mpcrun: process \d+ was this rank already: only one of the processes")

    def test_a_job_within_a_rank(self):
        inner = self.build("hello", INIT + EXCHANGE + SAY + END)
        self.runs(2, "sh", "-c", f"{tool('mpcrun')} -n 2 {inner}", expect=2 * ranks(2))

    def test_input_goes_to_rank_0(self):
        done = subprocess.run([tool("mpcrun"), "-n", "2", "--ranks-per-process", "1", "-l", "cat"],
                              input="a\nb\n", capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "[0] a\n[0] b\n", ""))

    def test_options(self):
        self.runs(2, "--wdir", "/tmp", "pwd", expect=2 * ["/tmp"])
        self.runs(2, "-x", "A_NAME=value", "sh", "-c", "echo $A_NAME", expect=2 * ["value"])
        self.runs(2, "--set", "message.eager_limit=100", "sh", "-c", "echo $MPC_MESSAGE_EAGER_LIMIT",
                  expect=2 * ["100"])
        status, out, _ = run("-n", 2, *HOSTED, "--show", "sh", "-c", "true")
        self.assertEqual((status, len(out.splitlines())), (0, 2))
        self.refused(2, "-n", 2, *HOSTED, "--cores", 1, "hostname", says=("--cores", "-p RANKS"))


@unittest.skipIf(SANITIZED, "the library needs a sanitizer that gcc's programs do not bring")
class Ends(HostedCase):
    """One report, one status, nothing left behind."""

    def stuck(self, name, body, status, *says):
        program = self.gcc(name, INIT + body + STUCK + END)
        for command in ((program,), ("sh", "-c", f"{program}; sleep 1000.{os.getpid()}")):
            begin = time.monotonic()
            _, err = self.fails(status, says, *command)
            self.assertLess(time.monotonic() - begin, SOON_S)
            self.gone(program, f"1000.{os.getpid()}")
        return err

    def test_abort(self):
        self.stuck("aborts", "if (rank == 1) MPI_Abort(MPI_COMM_WORLD, 7);", 7,
                   "rank 1: MPI_Abort(MPI_COMM_WORLD, 7)")

    def test_exit_without_finalize(self):
        self.stuck("leaves", "if (rank == 1) exit(0);", 1, "rank 1 of 2", "without calling MPI_Finalize")
        self.stuck("quits", "if (rank == 1) _exit(0);", 1, "rank 1 of 2", "without calling MPI_Finalize")
        self.stuck("fails", "if (rank == 1) exit(5);", 5, "rank 1 of 2", "status 5")

    def test_a_crash(self):
        program = self.gcc("crashes", INIT + "if (rank == 1) raise(SIGSEGV);" + STUCK + END)
        self.fails(128 + signal.SIGSEGV, ("rank 1 of 2", "died of signal 11"), program)
        pipe = self.gcc("pipes", INIT + "int ends[2]; if (rank == 1 && pipe(ends) == 0) { close(ends[0]);"
                        " if (write(ends[1], \"x\", 1)) return 8; }" + STUCK + END)
        self.fails(128 + signal.SIGPIPE, ("rank 1 of 2", "died of signal 13"), pipe)
        # The shell says that on its standard error, and goes on.
        _, _, err = run("-n", 2, *HOSTED, "sh", "-c", f"{program}; sleep 1000.{os.getpid()}")
        self.assertIn("without calling MPI_Finalize", err)
        self.gone(program, f"1000.{os.getpid()}")

    def test_a_status_after_finalize(self):
        program = self.gcc("late", INIT + "MPI_Finalize(); return rank == 1 ? 9 : 0;")
        self.fails(9, ("rank 1 of 2", "status 9"), program)
        good = self.gcc("hello", INIT + EXCHANGE + SAY + END)
        self.fails(4, ("status 4",), "sh", "-c", f"{good}; exit 4")

    def test_a_rank_that_does_not_come(self):
        program = self.gcc("hello", INIT + EXCHANGE + SAY + END)
        self.fails(1, ("rank 1 of 2 (true) has ended without calling MPI_Init", "rank 0 waits"),
                   program, ":", "-n", 1, "true", count=1)

    def test_what_cannot_be_started(self):
        self.fails(127, ("no-such-program", "No such file"), "no-such-program")
        self.fails(126, ("/etc/passwd", "Permission denied"), "/etc/passwd")
        self.fails(3, ("exited with status 3",), "sh", "-c", "exit 3")

    def start(self, name, *around):
        program = self.gcc(name, INIT + READY + STUCK + END)
        command = [*around, program] if not around else [*around, f"{program}; sleep 1000.{os.getpid()}"]
        job = subprocess.Popen([tool("mpcrun"), "-n", "2", "--ranks-per-process", "1", *command],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(job.stdout.readline(), "ready\n")
        return job, program

    def test_signals(self):
        for which, name in ((signal.SIGTERM, "Terminated"), (signal.SIGINT, "Interrupt")):
            job, program = self.start("waits", "sh", "-c")
            begin = time.monotonic()
            job.send_signal(which)
            _, err = job.communicate(timeout=30)
            self.assertEqual((job.returncode, err), (128 + which, f"mpcrun: {name}: the job is ended\n"))
            self.assertLess(time.monotonic() - begin, SOON_S)
            self.gone(program, f"1000.{os.getpid()}")

    def test_handlers_of_ranks_at_the_end(self):
        """Rank 1 has a handler that takes its time; it runs once, whoever was sent the signal."""
        program = self.gcc(
            "handles", INIT + " static int me, leaves; me = rank, leaves = argc > 2; void save(int s) { usleep(400000);"
            " char text[40]; int n = snprintf(text, 40, \"rank %d saved at %d\\n\", me, s);"
            " if (write(1, text, n) != n) _exit(2); if (leaves) exit(0); }"
            " if (rank == 1) signal(atoi(argv[1]), save);" + READY + " for (;;) pause();" + END)
        for which, name in ((signal.SIGINT, "Interrupt"), (signal.SIGTERM, "Terminated"),
                            (signal.SIGHUP, "Hangup")):
            for is_group in (False, True):
                for words in ([], ["exit"]):
                    job = subprocess.Popen([tool("mpcrun"), "-n", "2", *map(str, HOSTED), program, str(int(which)), *words],
                                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                           start_new_session=True, restore_signals=True,
                                           preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL))
                    self.assertEqual(job.stdout.readline(), "ready\n")
                    if is_group:  # as Ctrl-C and `timeout` do
                        os.killpg(job.pid, which)
                    else:
                        job.send_signal(which)
                    out, err = job.communicate(timeout=30)
                    case = (which, is_group, words)
                    self.assertEqual((job.returncode, err), (128 + which, f"mpcrun: {name}: the job is ended\n"), case)
                    self.assertEqual(out, f"rank 1 saved at {int(which)}\n", case)
                    self.gone(program)

    def test_a_failure_after_a_question(self):
        """Ctrl-\\ comes to all of the terminal's processes, and says nothing of how ranks end."""
        program = self.gcc("asked", INIT + READY + " if (rank == 1) { sleep(1); exit(5); }" + STUCK + END)
        job = subprocess.Popen([tool("mpcrun"), "-n", "2", *map(str, HOSTED), program], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, start_new_session=True)
        self.assertEqual(job.stdout.readline(), "ready\n")
        os.killpg(job.pid, signal.SIGQUIT)
        _, err = job.communicate(timeout=30)
        self.assertEqual(job.returncode, 5, err)
        self.assertRegex(err, r"state of the job\n(.*\n)+mpcrun: rank 1 of 2 .*exited with status 5 without calling")

    def test_nothing_stays_when_mpcrun_is_killed(self):
        job, program = self.start("waits", "sh", "-c")
        job.kill()
        job.communicate()
        self.gone(program, f"1000.{os.getpid()}")

    def test_a_time_limit_shows_what_ranks_do(self):
        program = self.gcc("waits", INIT + READY + STUCK + END)
        status, _, err = run("-n", 2, *HOSTED, "--timeout", 2, program)
        self.assertEqual(status, 124, err)
        self.assertRegex(err, r"rank 0: waits in MPI_Recv.*\n +rank 1: running in its own code")

    def test_a_deadlock(self):
        wait = "MPI_Recv(&size, 1, MPI_INT, 1 - rank, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);"
        status, _, err = run("-n", 2, *HOSTED, self.gcc("deadlock", INIT + READY + wait + END))
        self.assertEqual(status, 125, err)
        self.assertRegex(err, r"^mpcrun: deadlock: every rank waits.*\n"
                              r"( +rank [01]: waits in MPI_Recv.*\n){2}$")
        # A thread that nobody has seen might send.
        init = INIT.replace("MPI_Init(&argc, &argv);", "int level;"
                            " MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);")
        status, _, err = run("-n", 2, *HOSTED, "--timeout", 2,
                             self.gcc("no_deadlock", init + READY + wait + END))
        self.assertEqual(status, 124, err)

    def test_a_refused_program_names_the_way_out(self):
        program = self.gcc("hello", INIT + EXCHANGE + SAY + END)
        for command in ((program,), ("sh", "-c", "true"), ("valgrind", "x"), ("env", "A=1", "x")):
            if shutil.which(command[0]):
                self.refused(126, "-n", 2, *command, says=("mpcrun --ranks-per-process 1 ",))


@unittest.skipIf(SANITIZED, "the library needs a sanitizer that gcc's programs do not bring")
class Output(HostedCase):
    """Lines come at once, though standard output is a pipe."""

    def test_what_was_printed_before_an_end_without_exit(self):
        last = self.gcc("quiet_end", INIT + SAY + "MPI_Finalize(); _exit(0);")
        self.runs(2, last)
        status, out, _ = run("-n", 2, *HOSTED, self.gcc("abort", INIT + SAY + "MPI_Barrier(MPI_COMM_WORLD);"
                                                        " if (rank == 1) abort();" + STUCK + END))
        self.assertEqual((status, lines(out)), (128 + signal.SIGABRT, ranks(2)))

    def test_what_was_printed_before_mpi_init(self):
        self.runs(2, self.gcc("early", "printf(\"early\\n\");" + INIT + "putchar('a'); putchar('\\n');" + SAY +
                              "MPI_Finalize(); _exit(0);"), expect=ranks(2) + 2 * ["early", "a"])

    def test_lines_of_a_running_job(self):
        program = self.gcc("runs", INIT + SAY + "sleep(60);" + END)
        with subprocess.Popen([tool("mpcrun"), "-n", "2", "--ranks-per-process", "1", program],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as job:
            begin = time.monotonic()
            self.assertIn("rank", job.stdout.readline())
            self.assertLess(time.monotonic() - begin, 20)
            job.terminate()

    def test_a_buffer_of_the_program_stays(self):
        body = ("static char room[4096]; setvbuf(stdout, room, _IOFBF, sizeof room);" + INIT + SAY +
                "MPI_Finalize(); _exit(0);")
        self.runs(2, self.gcc("buffer", body), expect=[])

    def test_the_network_is_no_leak(self):
        try:
            program = self.gcc("address", INIT + EXCHANGE + SAY + END, "-fsanitize=address")
            leak = self.gcc("leak", INIT + "if (rank) *(void *volatile *)malloc(8) = NULL;" + SAY + END,
                            "-fsanitize=address")
        except subprocess.CalledProcessError:
            self.skipTest("gcc has no AddressSanitizer")
        self.runs(2, program)
        status, _, err = run("-n", 2, *HOSTED, leak)
        self.assertEqual(status, 1, err)
        self.assertIn("Direct leak of 8 byte", err)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + parse_options())
