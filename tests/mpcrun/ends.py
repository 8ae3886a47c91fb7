"""How jobs end: statuses, reports of crashes and deadlocks, signals, time limits."""

import os
import shutil
import signal
import subprocess
import time
import unittest

from support import END, INIT, WORDS, Case, example, has_processes, run, tool


class Ends(Case):
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

    @unittest.skipIf({"address", "thread"} & WORDS,
                     "the sanitizer has its own report of signals")
    def test_crash_report(self):
        status, _, err = run("-n", 2, example("crash"))
        self.assertEqual(status, 128 + signal.SIGSEGV)
        for text in ("rank 1 of 2", "Segmentation fault", "broken", "#0"):
            self.assertIn(text, err)

    @unittest.skipIf({"address", "thread"} & WORDS,
                     "the sanitizer has its own report of signals")
    def test_stack_overflow_report(self):
        status, _, err = run("-n", 2, "--stack-size", "256k", example("crash"), "stack")
        self.assertEqual(status, 128 + signal.SIGSEGV)
        for text in ("rank 1 of 2", "stack overflow", "--stack-size"):
            self.assertIn(text, err)

    @unittest.skipIf({"address", "thread"} & WORDS,
                     "the sanitizer has its own report of signals")
    def test_crash_by_a_call_of_no_function_names_the_caller(self):
        program = self.programs.build(
            "wild", INIT + "if (rank == 1) ((void (*)(void))0)(); MPI_Barrier(MPI_COMM_WORLD);" + END)
        status, _, err = run("-n", 2, program)
        self.assertEqual(status, 128 + signal.SIGSEGV)
        self.assertRegex(err, r"0x0 is no function; it was called by\n  #0 main\+")

    @unittest.skipIf({"address", "thread"} & WORDS,
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

    @unittest.skipIf({"address", "thread"} & WORDS,
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
        self.assertRegex(err, r"ranks 2,4: wait in MPI_Barrier on communicator \d+ "
                              r"\(ranks 0,2,4\): 2 of 3 members are there")
        self.assertRegex(err, r"ranks 3,5: wait in MPI_Barrier on odd ones: 2 of 3 members")

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

    @unittest.skipIf({"address", "thread"} & WORDS, "a handler may run late")
    def test_a_users_signal_reaches_all_ranks_that_have_a_handler(self):
        program = self.programs.compile(
            "user_signals.c",
            "#include <mpi.h>\n#include <signal.h>\n#include <stdio.h>\n#include <unistd.h>\n"
            "static volatile sig_atomic_t first, second;\n"
            "static void note(int s) { if (s == SIGUSR1) ++first; else ++second; }\n"
            "int main(int argc, char **argv) { int rank, size; (void)size;" + INIT +
            "if (rank != 1 || argc > 1) { signal(SIGUSR1, note); signal(SIGUSR2, note); }"
            'MPI_Barrier(MPI_COMM_WORLD); if (rank == 0) { puts("ready"); fflush(stdout); }'
            "for (int i = 0; i < 3000 && second == 0 && (rank != 1 || argc > 1); ++i) usleep(10000);"
            'MPI_Barrier(MPI_COMM_WORLD); printf("%d: %d %d\\n", rank, (int)first, (int)second);'
            + END + "}\n", "-O1")
        ways = [["-n", 5, program]]  # with more ranks than workers, and without a handler of rank 1
        if has_processes():
            ways += [["-n", 4, "-p", 2, program], ["-n", 3, "--ranks-per-process", 1, program, "all"]]
        for words in ways:
            process = self.start(*words)
            self.assertEqual(process.stdout.readline(), "ready\n")
            for number in (signal.SIGUSR1, signal.SIGUSR2):
                process.send_signal(number)
                time.sleep(0.5)
            out, err = process.communicate(timeout=60)
            self.assertEqual((process.returncode, err), (0, ""), words)
            handles = lambda rank: rank != 1 or words[-1] == "all"
            self.assertEqual(sorted(out.split("\n"))[1:],
                             [f"{r}: {1 if handles(r) else 0} {1 if handles(r) else 0}"
                              for r in range(words[1])], words)

    @unittest.skipIf({"address", "thread"} & WORDS, "a handler may run late")
    def test_a_users_signal_reaches_all_threads_that_wait_for_it(self):
        program = self.programs.compile(
            "signal_threads.c",
            "#define _GNU_SOURCE\n#include <mpi.h>\n#include <pthread.h>\n#include <signal.h>\n"
            "#include <stdio.h>\nstatic int got; static sigset_t set;\n"
            "static void *wait(void *unused) { sigwait(&set, &got); return unused; }\n"
            "int main(int argc, char **argv) { int rank, size; pthread_t thread; (void)size;"
            "sigemptyset(&set); sigaddset(&set, SIGUSR1); pthread_sigmask(SIG_BLOCK, &set, NULL);" + INIT +
            "pthread_create(&thread, NULL, wait, NULL);"
            'MPI_Barrier(MPI_COMM_WORLD); if (rank == 0) { puts("ready"); fflush(stdout); }'
            'pthread_join(thread, NULL); printf("%d: %d\\n", rank, got);' + END + "}\n", "-O1", "-pthread")
        for words in [["-n", 5, program]] + ([["-n", 4, "-p", 2, program]] if has_processes() else []):
            process = self.start(*words)
            self.assertEqual(process.stdout.readline(), "ready\n")
            time.sleep(0.5)
            process.send_signal(signal.SIGUSR1)
            out, err = process.communicate(timeout=60)
            self.assertEqual((process.returncode, err), (0, ""), words)
            self.assertEqual(sorted(out.split("\n"))[1:], [f"{r}: {int(signal.SIGUSR1)}" for r in range(words[1])])

    def test_hosted_ranks_handle_the_signal_that_ends_the_job(self):
        if not has_processes():
            self.skipTest("no job of several processes")
        program = self.programs.compile(
            "hosted_handler.c",
            "#include <mpi.h>\n#include <signal.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
            "static volatile sig_atomic_t is_over; static void note(int s) { (void)s; is_over = 1; }\n"
            "int main(int argc, char **argv) { int rank, size; (void)size;" + INIT +
            "if (rank != 1 || argc == 1) signal(SIGTERM, note);"
            'MPI_Barrier(MPI_COMM_WORLD); if (rank == 0) { puts("ready"); fflush(stdout); }'
            "while (!is_over) usleep(10000); usleep(500000);"
            'printf("%d: saved\\n", rank); fflush(stdout); while (argc > 2) pause();' + END + "}\n", "-O1")
        for words, wanted in (([], [0, 1, 2]), (["but1"], [0, 2]), (["but1", "stay"], [0, 2])):
            process = self.start("-n", 3, "--ranks-per-process", 1, program, *words)
            self.assertEqual(process.stdout.readline(), "ready\n")
            begin = time.monotonic()
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 128 + signal.SIGTERM, err)
            self.assertEqual(err, "mpcrun: Terminated: the job is ended\n")
            self.assertEqual(sorted(out.split("\n"))[1:], [f"{r}: saved" for r in wanted], words)
            self.assertLess(time.monotonic() - begin, 20)

    @unittest.skipIf({"address", "thread"} & WORDS, "a handler may run late")
    def test_ranks_handle_the_signal_that_ends_the_job(self):
        program = self.programs.compile(
            "ending_handler.c",
            "#include <mpi.h>\n#include <signal.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
            "#include <unistd.h>\nstatic volatile sig_atomic_t is_over; static int rank, size;\n"
            "static void note(int s) { is_over = s; }\n"
            'static void leave(int s) { printf("%d: handled %d\\n", rank, s); exit(0); }\n'
            "int main(int argc, char **argv) { " + INIT +
            "int number = atoi(argv[1]), any = 0, steps = 0; const char *how = argv[2];"
            'signal(number, strcmp(how, "exit") && strcmp(how, "receive") ? note : leave);'
            'if (!strcmp(how, "alone") && rank != 1) signal(number, SIG_DFL);'
            'MPI_Barrier(MPI_COMM_WORLD); if (rank == 0) { puts("ready"); fflush(stdout); }'
            'if (!strcmp(how, "compute")) { while (!is_over) ; }'
            'if (!strcmp(how, "alone") && rank == 1) { while (!is_over) usleep(1000); }'
            'if (!strcmp(how, "steps")) while (!any) { int own = is_over != 0; ++steps;'
            " MPI_Allreduce(&own, &any, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD); }"
            'if (!strcmp(how, "sleep")) while (!is_over) sleep(2); if (!strcmp(how, "exit")) for (;;) sleep(100);'
            'if (!strcmp(how, "receive") && rank > 0) MPI_Recv(&any, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);'
            'if (!strcmp(how, "receive")) for (;;) pause();'
            "MPI_Barrier(MPI_COMM_WORLD);"
            'printf("%d: handled %d\\n", rank, (int)is_over); fflush(stdout);' + END + "}\n", "-O1")
        ways = [["-n", 5], ["-n", 3, "--cores", 1]]
        ways += [["-n", 4, "-p", 2]] if has_processes() else []
        cases = [(signal.SIGTERM, how) for how in ("compute", "steps", "sleep", "alone", "exit", "receive")]
        for number, how in cases + [(signal.SIGINT, "steps"), (signal.SIGHUP, "compute")]:
            for words in ways:
                if how == "alone" and "-p" in words:
                    continue  # a process without a handler ends at once
                process = self.start(*words, "--set", "job.signal_grace_ms=20000", program, int(number), how)
                self.assertEqual(process.stdout.readline(), "ready\n")
                begin = time.monotonic()
                process.send_signal(number)
                out, err = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 128 + number, (words, how, err))
                self.assertRegex(err, r"^mpcrun: \w+: the job is ended\n$", (words, how))
                handled = [f"{r}: handled {int(number) if how != 'alone' or r == 1 else 0}" for r in range(words[1])]
                self.assertEqual(sorted(out.split()), sorted(" ".join(handled).split()), (words, how))
                self.assertLess(time.monotonic() - begin, 15, (words, how))

    def test_ranks_that_do_not_end_at_a_signal_are_ended(self):
        program = self.programs.compile(
            "stubborn.c",
            "#include <mpi.h>\n#include <signal.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
            "static void ignore(int s) { (void)s; }\n"
            "int main(int argc, char **argv) { int rank, size; (void)size; volatile int v = 0;" + INIT +
            'signal(SIGTERM, ignore); if (rank == 0) { puts("ready"); fflush(stdout); }'
            "while (argc == 1 || rank == 0) ++v;"
            "MPI_Barrier(MPI_COMM_WORLD);" + END + "}\n", "-O1")
        for words in ([], ["wait"]):
            process = self.start("-n", 3, program, *words)
            self.assertEqual(process.stdout.readline(), "ready\n")
            process.send_signal(signal.SIGTERM)
            _, err = process.communicate(timeout=30)
            self.assertEqual((process.returncode, err), (143, "mpcrun: Terminated: the job is ended\n"))

    @unittest.skipIf({"address", "thread"} & WORDS,
                     "the sanitizer has its own report of signals")
    def test_signal_without_handler_names_the_rank(self):
        program = self.programs.build(
            "deadly", INIT + "MPI_Barrier(MPI_COMM_WORLD); int number = atoi(argv[1]);"
            "if (rank == 2 && !strcmp(argv[2], \"raise\")) raise(number);"
            "if (rank == 2 && !strcmp(argv[2], \"kill\")) kill(getpid(), number);"
            "if (rank == 2 && !strcmp(argv[2], \"alarm\")) { alarm(1); for (;;) pause(); }"
            "if (rank == 2 && !strcmp(argv[2], \"pipe\")) { int ends[2]; if (pipe(ends)) return 9;"
            "close(ends[0]); if (write(ends[1], \"x\", 1)) return 8; }"
            "MPI_Barrier(MPI_COMM_WORLD);" + END)
        cases = [(number, "raise") for number in (
            signal.SIGUSR1, signal.SIGUSR2, signal.SIGXCPU, signal.SIGRTMIN, signal.SIGQUIT,
            signal.SIGTERM, signal.SIGINT, signal.SIGHUP)]
        for number, how in cases + [(signal.SIGUSR1, "kill"), (signal.SIGALRM, "alarm"),
                                    (signal.SIGPIPE, "pipe")]:
            status, _, err = run("-n", 3, program, int(number), how,
                                 preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL))
            self.assertEqual(status, 128 + number, (number, how, err))
            self.assertRegex(err, rf"mpcrun: rank 2 of 3 .*died of signal {int(number)} ")

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
