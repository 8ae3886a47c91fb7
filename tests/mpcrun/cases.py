#!/usr/bin/env python3
"""mpcrun as a user meets it. Each case is a function of the Case class, run by unittest.

usage: cases.py --build BUILD --source SOURCE [--sanitize NAME] [unittest arguments]
"""

import argparse
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

options = None
WORDS = set(",".join(sys.argv).split(","))
SANITIZED = bool({"address", "thread", "undefined"} & WORDS)


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
            "#include <fcntl.h>\n#include <sys/resource.h>\n#include <sys/wait.h>\n"
            "int main(int argc, char **argv) {\n int rank = -1, size = 0;\n"
            " (void)argc; (void)argv; (void)rank; (void)size;\n" + body + "\n}\n", "-O1", "-g")

    def compile(self, name, text, *flags):
        """The whole text of a C, C++ or Fortran program, by the ending of its name."""
        stem, ending = os.path.splitext(name)
        if stem not in self.made:
            source = os.path.join(self.folder.name, name)
            output = os.path.join(self.folder.name, stem)
            with open(source, "w", encoding="utf-8") as file:
                file.write(text)
            compiler = tool({".c": "mpcc", ".cpp": "mpcxx"}.get(ending, "mpcfort"))
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

    # --- what a rank may not, or has of the process ------------------------------------------------

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

    def test_a_program_may_be_replaced_while_it_runs(self):
        program = self.programs.build(
            "replaced", INIT + "if (rank == 0) { puts(\"ready\"); fflush(stdout); }"
            "char word[8] = \"\"; if (rank == 0 && fgets(word, sizeof word, stdin) == NULL) return 9;"
            "MPI_Barrier(MPI_COMM_WORLD); double x = atof(\"1.5\");"
            "printf(\"%d says %g %s\\n\", rank, x, strerror(ENOENT));" + END)
        copy = program + ".copy"
        shutil.copy(program, copy)
        with subprocess.Popen([tool("mpcrun"), "-n", "3", copy], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as job:
            self.assertEqual(job.stdout.readline(), "ready\n")
            with open(copy, "r+b") as file:  # as cp does it
                size = os.path.getsize(copy)
                file.truncate(0)
                file.write(b"\xcc" * size)
            out, err = job.communicate("go\n", timeout=60)
            self.assertEqual(job.returncode, 0, err)
        self.assertEqual(sorted(out.splitlines()),
                         [f"{r} says 1.5 No such file or directory" for r in range(3)])

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

    @unittest.skipIf(shutil.which("gcov") is None, "gcov is not installed")
    def test_gcov_counts_all_ranks(self):
        with tempfile.TemporaryDirectory(prefix="mpcrun-gcov-") as folder:
            with open(os.path.join(folder, "counted.c"), "w", encoding="utf-8") as file:
                file.write("#include <mpi.h>\nint main(int c, char **v) {\nMPI_Init(&c, &v);\n"
                           "return MPI_Finalize();\n}\n")
            subprocess.run([tool("mpcc"), "--coverage", "counted.c", "-o", "counted"], cwd=folder,
                           check=True)
            status, _, err = run("-n", 16, "./counted", cwd=folder)
            self.assertEqual(status, 0, err)
            notes = [name for name in os.listdir(folder) if name.endswith(".gcno")]
            subprocess.run(["gcov", *notes], cwd=folder, check=True, capture_output=True)
            with open(os.path.join(folder, "counted.c.gcov"), encoding="utf-8") as file:
                self.assertRegex(file.read(), r"16: +3:MPI_Init")

    def test_help_teaches(self):
        status, out, _ = run("--help")
        self.assertEqual(status, 0)
        for text in ("-n", "--cores", "--stack-size", "Examples", "Exit status"):
            self.assertIn(text, out)

    def test_unknown_option(self):
        self.refused(2, "--nonsense", "-n", 2, example("hello"))

    def test_every_spelling_of_the_number_of_ranks(self):
        for words in (["-np", 3], ["--np", 3], ["-n", 3], ["-n3"], ["-np3"], ["--np=3"], ["-n=3"],
                      ["-c", 3], ["-np", 3, "--"]):
            status, out, err = run(*words, example("hello"))
            self.assertEqual((status, err, len(out.splitlines())), (0, "", 3), words)
        status, out, _ = run("-np", 1, example("hello"), ":", "-np", 2, example("hello"))
        self.assertEqual((status, len(out.splitlines())), (0, 3))

    def test_messages_name_the_option_that_was_typed(self):
        for words, says in ((["-n", "./a"], "-n wants a number of ranks, not './a'"),
                            (["-np", "0", "./a"], "-np wants a number of ranks from 1 to"),
                            (["-n", "--label", "./a"], "-n wants a number of ranks, not '--label'"),
                            (["-n"], "-n wants N, and there is none"),
                            (["-np", "1", "-np", "2", "./a"], "-np is given twice"),
                            (["--wdir=", "./a"], "--wdir wants DIR, and there is none"),
                            (["--label=1", "./a"], "--label takes no value"),
                            (["-timeout", "soon", "./a"], "-timeout wants a number of seconds"),
                            (["--bind", "socket", "./a"], "--bind wants auto, core or none, not 'socket'"),
                            (["-n", "1", "./a", ":", "--cores", "2", "./b"],
                             "--cores goes before the first program")):
            err = self.refused(2, *words, says=[says])
            self.assertTrue(err.startswith("mpcrun: -"), err)

    def test_options_of_other_launchers_are_refused_with_the_way_out(self):
        one_host = "this mpcrun runs on one host"
        for words, says in (
                (["-host", "localhost"], one_host), (["--host", "a,b"], one_host),
                (["-hostfile", "f"], one_host), (["--hostfile=f"], one_host),
                (["-H", "a"], one_host), (["-machinefile", "f"], one_host), (["-f", "f"], one_host),
                (["-nolocal"], one_host), (["-npernode", "2"], one_host), (["-ppn", "2"], one_host),
                (["-N", "2"], one_host), (["-ntasks", "2"], "-n N"), (["-configfile", "f"], "':'"),
                (["-cpus-per-proc", "2"], "leave it out"), (["--oversubscribe"], "leave it out"),
                (["--allow-run-as-root"], "leave it out"), (["--bind-to", "core"], "--bind core"),
                (["-bind-to-core"], "--bind core"), (["--map-by", "node"], "--placement"),
                (["--rank-by", "slot"], "--placement"), (["--report-bindings"], "--show"),
                (["--mca", "btl", "self"], "--set NAME=VALUE"), (["-genv", "A", "1"], "-x NAME=VALUE"),
                (["-env", "A", "1"], "-x NAME=VALUE"), (["-genvall"], "leave it out"),
                (["--tag-output"], "--label"), (["-prepend-rank"], "--label"),
                (["-q"], "leave it out"), (["-v"], "log.level"), (["-gdb"], "before mpcrun"),
                (["--use-hwthread-cpus"], "--bind")):
            err = self.refused(2, *words, "-n", 1, example("hello"), says=[says])
            self.assertTrue(err.startswith(f"mpcrun: {words[0].split('=')[0]}: "), err)

    def test_no_word_with_a_dash_ends_with_0(self):
        for word in ("-hosts", "-helper", "-versions", "-np4x", "-x4", "-l2", "-", "-=", "--=x",
                     "---", "-ln", "-Vn", "-\t", "-n", "--n 3"):
            self.refused(2, word, says=["mpcrun: "])

    def test_working_folder(self):
        program = self.programs.build("where", INIT + "puts(getcwd(NULL, 0));" + END)
        for word in ("--wdir", "-wdir", "-wd", "--wd"):
            self.assertEqual(run(word, "/usr", "-n", 1, program)[:2], (0, "/usr\n"))

    def test_two_dashes_end_the_options(self):
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(example("hello"), os.path.join(folder, "-n"))
            status, out, err = run("-np", 2, "--", "-n", cwd=folder,
                                   env=dict(os.environ, PATH=folder))
            self.assertEqual((status, len(out.splitlines())), (0, 2), err)

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
        self.refused(2, "-n", 2, "--cores", "4294967297", example("hello"), says=["4294967297"])

    def test_a_variable_without_a_name(self):
        self.refused(2, "-n", 1, "-x", "=1", example("hello"), says=["-x =1"])

    def test_bad_timeout(self):
        for value in ("0", "-1", "soon", "1e99"):
            self.refused(2, "-n", 1, f"--timeout={value}", example("hello"), says=["seconds above 0"])

    def test_bad_stack_size(self):
        self.refused(2, "-n", 1, "--stack-size", "many", example("hello"), says=["many"])
        self.refused(2, "-n", 1, "--stack-size", "255k", example("hello"), says=["256k"])
        self.assertEqual(run("-n", 20, "--stack-size", small_stack(), example("hello"))[0], 0)

    def test_missing_program(self):
        self.refused(127, "-n", 2, "./does-not-exist", says=["does-not-exist"])

    def test_what_is_no_program_is_said_to_be_none(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkfifo(os.path.join(folder, "fifo"))
            os.mkdir(os.path.join(folder, "bin"))
            os.mkdir(os.path.join(folder, "bin", "sub"))
            for name in ("notes.txt", "bin/notes.txt"):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write("hello\n")
            environment = dict(os.environ, PATH=os.path.join(folder, "bin"))
            for name, status, says in (("./fifo", 126, "is not a regular file"),
                                       ("sub", 127, "neither in PATH nor in this folder"),
                                       ("", 127, "empty"), (".", 126, "is a directory"),
                                       ("notes.txt", 126, "is not a program")):
                self.refused(status, "-n", 1, name, says=[says], cwd=folder, env=environment)

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

    def test_tools_before_the_program_go_before_mpcrun(self):
        for tool_name, says in (("valgrind", "valgrind --trace-children=yes mpcrun"),
                                ("gdb", "gdb --args mpcrun"), ("strace", "strace -f mpcrun"),
                                ("perf", "perf record mpcrun"), ("env", "env NAME=VALUE mpcrun"),
                                ("time", "time mpcrun"), ("taskset", "taskset -c 0-3 mpcrun"),
                                ("bash", "put the script around mpcrun"),
                                ("python3.11", "put the script around mpcrun")):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, tool_name)
                shutil.copy("/bin/true", path)  # the name counts: the tool may not be installed
                err = self.refused(126, "-n", 2, path, example("hello"), says=[path, says])
                self.assertNotIn("compile", err)

    def test_a_tool_that_is_a_script_goes_before_mpcrun_too(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "valgrind")
            with open(path, "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\nexit 0\n")
            os.chmod(path, 0o755)
            self.refused(126, "-n", 2, path, example("hello"),
                         says=["valgrind --trace-children=yes mpcrun"])

    def test_a_program_on_a_noexec_mount(self):
        with tempfile.TemporaryDirectory() as folder:
            script = (f"mount -t tmpfs -o noexec none {folder} && cp {example('hello')} {folder} && "
                      f"{tool('mpcrun')} -n 1 {folder}/hello")
            done = subprocess.run(["unshare", "-rm", "sh", "-c", script], capture_output=True,
                                  text=True, timeout=60, check=False)
            if "noexec" not in done.stderr and "mpcrun" not in done.stderr:
                self.skipTest(f"no mounts here: {done.stderr}")
            self.assertEqual(done.returncode, 126)
            self.assertIn("is mounted noexec", done.stderr)
            self.assertNotIn("chmod", done.stderr)

    @unittest.skipIf({"address", "thread"} & set(",".join(sys.argv).split(",")),
                     "mpcrun has a sanitizer's library in it")
    def test_sanitized_programs_say_how_they_are_started(self):
        text = "#include <mpi.h>\nint main(int c, char **v) { MPI_Init(&c, &v); MPI_Finalize(); return 0; }\n"
        program = self.programs.compile("with_asan.c", text, "-fsanitize=address")
        self.refused(126, "-n", 2, program,
                     says=["LD_PRELOAD=$(gcc -print-file-name=libasan.so)", "-fsanitize=address"])
        program = self.programs.compile("with_tsan.c", text, "-fsanitize=thread")
        self.refused(126, "-n", 2, program, says=["-fsanitize=thread", "does not work"])
        if shutil.which("clang"):
            program = self.programs.compile("with_clang.c", text, "-cc=clang", "-fsanitize=address")
            self.refused(126, "-n", 2, program,
                         says=["LD_PRELOAD=$(clang -print-file-name=libclang_rt.asan"])

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
                                ("nbc.machine_file=/nosuch", "/nosuch: cannot be read"),
                                ("nbc.machine_file=/dev/null", "is no regular file"),
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

    def test_programs_that_run_alone_take_settings_and_warn_of_wrong_ones(self):
        def alone(**variables):
            done = subprocess.run([example("hello")], capture_output=True, text=True, timeout=60,
                                  env=dict(os.environ, **variables), check=False)
            self.assertEqual((done.returncode, len(done.stdout.splitlines())), (0, 1))
            return done.stderr
        self.assertEqual(alone(MPC_SCHED_STEAL="1"), "")
        err = alone(MPC_SCHED_STEAL="2")
        self.assertIn("MPC_SCHED_STEAL", err)
        self.assertIn("the default is used", err)
        self.assertIn("MPC_SCHED_STEALS, did you mean", alone(MPC_SCHED_STEALS="1"))
        self.assertEqual(alone(MPC_SCHED_STEAL="2", MPC_LOG_LEVEL="error"), "")

    def test_the_page_of_settings_is_current(self):
        done = subprocess.run([tool("mpcinfo"), "settings", "--markdown"], capture_output=True,
                              text=True, check=True)
        with open(os.path.join(options.source, "docs", "settings.md"), encoding="utf-8") as file:
            self.assertEqual(file.read(), done.stdout,
                             "run: mpcinfo settings --markdown > docs/settings.md")

    def test_topology_of_named_machines(self):
        for machine, cores in (("knl64", 64), ("skylake48", 48)):
            done = subprocess.run([tool("mpcinfo"), "topology", machine],
                                  capture_output=True, text=True, check=True)
            self.assertIn(str(cores), done.stdout)
        done = subprocess.run([tool("mpcinfo"), "topology", "no-such-machine"],
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

    @unittest.skipIf("thread" in ",".join(sys.argv).split(","),
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

    def test_a_signal_handler_writes_while_its_own_thread_is_inside_of_write(self):
        program = self.programs.compile(
            "handler_writes.c",
            "#define _GNU_SOURCE\n#include <fcntl.h>\n#include <mpi.h>\n#include <pthread.h>\n"
            "#include <signal.h>\n#include <stdio.h>\n#include <sys/syscall.h>\n#include <unistd.h>\n"
            "static int ends[2];\nstatic pid_t writer;\n"
            "static void handle(int s) { (void)s; (void)!write(1, \"handler\\n\", 8); }\n"
            "static void *other(void *full) {\n"
            "  char text[4096]; long left = *(long *)full + 8 + 5; usleep(100000);\n"
            "  syscall(SYS_tgkill, getpid(), writer, SIGUSR1); usleep(100000);\n"
            "  while (left > 0) left -= read(ends[0], text, sizeof text);\n"
            "  return 0;\n}\n"
            "int main(int argc, char **argv) {\n"
            "  MPI_Init(&argc, &argv); signal(SIGUSR1, handle);\n"
            "  if (pipe(ends) != 0 || dup2(ends[1], 1) != 1) return 1;\n"
            "  long full = 0; fcntl(ends[1], F_SETFL, O_NONBLOCK);\n"
            "  while (write(ends[1], \"\", 1) == 1) ++full;\n"
            "  fcntl(ends[1], F_SETFL, 0);\n"
            "  pthread_t thread; writer = (pid_t)syscall(SYS_gettid);\n"
            "  pthread_create(&thread, 0, other, &full);\n"
            "  if (write(1, \"text\\n\", 5) != 5) return 2;\n"
            "  pthread_join(thread, 0);\n"
            "  fprintf(stderr, \"through\\n\"); MPI_Finalize(); return 0;\n}\n", "-pthread")
        status, _, err = run("-n", 1, program, timeout=20)
        self.assertEqual((status, err), (0, "through\n"))

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

    # --- threads of ranks ------------------------------------------------------------------------

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "one core is nothing to share")
    def test_shares_of_the_cores_are_shown(self):
        status, out, _ = run("-n", 1, "--bind", "core", "--cores", 2, "--show",
                             example("hello"))
        self.assertEqual(status, 0)
        self.assertIn("worker 0 on core 0", out)
        self.assertIn("ranks 0; their threads on cores 0-1\n", out)
        for options_ in (("-n", 2, "--cores", 2), ("-n", 1, "--bind", "none"),
                         ("-n", 1, "--cores", 2, "--comm-cores", 1)):
            self.assertNotIn("threads on cores", run(*options_, "--show", example("hello"))[1])

    def test_ranks_with_more_openmp_threads_than_cores_wait_passively(self):
        program = self.programs.compile(
            "policy.c",
            '#include <mpi.h>\n#include <omp.h>\n#include <stdio.h>\n#include <stdlib.h>\n'
            'int main(int c, char **v) { MPI_Init(&c, &v);'
            'const char* policy = getenv("OMP_WAIT_POLICY");'
            'printf("%s\\n", policy ? policy : "unset");'
            'MPI_Finalize(); return omp_get_num_procs() < 1; }\n', "-fopenmp")

        def policy(*args, **variables):
            environment = {name: value for name, value in os.environ.items()
                           if not name.startswith(("OMP_", "GOMP_"))}
            status, out, err = run(*args, program, env={**environment, **variables})
            self.assertEqual(status, 0, err)
            return set(out.split())

        crowded = ("-n", 2, "--bind", "core", "--cores", 1)
        self.assertEqual(policy(*crowded, OMP_NUM_THREADS="2"), {"passive"})
        self.assertEqual(policy(*crowded, OMP_NUM_THREADS="1"), {"unset"})
        self.assertEqual(policy(*crowded), {"unset"})   # a team is as large as its cores are many
        self.assertEqual(policy(*crowded, OMP_NUM_THREADS="2,2", OMP_WAIT_POLICY="active"),
                         {"active"})
        self.assertEqual(policy(*crowded, OMP_NUM_THREADS="2", GOMP_SPINCOUNT="7"), {"unset"})
        everywhere = ("-n", len(os.sched_getaffinity(0)) + 1, "--bind", "none")
        self.assertEqual(policy(*everywhere, OMP_NUM_THREADS="2"), {"passive"})
        self.assertEqual(policy(*everywhere, OMP_NUM_THREADS="1"), {"unset"})

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

    # --- the ranks' heaps ----------------------------------------------------------------------

    ONE_HEAP = "all ranks share one heap"

    def heaps(self, *arguments, program=None, **environment):
        """Status, output and all that is said, with the log of a job of two ranks."""
        status, out, err = run("--set", "log.level=debug", *arguments, "-n", 2,
                               program or example("hello"), env=dict(os.environ, **environment))
        self.assertEqual(status, 0, err)
        return out, err

    def show_preload(self):
        return self.programs.build("show_preload", INIT + (
            'if (rank == 0) { const char *list = getenv("LD_PRELOAD");'
            'printf("rank: %s\\n", list ? list : "none"); fflush(stdout);'
            'system("echo child: ${LD_PRELOAD-none}"); }') + END)

    @unittest.skipIf(SANITIZED, "the sanitizer has an allocator of its own")
    def test_each_rank_has_a_heap_unless_the_system_allocator_is_asked_for(self):
        self.assertNotIn(self.ONE_HEAP, self.heaps()[1])
        self.assertIn(self.ONE_HEAP, self.heaps("--set", "job.allocator=system")[1])
        self.assertIn(self.ONE_HEAP, self.heaps(MPC_JOB_ALLOCATOR="system")[1])
        self.assertNotIn(self.ONE_HEAP, self.heaps("--set", "job.allocator=rank",
                                                   MPC_JOB_ALLOCATOR="system")[1])

    def test_an_allocator_that_is_not_there_is_refused(self):
        self.refused(2, "--set", "job.allocator=best", "-n", 2, example("hello"),
                     says=("job.allocator", "best", "rank|system"))

    def test_a_job_starts_without_the_library_of_the_heaps(self):
        folder = os.path.join(self.programs.folder.name, "no_heaps")
        os.makedirs(folder, exist_ok=True)
        link = os.path.join(folder, "libmpi_abi.so.1")
        if not os.path.exists(link):
            os.symlink(os.path.abspath(os.path.join(options.build, "lib", "libmpi_abi.so.1")),
                       link)
        _, err = self.heaps(LD_LIBRARY_PATH=folder)
        self.assertIn(self.ONE_HEAP, err)
        self.assertNotIn("cannot be preloaded", err)

    def test_ranks_and_their_children_do_not_see_how_the_heaps_came_in(self):
        out, _ = self.heaps(program=self.show_preload())
        if not options.sanitize and "LD_PRELOAD" not in os.environ:
            self.assertEqual(out, "rank: none\nchild: none\n")
        self.assertNotIn("libmpc_heap", out)

    @unittest.skipIf(SANITIZED, "the sanitizer has an allocator of its own")
    def test_a_preloaded_allocator_of_the_user_wins(self):
        library = os.path.join(self.programs.folder.name, "libmallocs.so")
        source = library[:-3] + ".c"
        with open(source, "w", encoding="utf-8") as file:
            file.write("#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <stddef.h>\n"
                       "long mallocs;\nvoid *malloc(size_t n) { static void *(*next)(size_t);"
                       'if (!next) *(void **)&next = dlsym(RTLD_NEXT, "malloc");'
                       "++mallocs; return next(n); }\n")
        subprocess.run(["gcc", "-shared", "-fPIC", source, "-o", library], check=True)
        out, err = self.heaps(program=self.show_preload(), LD_PRELOAD=library)
        self.assertEqual(out, f"rank: {library}\nchild: {library}\n")
        self.assertIn(self.ONE_HEAP, err)
        out, err = self.heaps(program=self.show_preload(), LD_PRELOAD="libm.so.6")
        self.assertEqual(out, "rank: libm.so.6\nchild: libm.so.6\n")
        self.assertNotIn(self.ONE_HEAP, err)

    @unittest.skipIf(SANITIZED, "the sanitizer has an allocator of its own")
    def test_an_allocator_may_have_its_memory_at_low_addresses_as_valgrind_has(self):
        library = os.path.join(self.programs.folder.name, "liblow.so")
        source = library[:-3] + ".c"
        with open(source, "w", encoding="utf-8") as file:
            file.write("""
#define _GNU_SOURCE
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
static char *base;
static size_t used;  /* nothing is ever used again */
void *memalign(size_t alignment, size_t bytes) {
  char *none = NULL;
  if (!__atomic_load_n(&base, __ATOMIC_ACQUIRE)) {
    char *low = mmap(NULL, 512 << 20, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_32BIT, -1, 0);
    __atomic_compare_exchange_n(&base, &none, low, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  }
  if (alignment < 16) alignment = 16;
  size_t room = 16 + alignment + bytes;
  uintptr_t at = (uintptr_t)base + __atomic_fetch_add(&used, room, __ATOMIC_RELAXED) + 16;
  char *block = (char *)((at + alignment - 1) / alignment * alignment);
  memcpy(block - 8, &bytes, 8);
  return block;
}
void *malloc(size_t n) { return memalign(16, n); }
void free(void *p) { (void)p; }
void *calloc(size_t n, size_t m) { return malloc(n * m); }
void *realloc(void *p, size_t n) {
  size_t old = 0;
  char *q = malloc(n);
  if (p) { memcpy(&old, (char *)p - 8, 8); memcpy(q, p, old < n ? old : n); }
  return q;
}
void *aligned_alloc(size_t a, size_t n) { return memalign(a, n); }
int posix_memalign(void **p, size_t a, size_t n) { *p = memalign(a, n); return 0; }
""")
        subprocess.run(["gcc", "-O1", "-fno-builtin", "-shared", "-fPIC", source, "-o", library],
                       check=True)
        program = self.programs.build("requests", INIT + (
            "MPI_Request requests[2]; int in, next = (rank + 1) % size;"
            "MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &requests[0]);"
            "MPI_Isend(&rank, 1, MPI_INT, next, 0, MPI_COMM_WORLD, &requests[1]);"
            "MPI_Waitall(2, requests, MPI_STATUSES_IGNORE); MPI_Barrier(MPI_COMM_WORLD);") + END)
        status, _, err = run("-n", 3, program, env=dict(os.environ, LD_PRELOAD=library))
        self.assertEqual(status, 0, err)

    @unittest.skipIf(SANITIZED, "the sanitizer has an allocator of its own")
    def test_freeing_twice_and_freeing_nonsense_name_the_rank(self):
        program = self.programs.build("bad_free", INIT + (
            "void *volatile p = malloc(100), *volatile q = &rank;"
            'if (rank == 1) { if (!strcmp(argv[1], "twice")) { free(p); free(p); }'
            " free(q); } MPI_Barrier(MPI_COMM_WORLD);") + END)
        for how, says in (("twice", "the memory is free already"),
                          ("nonsense", "not allocated by malloc")):
            status, _, err = run("-n", 3, program, how)
            self.assertEqual(status, 128 + signal.SIGABRT, err)
            self.assertIn(f"mpcrun: rank 1: free(): {says}", err)

    @unittest.skipIf(SANITIZED, "a sanitizer needs more address space than a limit leaves")
    def test_malloc_returns_null_when_there_is_no_memory(self):
        program = self.programs.build("exhaust", INIT + (
            "static void *blocks[100000]; int n = 0; size_t all = 0;"
            "if (rank == 0) { for (size_t bytes = 64u << 20; bytes >= 4096; bytes /= 4)"
            " while (n < 100000 && (blocks[n] = malloc(bytes))) { ++n; all += bytes; }"
            ' printf("%s %s\\n", errno == ENOMEM ? "ENOMEM" : "?",'
            ' all > (200u << 20) ? "much" : "little"); while (n > 0) free(blocks[--n]); }'
            "MPI_Barrier(MPI_COMM_WORLD); free(malloc(1000));") + END)
        status, out, err = run("-n", 2, program, preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_AS, (2 << 30, 2 << 30)))
        self.assertEqual((status, out), (0, "ENOMEM much\n"), err)


def sanitize_of_command_line():
    """The sanitizers of the build, before the options are read: for decorators."""
    return ",".join(sys.argv).split(",")


def parse_options():
    """Sets `options`; returns what is left for unittest."""
    global options
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--sanitize", default="")
    options, rest = parser.parse_known_args()
    return rest


def main():
    unittest.main(argv=[sys.argv[0], *parse_options()], verbosity=2)


if __name__ == "__main__":
    main()
