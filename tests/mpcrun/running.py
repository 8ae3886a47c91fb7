"""A job that runs: its programs, their arguments, input and output."""

import subprocess
import time

from support import END, INIT, Case, example, run, tool


class Running(Case):
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
