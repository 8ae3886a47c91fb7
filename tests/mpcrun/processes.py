"""What a rank has of a process: libc, /proc, children, threads, timers; and what it may not do."""

import os
import resource
import signal
import subprocess
import tempfile
import unittest

from support import END, INIT, WORDS, Case, run, tool


class Processes(Case):
    def test_libc_messages_name_the_program(self):
        program = self.programs.build(
            "named", INIT + "if (rank == 1) perror(program_invocation_short_name);" + END)
        status, _, err = run("-n", 2, program)
        self.assertEqual(status, 0)
        self.assertTrue(err.startswith("named: "), err)

    def test_libc_messages_name_the_program_of_each_rank(self):
        body = (INIT + "errno = ENOENT; error(0, ENOENT, \"e%d\", rank); warnx(\"w%d\", rank);"
                "MPI_Barrier(MPI_COMM_WORLD);"
                "if (rank == 1) assert(rank == 0);" + "MPI_Barrier(MPI_COMM_WORLD);" + END)
        text = ("#include <assert.h>\n#include <err.h>\n#include <errno.h>\n#include <error.h>\n"
                "#include <mpi.h>\nint main(int argc, char** argv) {int rank, size;" + body + "}")
        one = self.programs.compile("says_one.c", text)
        two = self.programs.compile("says_two.c", text)
        _, _, err = run("-n", 1, one, ":", "-n", 1, two)
        lines = err.splitlines()
        self.assertIn(f"{one}: e0: No such file or directory", lines)
        self.assertIn(f"{two}: e1: No such file or directory", lines)
        self.assertIn("says_one: w0", lines)
        self.assertIn("says_two: w1", lines)
        self.assertRegex(err, r"(?m)^says_two: .*says_two.c:\d+: main: Assertion `rank == 0' failed")

    def test_proc_self_is_that_of_the_rank(self):
        program = self.programs.build(
            "proc_self", "char text[512] = \"\", link[512] = \"\";"
            "FILE *file = fopen(\"/proc/self/cmdline\", \"r\");"
            "size_t n = fread(text, 1, sizeof text, file); fclose(file);"
            "for (size_t i = 0; i + 1 < n; ++i) if (text[i] == 0) text[i] = ' ';"
            "if (readlink(\"/proc/self/exe\", link, sizeof link - 1) < 0) return 1;"
            "char *real = realpath(\"/proc/self/exe\", NULL);"
            "printf(\"%s|%s|%d\\n\", text, link, strcmp(real, link)); return 0;")
        status, out, err = run("-n", 1, program, "a", "b c", ":", "-n", 1, program, "other")
        self.assertEqual(status, 0, err)
        real = os.path.realpath(program)
        self.assertEqual(sorted(out.splitlines()), sorted([f"{program} a b c|{real}|0",
                                                           f"{program} other|{real}|0"]))

    def test_exec_of_a_rank_is_refused_and_a_child_may(self):
        program = self.programs.build(
            "execs", "if (getenv(\"AGAIN\") == NULL) { setenv(\"AGAIN\", \"1\", 1);"
            "execv(argv[0], argv); perror(\"exec\"); }" + INIT +
            "if (fork() == 0) { execlp(\"sh\", \"sh\", \"-c\", \"exit $((AGAIN + 6))\", NULL); _exit(1); }"
            "int status; wait(&status); if (WEXITSTATUS(status) != 7) return 3;"
            "printf(\"%d of %d\\n\", rank, size);" + END)
        status, out, err = run("-n", 3, program)
        self.assertEqual(status, 126, err)
        self.assertEqual(sorted(out.splitlines()), ["0 of 3", "1 of 3", "2 of 3"])
        for rank in range(3):
            self.assertIn(f'mpcrun: rank {rank} of 3 called execv("{program}"): refused', err)
        self.assertEqual(err.count("exec: Operation not supported"), 3)

    def test_a_refused_exec_leaves_the_status_of_a_rank(self):
        program = self.programs.build(
            "exec_then", INIT + 'if (rank == 1) execlp("echo", "echo", "x", (char*)0);'
            "MPI_Finalize(); return rank == 1 ? 5 : 0;")
        status, _, err = run("-n", 2, program)
        self.assertEqual(status, 5, err)
        self.assertIn("refused", err)

    def test_a_stopped_child_is_told_to_who_wants_to_know(self):
        program = self.programs.build(
            "stops", "static volatile sig_atomic_t count; void handle(int s) { (void)s; ++count; }"
            "struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};"
            "if (argv[1][0] == 'n') action.sa_flags |= SA_NOCLDSTOP;"
            "sigaction(SIGCHLD, &action, NULL); pid_t child = fork();"
            "if (child == 0) { raise(SIGSTOP); _exit(0); }"
            "int status; waitpid(child, &status, WUNTRACED); usleep(50000);"
            # It may come late where others compute; where it must not come, 50 ms have to do.
            "if (argv[1][0] == 'y') for (int i = 0; i < 5000 && !count; ++i) usleep(1000);"
            "printf(\"%d \", (int)count); kill(child, SIGCONT); waitpid(child, &status, 0);"
            "for (int i = 0; i < 5000 && !count; ++i) usleep(1000);"
            "printf(\"%d\\n\", count > 0); return 0;")
        for argument, expected in (("no", "0 1\n"), ("yes", "1 1\n")):
            status, out, err = run("-n", 1, program, argument)
            self.assertEqual((status, out), (0, expected), err)

    def test_the_end_of_a_child_is_told_to_its_rank_only(self):
        program = self.programs.build(
            "told", INIT + "static volatile sig_atomic_t count, seen; void handle(int s, siginfo_t *i, void *c) {"
            "(void)s; (void)c; seen = i->si_pid; ++count; }"
            "struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_RESTART};"
            "sigaction(SIGCHLD, &action, NULL); MPI_Barrier(MPI_COMM_WORLD);"
            "char time[20]; sprintf(time, \"0.0%d\", atoi(argv[1]) * (rank + 1));"
            "pid_t child = argv[2][0] == 'v' ? vfork() : fork();"
            'if (child == 0) { execlp("sleep", "sleep", time, NULL); _exit(9); }'
            "for (int i = 0; i < 3000 && !count; ++i) usleep(1000);"
            "int ended = waitpid(child, NULL, 0) == child; MPI_Barrier(MPI_COMM_WORLD);"
            'printf("%d %d %d\\n", (int)count, seen == child, ended);' + END)
        for pause, call in ((0, "fork"), (2, "fork"), (0, "vfork"), (2, "vfork")):  # together, or one after the other
            status, out, err = run("-n", 4, "--timeout", 20, program, pause, call)
            self.assertEqual((status, out), (0, "1 1 1\n" * 4), err)

    def test_ranks_that_block_the_signal_of_children_wait_for_it(self):
        program = self.programs.build(
            "suspends", INIT + "static volatile sig_atomic_t got; void handle(int s) { (void)s; got = 1; }"
            "sigset_t only, before; siginfo_t info; sigemptyset(&only); sigaddset(&only, SIGCHLD);"
            "signal(SIGCHLD, handle); sigprocmask(SIG_BLOCK, &only, &before); MPI_Barrier(MPI_COMM_WORLD);"
            "if (sigismember(&before, SIGCHLD)) return 2;"
            "pid_t child = fork(); if (child == 0) { usleep(100000); _exit(0); }"
            "if (argc == 1) while (!got) { if (sigsuspend(&before) != -1 || errno != EINTR) return 3; }"
            "else if (sigwaitinfo(&only, &info) != SIGCHLD || info.si_pid != child || got) return 4;"
            "return waitpid(child, NULL, 0) != child || MPI_Finalize();")
        for words in ((), ("waits",)):
            status, _, err = run("-n", 4, "--timeout", 20, program, *words)
            self.assertEqual(status, 0, err)

    def test_closed_standard_streams_are_dev_null(self):
        program = self.programs.build(
            "closed", INIT + "char link[100] = \"\";"
            "for (int fd = 0; fd < 3; ++fd) { char path[30];"
            "sprintf(path, \"/proc/self/fd/%d\", fd); memset(link, 0, sizeof link);"
            "if (readlink(path, link, sizeof link - 1) < 0) return 10 + fd;"
            "if (argv[1][fd] == 'c' && strcmp(link, \"/dev/null\")) return 20 + fd; }"
            "if (argv[1][0] == 'c' && rank == 0 && getchar() != EOF) return 4;" + END)
        for closed in ("c--", "-c-", "--c", "ccc"):
            redirections = " ".join(f"{fd}>&-" for fd in range(3) if closed[fd] == "c")
            done = subprocess.run(["sh", "-c", f'"$@" {redirections}', "sh", tool("mpcrun"),
                                   "-n", "2", program, closed],
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
            self.assertEqual(done.returncode, 0, closed)

    def test_exit_within_libc_ends_the_rank_only(self):
        program = self.programs.compile("helps.c", """
            #include <argp.h>
            #include <stdio.h>
            #include <stdlib.h>
            const char *argp_program_version = "helps 7.5";
            static const struct argp parser = {0};
            static void last(void) { puts("the end"); }
            int main(int argc, char **argv) {
              atexit(last);
              argp_parse(&parser, argc, argv, 0, NULL, NULL);
              puts("no version");
              return 1;
            }""")
        status, out, err = run("-n", 3, program, "--version")
        self.assertEqual(status, 0, err)
        self.assertEqual(sorted(out.splitlines()), ["helps 7.5"] * 3 + ["the end"] * 3)

    def test_nohup_keeps_the_job_from_the_end_of_its_terminal(self):
        program = self.programs.build(
            "hangup", INIT + "if (rank == 0) { kill(getpid(), SIGHUP); usleep(200000); puts(\"goes on\"); }"
            "MPI_Barrier(MPI_COMM_WORLD);" + END)
        def ignore():
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
        status, out, err = run("-n", 2, program, preexec_fn=ignore)
        self.assertEqual((status, out), (0, "goes on\n"), err)
        status, _, err = run("-n", 2, program, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL))
        self.assertEqual(status, 128 + signal.SIGHUP, err)

    @unittest.skipIf("thread" in WORDS, "the sanitizer does not know the threads of timers")
    def test_a_timer_that_will_send_is_no_deadlock(self):
        program = self.programs.compile("timer.c", """
            #define _GNU_SOURCE
            #include <mpi.h>
            #include <signal.h>
            #include <stdio.h>
            #include <time.h>
            static int rank;
            static void later(union sigval value) {
              MPI_Send(value.sival_ptr, 1, MPI_INT, rank, 1, MPI_COMM_WORLD);
            }
            int main(int argc, char **argv) {
              int provided, number = 0, sent;
              MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
              MPI_Comm_rank(MPI_COMM_WORLD, &rank);
              sent = 10 + rank;
              timer_t id;
              struct sigevent event = {.sigev_notify = SIGEV_THREAD};
              event.sigev_notify_function = later;
              event.sigev_value.sival_ptr = &sent;
              if (timer_create(CLOCK_MONOTONIC, &event, &id)) return 1;
              struct itimerspec at = {{0, 0}, {0, 500000000}};
              timer_settime(id, 0, &at, NULL);
              MPI_Recv(&number, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
              if (number != 10 + rank) return 2;
              timer_delete(id);
              if (argc > 1)  // now it is one
                MPI_Recv(&number, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
              MPI_Finalize();
              return 0;
            }""")
        status, _, err = run("-n", 2, program)
        self.assertEqual(status, 0, err)
        status, _, err = run("-n", 2, program, "again")
        self.assertEqual(status, 125, err)

    def test_open_files_are_limited_by_the_hard_limit(self):
        program = self.programs.build(
            "files", INIT + "int n = 0; while (n < 100 && open(\"/dev/null\", 0) >= 0) ++n;"
            "MPI_Barrier(MPI_COMM_WORLD); if (n != 100) return 3;"
            "if (rank == 0 && system(\"true\") != 0) return 4;"
            "if (rank == 0 && fork() == 0) { struct rlimit l; getrlimit(RLIMIT_NOFILE, &l);"
            "_exit(l.rlim_cur == 64 ? 0 : 5); }"
            "int s = 0; if (rank == 0) wait(&s); if (s != 0) return 5;" + END)
        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (64, 1000))
        status, _, err = run("-n", 5, program, preexec_fn=limit)
        self.assertEqual(status, 0, err)

    def test_a_forked_child_writes_nothing_of_other_ranks(self):
        program = self.programs.build(
            "forking", "setvbuf(stdout, NULL, _IOFBF, 8192);" + INIT +
            'if (rank == 0) printf("once\\n"); MPI_Barrier(MPI_COMM_WORLD);'
            'if (rank == 1) { if (fork() == 0) { printf("child\\n"); exit(0); } sleep(1); }' + END)
        status, out, _ = run("-n", 3, program)
        self.assertEqual(status, 0)
        self.assertEqual(sorted(out.splitlines()), ["child", "once"])

    @unittest.skipIf("thread" in WORDS,
                     "the sanitizer allows no threads in a child of a process with threads")
    def test_a_forked_child_that_joins_a_thread_runs_no_other_ranks(self):
        program = self.programs.compile("child_joins.c", """
            #include <fcntl.h>
            #include <mpi.h>
            #include <pthread.h>
            #include <stdio.h>
            #include <sys/wait.h>
            #include <unistd.h>
            static void *last(void *argument) { usleep(200000); return argument; }
            int main(int argc, char **argv) {
              int rank, size, status = 0;
              MPI_Init(&argc, &argv);
              MPI_Comm_rank(MPI_COMM_WORLD, &rank);
              MPI_Comm_size(MPI_COMM_WORLD, &size);
              pid_t process = getpid();
              MPI_Barrier(MPI_COMM_WORLD);
              if (rank == 0) {
                for (int i = 1; i < size; ++i)  // they are ready now, on this core
                  MPI_Send(NULL, 0, MPI_INT, i, 0, MPI_COMM_WORLD);
                pid_t child = fork();
                if (child == 0) {
                  pthread_t thread;
                  void *value = NULL;
                  alarm(20);
                  pthread_create(&thread, NULL, last, &rank);
                  pthread_join(thread, &value);
                  _exit(value == &rank ? 5 : 6);
                }
                waitpid(child, &status, 0);
                printf("child %d\\n", WEXITSTATUS(status));
              } else {
                MPI_Recv(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                int file = open(argv[1], O_WRONLY | O_APPEND);  // a child's output would be dropped
                dprintf(file, "%s\\n", getpid() == process ? "job" : "child");
                close(file);
              }
              MPI_Finalize();
              return 0;
            }""")
        with tempfile.NamedTemporaryFile("r", suffix=".txt", encoding="utf-8") as file:
            status, out, err = run("-n", 5, "--cores", 1, program, file.name)
            self.assertEqual((status, out), (0, "child 5\n"), err)
            self.assertEqual(file.read().split(), ["job"] * 4)

    def test_a_forked_child_that_crashes_dies_of_the_signal_and_its_rank_sees_that(self):
        program = self.programs.build(
            "child_crash", INIT + "int status = 0; if (rank == 1) {"
            "for (int i = 0; i < 2; ++i) { if (fork() == 0) { if (i) abort(); raise(SIGSEGV); _exit(3); }"
            "wait(&status); printf(\"%d \", WIFSIGNALED(status) ? WTERMSIG(status) : -1); }"
            'printf("seen\\n"); }' + END)
        status, out, err = run("-n", 2, program)
        self.assertEqual((status, out, err), (0, "11 6 seen\n", ""))

    def test_cancelling_the_main_thread_is_refused_with_the_reason(self):
        program = self.programs.compile(
            "cancelled.c",
            '#include <mpi.h>\n#include <pthread.h>\n#include <unistd.h>\n'
            'static void* cancel(void* t) { pthread_cancel(*(pthread_t*)t); return t; }\n'
            'int main(int c, char **v) { MPI_Init(&c, &v); pthread_t self = pthread_self(), t;'
            'pthread_create(&t, 0, cancel, &self); pthread_join(t, 0); MPI_Finalize(); }\n',
            "-pthread")
        status, out, err = run("-n", 1, program)
        self.assertEqual((status, out), (1, ""))
        self.assertIn("rank 0 called pthread_cancel() for its main thread", err)

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
