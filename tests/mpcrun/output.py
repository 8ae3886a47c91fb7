#!/usr/bin/env python3
"""What ranks write, and the end of a job, as a user meets them: lost output, labels, last words.

usage: output.py --build BUILD --source SOURCE [--sanitize NAME] [unittest arguments]
"""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import cases
from cases import END, INIT, run, tool

FORTRAN = ("program main\n implicit none\n include 'mpif.h'\n integer :: error, rank, i\n"
           " call mpi_init(error)\n call mpi_comm_rank(MPI_COMM_WORLD, rank, error)\n")
FORTRAN_END = " call mpi_finalize(error)\nend program\n"
CXX = ("#include <mpi.h>\n#include <fstream>\n#include <iostream>\n#include <cstdlib>\n"
       "#include <unistd.h>\n"
       "int main(int argc, char **argv) { int rank, size; (void)size;" + INIT)
OUTPUT_LOST = 122

no_gfortran = unittest.skipIf(shutil.which("gfortran") is None, "no gfortran")
own_signals = unittest.skipIf({"address", "thread"} & set(cases.sanitize_of_command_line()),
                              "the sanitizer has its own report of signals")


class Output(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.programs = cases.Programs()

    def fortran(self, name, body, declarations=""):
        text = FORTRAN.replace(" call mpi_init", declarations + " call mpi_init")
        return self.programs.compile(name + ".f90", text + body + FORTRAN_END)

    def cxx(self, name, body):
        return self.programs.compile(name + ".cpp", CXX + body + END + "}\n")

    def run_into_file(self, *args, timeout=60, stderr=subprocess.PIPE):
        """Runs mpcrun with a file as standard output; returns (status, text of the file, stderr)."""
        with tempfile.TemporaryFile("w+") as file:
            done = subprocess.run([tool("mpcrun"), *map(str, args)], stdout=file, stderr=stderr,
                                  text=True, timeout=timeout)
            file.seek(0)
            return done.returncode, file.read(), done.stderr

    def run_into_full_device(self, *args):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([tool("mpcrun"), *map(str, args)], stdout=full,
                                  stderr=subprocess.PIPE, text=True, timeout=60)
        return done.returncode, done.stderr

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
                      ["mpcrun", "--help"], ["mpcrun", "-n", "1", "--show", cases.example("hello")]):
            with open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run([tool(words[0]), *words[1:]], stdout=full,
                                      stderr=subprocess.PIPE, text=True, timeout=60)
            self.assertEqual(done.returncode, OUTPUT_LOST, words)
            self.assertRegex(done.stderr, f"^{words[0]}: standard output: .+\n$")

    def test_a_trace_that_was_cut(self):
        status, out, err = run("-n", 2, "--trace", "/dev/full", cases.example("hello"))
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

    # --- last words ----------------------------------------------------------------------------

    # On a machine that others load, too, a rank may not run for longer than the default.
    GRACE = ("--set", "job.grace_ms=5000")

    def check_message(self, program, ranks, *arguments, status=1):
        for cores in {1, min(2, os.cpu_count())}:
            for _ in range(3):
                for into in (run, self.run_into_file):
                    got, out, err = into(*self.GRACE, "-n", ranks, "--cores", cores, program,
                                         *arguments)
                    self.assertEqual(got, status, err)
                    self.assertIn("wrong number of arguments", out + err)
                    self.assertEqual(len(re.findall("(?m)^mpc", err)), 1, err)

    def test_the_message_of_rank_0_is_there_when_all_fail(self):
        program = self.programs.build(
            "usage", INIT + 'if (rank == 0) printf("wrong number of arguments\\n");'
            "if (argc > 1) MPI_Abort(MPI_COMM_WORLD, 1); exit(1);")
        for ranks in (2, 4, 16, 64):
            self.check_message(program, ranks)
            self.check_message(program, ranks, "abort")

    def test_the_message_of_rank_0_is_there_in_cxx(self):
        program = self.cxx(
            "usage_cxx", 'if (rank == 0) (argc > 2 ? std::cerr : std::cout) << "wrong number" <<'
            ' " of arguments" << (argc > 2 ? "\\n" : "\\n");'
            'if (argc > 1 && argv[1][0] == \'a\') MPI_Abort(MPI_COMM_WORLD, 1); std::exit(1);')
        for arguments in ([], ["abort"], ["abort", "cerr"], ["exit", "cerr"]):
            self.check_message(program, 4, *arguments)

    @no_gfortran
    def test_the_message_of_rank_0_is_there_in_fortran(self):
        program = self.fortran(
            "usage_fortran", " if (rank == 0) print *, 'wrong number of arguments'\n"
            " if (command_argument_count() > 0) call mpi_abort(MPI_COMM_WORLD, 1, error)\n stop 1\n")
        for ranks in (2, 16):
            self.check_message(program, ranks)
            self.check_message(program, ranks, "abort")

    @no_gfortran
    def test_what_fortran_has_written_to_a_file_is_there_however_the_job_ends(self):
        program = self.fortran(
            "last_words", " call get_command_argument(1, how)\n"
            " do i = 1, 40\n  print *, 'line', i, 'of rank', rank\n end do\n"
            " call mpi_barrier(MPI_COMM_WORLD, error)\n"
            " if (rank == 1) then\n  select case (how)\n"
            "  case ('abort')\n   call mpi_abort(MPI_COMM_WORLD, 3, error)\n"
            "  case ('stop')\n   stop 3\n  case ('crash')\n   call abort()\n"
            "  end select\n end if\n"
            " if (how == 'busy' .and. rank == 0) then\n  do\n  end do\n end if\n"
            " call mpi_recv(i, 1, MPI_INTEGER, modulo(rank + 1, 3), 5, MPI_COMM_WORLD,"
            " MPI_STATUS_IGNORE, error)\n", " character(len=20) :: how\n")
        wanted = {(line, rank) for line in range(1, 41) for rank in range(3)}
        ends = [("abort", 3), ("stop", 3), ("deadlock", 125), ("busy", 124)]
        if not cases.options.sanitize:
            ends.append(("crash", 128 + signal.SIGABRT))
        for how, status in ends:
            extra = ["--timeout", 1] if how == "busy" else []
            got, out, err = self.run_into_file("-n", 3, *extra, program, how)
            self.assertEqual(got, status, err)
            found = {(int(a), int(b)) for a, b in re.findall(r"line +(\d+) of rank +(\d+)\n", out)}
            self.assertEqual(found, wanted, how)

    @no_gfortran
    @unittest.skipIf("thread" in cases.sanitize_of_command_line(),
                     "the sanitizer does not know the threads of libmpi_abi in such a process")
    def test_fortran_s_last_words_without_mpcrun(self):
        program = self.fortran("alone", " print *, 'last words'\n"
                               " call mpi_abort(MPI_COMM_WORLD, 3, error)\n")
        with tempfile.TemporaryFile("w+") as file:
            done = subprocess.run([program], stdout=file, stderr=subprocess.PIPE, check=False)
            file.seek(0)
            self.assertEqual((done.returncode, file.read()), (3, " last words\n"))

    def test_messages_of_libc_have_labels(self):
        program = self.programs.compile(
            "libc_messages.c",
            "#define _GNU_SOURCE\n#include <assert.h>\n#include <err.h>\n#include <errno.h>\n"
            "#include <error.h>\n#include <mpi.h>\n#include <signal.h>\n#include <stdio.h>\n"
            "int main(int c, char **v) { MPI_Init(&c, &v); errno = ENOENT;"
            'warn("warn"); warnx("warnx");'
            'error(0, ENOENT, "error"); psignal(11, "psignal"); perror("perror");'
            'fputs_unlocked("unlocked\\n", stderr); putw(0x0a626162, stderr);'
            "MPI_Finalize(); return 0; }\n")
        status, out, err = run("-l", "-n", 3, program)
        self.assertEqual((status, out), (0, ""), err)
        self.assertEqual(len(err.splitlines()), 21, err)
        for line in err.splitlines():
            self.assertRegex(line, r"^\[[0-2]\] ")

    def test_files_that_ranks_write_by_stdio_are_flushed(self):
        program = self.programs.build(
            "results", INIT + 'char name[200]; sprintf(name, "%s/of-%d", argv[1], rank);'
            'FILE *f = fopen(name, "w"); fprintf(f, "result of %d\\n", rank);'
            "MPI_Barrier(MPI_COMM_WORLD); if (rank == 1) MPI_Abort(MPI_COMM_WORLD, 3);"
            "MPI_Barrier(MPI_COMM_WORLD);")
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(run("-n", 3, program, folder)[0], 3)
            for rank in range(3):
                with open(os.path.join(folder, f"of-{rank}"), encoding="utf-8") as file:
                    self.assertEqual(file.read(), f"result of {rank}\n")

    def test_fflush_of_all_files_waits_for_nobody(self):
        program = self.programs.build(
            "all_files", INIT + 'char t[10]; if (rank == 0) { puts("reads"); fgets(t, 10, stdin); }'
            'else { usleep(200000); fflush(NULL); puts("flushed"); }' + END)
        with subprocess.Popen([tool("mpcrun"), "-n", "2", program], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as process:
            self.assertEqual([process.stdout.readline(), process.stdout.readline()],
                             ["reads\n", "flushed\n"])
            process.stdin.close()
            self.assertEqual(process.wait(timeout=30), 0)

    def test_after_finalize_the_others_write_their_results(self):
        program = self.programs.build(
            "results_after", INIT + "MPI_Finalize(); if (rank == 0) { sleep(1);"
            'puts("result written"); return 0; } return rank == 1 ? 7 : 0;')
        status, out, err = run("-n", 3, program)
        self.assertEqual((status, out), (7, "result written\n"))
        self.assertRegex(err, r"^mpcrun: rank 1 of 3 \(.*\) exited with status 7\n$")

    def test_a_rank_that_computes_for_ever_is_ended(self):
        program = self.programs.build(
            "for_ever", INIT + "if (rank == 1) exit(3);"
            'if (rank == 0) for (volatile long i = 0;; ++i) { }'
            'puts("about to fail"); exit(4);')
        for cores in {1, min(2, os.cpu_count())}:
            begin = time.monotonic()
            status, out, _ = run("--set", "job.grace_ms=1000", "-n", 3, "--cores", cores, program,
                                 timeout=20)
            self.assertIn(status, (3, 4))
            self.assertEqual(out, "about to fail\n")
            self.assertLess(time.monotonic() - begin, 10)

    def test_ranks_that_print_in_a_loop_do_not_bury_the_report(self):
        program = self.programs.build(
            "loud", INIT + "MPI_Barrier(MPI_COMM_WORLD); if (rank == 1) { exit(3); }"
            'for (;;) puts("and on and on and on and on and on and on and on and on and on");')
        status, out, err = run("-n", 4, "--set", "job.grace_ms=3000", program)
        self.assertEqual(status, 3)
        self.assertIn("rank 1 of 4", err)

    @own_signals
    def test_crashes_of_all_ranks_at_once_make_one_report(self):
        program = self.programs.build(
            "all_crash", INIT + 'printf("rank %d here\\n", rank); MPI_Barrier(MPI_COMM_WORLD);'
            "*(volatile int *)8 = 1;" + END)
        for ranks in (2, 32):
            status, out, err = run("-n", ranks, program)
            self.assertEqual(status, 128 + signal.SIGSEGV)
            self.assertEqual(err.count("died of signal"), 1, err)
            self.assertEqual(err.count("could not be made"), 0, err)
            self.assertEqual(len(out.splitlines()), ranks)

    @own_signals
    def test_words_around_a_crash(self):
        program = self.programs.build(
            "crash_words", INIT + "MPI_Barrier(MPI_COMM_WORLD); if (rank == 1) *(volatile int *)8 = 1;"
            'printf("rank %d goes on\\n", rank); MPI_Barrier(MPI_COMM_WORLD);' + END)
        status, out, err = run(*self.GRACE, "-n", 4, program)
        self.assertEqual(status, 128 + signal.SIGSEGV)
        self.assertEqual(sorted(out.splitlines()), [f"rank {r} goes on" for r in (0, 2, 3)])
        self.assertIn("rank 1 of 4", err)


if __name__ == "__main__":
    cases.main()
