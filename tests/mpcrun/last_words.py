"""The end of a job: what its ranks have written last is there, and the report is not buried."""

import os
import re
import signal
import subprocess
import tempfile
import time
import unittest

from support import END, INIT, WORDS, options, run, tool
from written import Written, no_gfortran, own_signals


class LastWords(Written):
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
        if not options.sanitize:
            ends.append(("crash", 128 + signal.SIGABRT))
        for how, status in ends:
            extra = ["--timeout", 1] if how == "busy" else []
            got, out, err = self.run_into_file("-n", 3, *extra, program, how)
            self.assertEqual(got, status, err)
            found = {(int(a), int(b)) for a, b in re.findall(r"line +(\d+) of rank +(\d+)\n", out)}
            self.assertEqual(found, wanted, how)

    @no_gfortran
    @unittest.skipIf("thread" in WORDS,
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
