#!/usr/bin/env python3
"""What ranks write, and the end of a job, as a user meets them: lost output, labels, last words.

usage: output.py --build BUILD --source SOURCE [--sanitize NAME] [unittest arguments]
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from last_words import LastWords  # noqa: F401
from rank_files import RankFiles  # noqa: F401
from support import END, INIT, example, parse_options, run, tool
from written import OUTPUT_LOST, Written, no_gfortran


class Output(Written):
    # --- what cannot be written ----------------------------------------------------------------

    def test_a_rank_sees_that_stdio_fails(self):
        program = self.programs.build(
            "full_stdio", INIT + 'for (int i = 0; i < 1000; ++i) printf("data %d\\n", i);'
            "int e = fflush(stdout) != 0; e |= ferror(stdout) != 0;"
            'if (!e) { fputs("not noticed\\n", stderr); } clearerr(stdout);'
            'int p = puts("one more"); int n = errno; if (p == EOF || fflush(stdout) == EOF) '
            'fprintf(stderr, "%s\\n", strerror(n)); MPI_Finalize(); return e ? 9 : 0;')
        status, err = self.run_into_full_device("-n", 2, program)
        self.assertEqual(status, 9, err)
        self.assertNotIn("not noticed", err)
        self.assertEqual(err.count("\nNo space left on device") + err.startswith("No space"), 2, err)

    def test_lost_output_is_said_once_and_in_the_status(self):
        program = self.programs.build(
            "full_careless", INIT + 'printf("result of rank %d\\n", rank);' + END)
        unfinished = self.programs.build(
            "full_at_exit", 'setvbuf(stdout, NULL, _IOFBF, 8192);' + INIT +
            'printf("no newline");' + END)
        for which in (program, unfinished):
            status, err = self.run_into_full_device("-n", 4, which)
            self.assertEqual(status, OUTPUT_LOST, err)
            self.assertRegex(err, r"^mpcrun: rank \d: standard output could not be written: "
                                  r"No space left on device; .*\n$")

    def test_raw_writes_fail_with_errno(self):
        program = self.programs.build(
            "full_raw", INIT + 'int w = write(1, "raw\\n", 4), e = errno;'
            'int d = dprintf(1, "text\\n"); MPI_Finalize();'
            'return w == -1 && e == ENOSPC && d < 0 ? 5 : 0;')
        status, err = self.run_into_full_device("-n", 3, program)
        self.assertEqual(status, 5, err)

    def test_iostreams_go_bad(self):
        program = self.cxx("full_cout", "if (argc > 1) std::ios::sync_with_stdio(false);"
                           'std::cout << "data" << std::endl; MPI_Finalize();'
                           "return std::cout.bad() ? 6 : 0;")
        for arguments in ([], ["raw"]):
            status, err = self.run_into_full_device("-n", 1, program, *arguments)
            self.assertEqual(status, 6, err)

    @no_gfortran
    def test_lost_output_of_fortran_is_in_the_status(self):
        program = self.fortran("full_fortran", " do i = 1, 1000\n  print *, 'line', i\n end do\n")
        status, err = self.run_into_full_device("-n", 2, program)
        self.assertEqual(status, OUTPUT_LOST, err)
        self.assertEqual(err.count("could not be written"), 1, err)

    def test_tools_say_that_their_output_was_cut(self):
        for words in (["mpcinfo", "settings"], ["mpcinfo", "model", "--machine", "knl64", "--csv"],
                      ["mpcrun", "--help"], ["mpcrun", "-n", "1", "--show", example("hello")]):
            with open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run([tool(words[0]), *words[1:]], stdout=full,
                                      stderr=subprocess.PIPE, text=True, timeout=60)
            self.assertEqual(done.returncode, OUTPUT_LOST, words)
            self.assertRegex(done.stderr, f"^{words[0]}: standard output: .+\n$")

    def test_a_trace_that_was_cut(self):
        status, out, err = run("-n", 2, "--trace", "/dev/full", example("hello"))
        self.assertEqual((status, len(out.splitlines())), (OUTPUT_LOST, 2), err)
        self.assertIn("--trace /dev/full: No space left on device", err)

    def test_a_closed_pipe_ends_the_job_as_it_ends_a_process(self):
        program = self.programs.build(
            "endless", INIT + 'for (;;) puts("again and again");')
        with subprocess.Popen([tool("mpcrun"), "-n", "2", program], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            self.assertEqual(process.stdout.readline(), b"again and again\n")
            process.stdout.close()
            self.assertEqual(process.wait(timeout=30), -signal.SIGPIPE)

    def test_a_pipe_that_does_not_block_loses_nothing(self):
        program = self.programs.build(
            "many", INIT + 'for (int i = 0; i < 20000; ++i) { printf("line %d\\n", i);'
            ' if (i % 2) { char t[20]; int n = sprintf(t, "raw %d\\n", i);'
            ' if (write(1, t, n) != n) abort(); } }' + END)
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        with subprocess.Popen([tool("mpcrun"), "-n", "2", program], stdout=writing) as process:
            os.close(writing)
            text = b""
            while piece := os.read(reading, 4096):
                text += piece
                if len(text) < 200000:
                    time.sleep(0.002)
            os.close(reading)
            self.assertEqual(process.wait(timeout=60), 0)
        self.assertEqual(len(text.splitlines()), 60000)
        self.assertTrue(all(re.fullmatch(rb"(line|raw) \d+", line) for line in text.splitlines()))

    # --- labels and whole lines ----------------------------------------------------------------

    def labelled(self, program, ranks, lines_per_rank, *arguments):
        for into in (self.run_into_file, run):
            status, out, err = into("-l", "-n", ranks, program, *arguments)
            self.assertEqual(status, 0, err)
            lines = out.splitlines()
            self.assertEqual(len(lines), ranks * lines_per_rank, out)
            for line in lines:
                label = re.match(r"\[(\d+)\] ", line)
                self.assertTrue(label, line)
                self.assertRegex(line, rf"rank *{label[1]}\b")

    def test_raw_writes_have_labels_and_whole_lines(self):
        program = self.programs.compile(
            "raw_lines.c",
            "#define _GNU_SOURCE\n#include <mpi.h>\n#include <stdio.h>\n#include <string.h>\n"
            "#include <sys/uio.h>\n#include <unistd.h>\n"
            "int main(int argc, char **argv) { int rank, size; char t[100]; (void)size;" + INIT +
            'for (int i = 0; i < 50; ++i) { int n = sprintf(t, "rank %d", rank);'
            'if (write(1, t, n) != n) return 1; usleep(10); if (write(1, " wrote\\n", 7) != 7) return 1;'
            'struct iovec v[2] = {{t, n}, {" gathered\\n", 10}}; if (writev(1, v, 2) != n + 10) return 1;'
            'dprintf(1, "rank %d d", rank); dprintf(1, "printf\\n");'
            'int d = dup(1); dprintf(d, "rank %d through a copy\\n", rank); close(d);'
            'printf("rank %d stdio, ", rank); fflush(stdout); dprintf(1, "continued\\n"); }'
            + END + "}\n")
        self.labelled(program, 4, 250)
        status, out, _ = self.run_into_file("-n", 8, program)
        self.assertEqual(status, 0)
        for line in out.splitlines():
            self.assertRegex(line, r"^rank \d( wrote| gathered| dprintf| through a copy|"
                                   r" stdio, continued)$")

    def test_iostreams_have_labels(self):
        program = self.cxx("label_cout", "if (argc > 1) std::ios::sync_with_stdio(false);"
                           "for (int i = 0; i < 20; ++i) { MPI_Barrier(MPI_COMM_WORLD);"
                           " for (int r = 0; r < size; ++r) { if (r == rank)"
                           ' std::cout << "rank " << rank << " prints " << i << std::endl;'
                           " MPI_Barrier(MPI_COMM_WORLD); } }")
        self.labelled(program, 3, 20)
        self.labelled(program, 3, 20, "raw")

    @no_gfortran
    def test_fortran_has_labels(self):
        program = self.fortran("label_fortran", " do i = 1, 500\n  print *, 'rank', rank, 'line', i\n"
                               "  write (0, '(a)') 'to standard error'\n end do\n")
        status, _, err = run("-l", "-n", 2, program)
        self.assertEqual(status, 0)
        self.assertTrue(all(re.fullmatch(r"\[[01]\] to standard error", line)
                            for line in err.splitlines()), err)
        self.labelled(program, 4, 500)

    def test_libc_s_own_messages_are_on_lines_of_their_own(self):
        program = self.programs.build("tail_report", INIT +
                                      'printf("no newline %d", rank); fflush(stdout);'
                                      "MPI_Barrier(MPI_COMM_WORLD);"
                                      "if (rank == 1) MPI_Abort(MPI_COMM_WORLD, 4);"
                                      "MPI_Barrier(MPI_COMM_WORLD);" + END)
        status, out, _ = self.run_into_file("-n", 3, program, stderr=subprocess.STDOUT)
        self.assertEqual(status, 4)
        self.assertRegex(out, r"(?m)^mpc: rank 1: MPI_Abort")
        self.assertEqual(out.count("no newline"), 3)

    # --- a rank's standard output elsewhere ----------------------------------------------------

    def test_dup2_turns_the_output_of_one_rank_only(self):
        program = self.programs.compile(
            "turned.c",
            "#define _GNU_SOURCE\n#include <fcntl.h>\n#include <mpi.h>\n#include <stdio.h>\n"
            "#include <stdlib.h>\n#include <unistd.h>\n"
            "int main(int argc, char **argv) { int rank, size; (void)size;" + INIT +
            'if (rank == 1) { fflush(stdout); int saved = dup(1); int f = open(argv[1], '
            'O_CREAT | O_WRONLY, 0600); dup2(f, 1); close(f); printf("one to its file\\n");'
            'dprintf(1, "and raw\\n"); fflush(stdout); MPI_Barrier(MPI_COMM_WORLD);'
            'MPI_Barrier(MPI_COMM_WORLD); dup2(saved, 1); close(saved); }'
            'else { MPI_Barrier(MPI_COMM_WORLD); puts("other"); fflush(stdout);'
            'MPI_Barrier(MPI_COMM_WORLD); } printf("back %d\\n", rank); fflush(stdout);'
            "MPI_Barrier(MPI_COMM_WORLD); if (rank == 2) { close(1);"
            'if (write(1, "x", 1) != -1) abort(); } MPI_Barrier(MPI_COMM_WORLD);'
            'if (rank == 0) puts("still open");' + END + "}\n")
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "of-rank-1")
            status, out, err = run("-n", 3, program, file)
            self.assertEqual((status, err), (0, ""))
            self.assertEqual(sorted(out.splitlines()),
                             ["back 0", "back 1", "back 2", "other", "other", "still open"])
            with open(file, encoding="utf-8") as text:
                self.assertEqual(text.read(), "one to its file\nand raw\n")

    def test_freopen_turns_raw_writes_of_the_rank_too(self):
        program = self.programs.build(
            "reopened", INIT + 'if (rank == 1) { freopen(argv[1], "w", stdout); puts("by stdio");'
            'fflush(stdout); if (write(1, "raw\\n", 4) != 4) return 1; } else puts("of others");' + END)
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "of-rank-1")
            status, out, err = run("-n", 3, program, file)
            self.assertEqual((status, out, err), (0, "of others\nof others\n", ""))
            with open(file, encoding="utf-8") as text:
                self.assertEqual(text.read(), "by stdio\nraw\n")


def main():
    unittest.main(argv=[sys.argv[0], *parse_options()], verbosity=2)


if __name__ == "__main__":
    main()
