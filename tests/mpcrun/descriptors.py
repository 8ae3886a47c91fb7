"""Descriptors 0, 1 and 2 of ranks, and of their children."""

import os
import tempfile
import unittest

from support import END, INIT, SANITIZED, Case, has_processes, run

NUMBERS = "".join(f"{i}\n" for i in range(1000))
BARRIER = "MPI_Barrier(MPI_COMM_WORLD);"
# Reads all, and says how much it was.
READ_ALL = ('{ long n = 0; int k; char b[100]; while ((k = read(0, b, sizeof b)) > 0) n += k;'
            'printf("%d: %ld, then %d\\n", rank, n, k); }')


class Descriptors(Case):
    def lines_of(self, *words, **others):
        status, out, err = run(*words, **others)
        self.assertEqual(status, 0, err)
        return sorted(out.splitlines())

    def test_rank_0_alone_reads_the_standard_input(self):
        program = self.programs.build("input_raw", INIT + READ_ALL + END)
        wanted = [f"{rank}: {len(NUMBERS) if rank == 0 else 0}, then 0" for rank in range(4)]
        self.assertEqual(self.lines_of("-n", 4, program, input=NUMBERS), wanted)
        if has_processes():
            self.assertEqual(self.lines_of("-n", 4, "-p", 2, program, input=NUMBERS), wanted)

    def test_the_end_of_input_is_no_error(self):
        program = self.programs.build(
            "input_end", INIT + "char b[100]; int n = 0; while (!feof(stdin) && n < 5000)"
            " if (fgets(b, sizeof b, stdin)) ++n; else if (ferror(stdin)) break;"
            'printf("%d: %d %d %d\\n", rank, n, feof(stdin) != 0, ferror(stdin) != 0);' + END)
        self.assertEqual(self.lines_of("-n", 3, program, input=NUMBERS),
                         ["0: 1000 1 0", "1: 0 1 0", "2: 0 1 0"])

    def test_children_of_other_ranks_leave_the_input_of_rank_0(self):
        program = self.programs.build(
            "input_children", INIT +
            'if (rank == 1 && system("cat") != 0) return 1;'
            'if (rank == 2) { FILE *p = popen("cat", "r"); if (fgetc(p) != EOF) return 2; pclose(p); }'
            'if (rank == 3) { pid_t c = vfork(); if (c == 0) { execlp("cat", "cat", NULL); _exit(9); }'
            " waitpid(c, NULL, 0); }"
            "if (rank == 4) { pid_t c = fork(); char b; if (c == 0) _exit((int)read(0, &b, 1));"
            " int s; waitpid(c, &s, 0); if (s != 0) return 3; }" + BARRIER + READ_ALL + END)
        self.assertEqual(self.lines_of("-n", 5, program, input=NUMBERS)[0],
                         f"0: {len(NUMBERS)}, then 0")

    def test_questions_about_input_are_answered_for_the_rank(self):
        program = self.programs.compile(
            "input_asked.c",
            "#include <fcntl.h>\n#include <mpi.h>\n#include <poll.h>\n#include <stdio.h>\n"
            "#include <sys/select.h>\n#include <sys/stat.h>\n#include <unistd.h>\n"
            "int main(int argc, char **argv) { int rank;" + INIT.replace(
                "MPI_Comm_size(MPI_COMM_WORLD, &size);", "") +
            "struct pollfd p = {0, POLLIN, 0}; fd_set set; FD_ZERO(&set); FD_SET(0, &set);"
            "struct timeval none = {0, 0}; struct stat s; char b[9]; int d = dup(0);"
            'FILE *f = fopen("/dev/stdin", "r"); FILE *g = fdopen(0, "r");'
            'printf("%d: %d %d %d %d %d %d %d\\n", rank, poll(&p, 1, 0),'
            "select(1, &set, 0, 0, &none) == 1 && FD_ISSET(0, &set), fstat(0, &s) == 0 && S_ISCHR(s.st_mode),"
            "rank == 0 ? 0 : (int)read(d, b, 1), rank == 0 ? 0 : f == 0 || fgets(b, 9, f) != 0,"
            "rank == 0 ? 0 : g == 0 || fgets(b, 9, g) != 0, getc(stdin) == EOF);" + END + "}\n",
            "-O1", "-w")
        lines = self.lines_of("-n", 3, program, input="x")
        self.assertEqual(lines[1:], ["1: 1 1 1 0 0 0 1", "2: 1 1 1 0 0 0 1"])

    def test_a_rank_puts_a_file_in_the_place_of_its_input(self):
        program = self.programs.build(
            "input_turned", INIT +
            'if (rank == 1) { int f = open(argv[1], O_RDONLY); if (dup2(f, 0) != 0) return 1; close(f); }'
            'if (rank == 2 && freopen(argv[1], "r", stdin) == NULL) return 2;'
            "if (rank == 3) { close(0); char b; if (read(0, &b, 1) != -1 || errno != EBADF) return 3; }"
            "char b[20]; long at = 0; if (rank < 3) { if (fgets(b, sizeof b, stdin)) at = atol(b);"
            'printf("%d: %ld\\n", rank, at); fflush(stdout); }' + BARRIER +
            'if (rank == 1 && (lseek(0, 0, SEEK_SET) != 0 || system("head -1 | sed \'s/^/child: /\'") != 0))'
            "return 4;" + END)
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("77\n88\n")
            file.flush()
            self.assertEqual(self.lines_of("-n", 4, program, file.name, input="5\n"),
                             ["0: 5", "1: 77", "2: 77", "child: 77"])

    def test_children_write_where_the_rank_does(self):
        program = self.programs.build(
            "output_children", INIT +
            "if (rank == 1) { int f = open(argv[1], O_WRONLY | O_CREAT, 0600); dup2(f, 1); dup2(1, 2);"
            'close(f); printf("rank\\n"); fflush(stdout); if (system("echo system; echo error >&2")) return 1;'
            'FILE *p = popen("cat; echo popen", "w"); fputs("written\\n", p); pclose(p);'
            'pid_t c = vfork(); if (c == 0) { execlp("echo", "echo", "vfork", NULL); _exit(9); }'
            'waitpid(c, NULL, 0); c = fork(); if (c == 0) { execlp("echo", "echo", "fork", NULL); _exit(9); }'
            'waitpid(c, NULL, 0); }' + BARRIER + 'if (rank == 0 && system("echo other")) return 2;' + END)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "file")
            self.assertEqual(self.lines_of("-n", 2, program, path), ["other"])
            with open(path, encoding="utf-8") as file:
                self.assertEqual(file.read().split(),
                                 ["rank", "system", "error", "written", "popen", "vfork", "fork"])

    def test_output_and_error_may_be_each_others(self):
        program = self.programs.build(
            "output_exchanged", INIT + "int saved = dup(1); dup2(2, 1); dup2(saved, 2); close(saved);"
            'if (system("echo out; echo error >&2")) return 1; pid_t c = fork();'
            'if (c == 0) { execlp("sh", "sh", "-c", "echo out; echo error >&2", NULL); _exit(9); }'
            "waitpid(c, NULL, 0);" + END)
        status, out, err = run("-n", 1, program)
        self.assertEqual((status, out, err), (0, "error\n" * 2, "out\n" * 2))

    @unittest.skipIf(SANITIZED, "a child of fork() instead")
    def test_children_of_vfork_can_be_terminated(self):
        # As Python does it: all signals are blocked, the child gets the mask from before.
        program = self.programs.build(
            "vfork_mask", INIT + "sigset_t all, before; sigfillset(&all);"
            "for (int i = 0; i < 2; ++i) { if (i == 1) sigprocmask(SIG_SETMASK, &all, &before);"
            'pid_t c = vfork(); if (c == 0) { if (i == 1) sigprocmask(SIG_SETMASK, &before, NULL);'
            ' execlp("sh", "sh", "-c", "kill -TERM $$; kill -INT $$; exit 1", NULL); _exit(9); }'
            "if (i == 1) sigprocmask(SIG_SETMASK, &before, NULL);"
            "int s = 0; if (waitpid(c, &s, 0) != c || !WIFSIGNALED(s) || WTERMSIG(s) != SIGTERM) return 1 + i; }"
            + END)
        status, _, err = run("-n", 3, program)
        self.assertEqual(status, 0, err)
