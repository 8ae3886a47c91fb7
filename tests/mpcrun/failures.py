#!/usr/bin/env python3
"""What a user is told when a rank overflows its stack or dies: never nothing, never the wrong rank.

usage: failures.py --build BUILD --source SOURCE [--sanitize NAME] [unittest arguments]
"""

import glob
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import support
from support import END, INIT, run

SEGV = 128 + signal.SIGSEGV
ABRT = 128 + signal.SIGABRT

BIG_FRAME = (
    "#include <mpi.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
    "__attribute__((noinline)) static void big(void) {\n"
    "  volatile double w[FRAME / 8]; for (int i = 0; i < 1000; ++i) w[i] = 7; }\n"
    "int main(int c, char **v) { MPI_Init(&c, &v); int r; MPI_Comm_rank(MPI_COMM_WORLD, &r);\n"
    "  double table[25000], s = 0; for (int i = 0; i < 25000; ++i) table[i] = 1;\n"
    "  MPI_Barrier(MPI_COMM_WORLD); if (r == 3) big(); MPI_Barrier(MPI_COMM_WORLD);\n"
    "  for (int i = 0; i < 25000; ++i) s += table[i];\n"
    "  if (s != 25000) printf(\"rank %d: wrong %g\\n\", r, s); MPI_Finalize(); return 0; }\n")


def with_limit(which, soft):
    """For subprocess: the limit in the child; the hard one stays."""
    def set_it():
        resource.setrlimit(which, (soft, resource.getrlimit(which)[1]))
    return set_it


def may_have(which, soft):
    hard = resource.getrlimit(which)[1]
    return hard == resource.RLIM_INFINITY or (soft != resource.RLIM_INFINITY and soft <= hard)


def sanitized(*names):
    return any(name in ",".join(sys.argv).split(",") for name in names)


class Failures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.programs = support.Programs()

    def overflows(self, program, *args, rank=3, ranks=4, **kwargs):
        status, out, err = run("-n", ranks, program, *args, **kwargs)
        self.assertEqual(status, SEGV, err)
        self.assertEqual(out, "")
        self.assertIn(f"rank {rank} of {ranks}", err)
        self.assertIn("a stack overflow", err)
        self.assertIn("--stack-size", err)
        return err

    # --- stacks --------------------------------------------------------------------------------

    @unittest.skipIf(sanitized("address", "thread"), "the sanitizer has its own report of signals")
    def test_a_frame_that_would_step_over_a_guard(self):
        """As programs are compiled here, and as a library of others is."""
        for name, frame, flags in (("a_little", 8350000, ()), ("much", 20 << 20, ()),
                                   ("huge", 300 << 20, ()),
                                   ("a_little_elsewhere", 8350000, ("-fno-stack-clash-protection",)),
                                   ("much_elsewhere", 40 << 20, ("-fno-stack-clash-protection",))):
            program = self.programs.compile(name + ".c", BIG_FRAME, f"-DFRAME={frame}", "-O1", *flags)
            self.overflows(program)

    @unittest.skipIf(sanitized("address", "thread"), "the sanitizer has its own report of signals")
    def test_overflows_of_all_kinds(self):
        program = self.programs.compile(
            "kinds.c",
            "#include <alloca.h>\n#include <mpi.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
            "#include <string.h>\n"
            "static int depth(volatile char *p) { volatile char q[200]; q[0] = p[0];"
            " return depth(q) + q[1]; }\n"
            "static int print(int n) { char q[100]; snprintf(q, 100, \"%d %f\", n, n * 1.0);"
            " return print(n + 1) + q[0]; }\n"
            "int main(int c, char **v) { MPI_Init(&c, &v); int r; MPI_Comm_rank(MPI_COMM_WORLD, &r);\n"
            " long n = 30000000; volatile char *p = 0; if (r == 1) { switch (v[1][0]) {\n"
            "  case 'r': return depth(\"\"); case 'p': return print(1);\n"
            "  case 'a': p = alloca(n); p[0] = 1; break;\n"
            "  case 'v': { volatile char q[n]; q[0] = 1; p = q; break; } } }\n"
            " MPI_Barrier(MPI_COMM_WORLD); MPI_Finalize(); return p != 0; }\n", "-w", "-O0")
        for kind in "rpav":
            self.overflows(program, kind, rank=1, ranks=2)

    @unittest.skipIf(sanitized("address", "thread"), "the sanitizer has its own report of signals")
    def test_an_automatic_array_of_fortran(self):
        if shutil.which("gfortran") is None:
            self.skipTest("no gfortran")
        program = self.programs.compile(
            "automatic.f90",
            "subroutine work(n)\n integer :: n\n double precision :: a(n)\n a(1:100) = 1\n"
            " if (sum(a(1:100)) < 0) print *, a\nend subroutine\n"
            "program main\n include 'mpif.h'\n integer :: error, rank\n"
            " call mpi_init(error)\n call mpi_comm_rank(MPI_COMM_WORLD, rank, error)\n"
            " if (rank == 1) call work(2000000)\n call mpi_barrier(MPI_COMM_WORLD, error)\n"
            " call mpi_finalize(error)\nend program\n", "-O1", "-fstack-arrays")
        self.overflows(program, rank=1, ranks=2)

    @unittest.skipIf(sanitized("address", "thread"), "the sanitizer has its own report of signals")
    def test_overflow_of_a_thread(self):
        program = self.programs.compile(
            "thread_overflow.c",
            "#include <mpi.h>\n#include <pthread.h>\n"
            "static int depth(volatile char *p) { volatile char q[200]; q[0] = p[0];"
            " return depth(q) + q[1]; }\n"
            "static void *t(void *v) { return v + depth(\"\"); }\n"
            "int main(int c, char **v) { MPI_Init(&c, &v); int r; MPI_Comm_rank(MPI_COMM_WORLD, &r);\n"
            " pthread_t id; if (r == 1) { pthread_create(&id, 0, t, 0); pthread_join(id, 0); }\n"
            " MPI_Barrier(MPI_COMM_WORLD); MPI_Finalize(); return 0; }\n", "-w", "-O0", "-pthread")
        err = self.overflows(program, rank=1, ranks=2)
        self.assertIn("in a thread that it started", err)

    def test_the_shells_limit_is_the_default_if_it_is_larger(self):
        program = self.programs.build(
            "deep_enough", INIT + 'volatile char big[30 << 20]; big[0] = 1; big[sizeof big - 1] = 1;'
            'if (rank == 0) printf("deep enough %d\\n", big[0] + big[sizeof big - 1]);' + END)
        for limit in (64 << 20, resource.RLIM_INFINITY):
            if not may_have(resource.RLIMIT_STACK, limit):
                continue
            status, out, err = run("-n", 2, program, preexec_fn=with_limit(resource.RLIMIT_STACK, limit))
            self.assertEqual((status, out), (0, "deep enough 2\n"), err)
            _, out, _ = run("-n", 2, "--show", program,
                            preexec_fn=with_limit(resource.RLIMIT_STACK, limit))
            self.assertRegex(out, r"stack of each rank: \d+ KiB \(ulimit -s\)")
            _, out, _ = run("-n", 2, "--stack-size", "16M", "--show", program,
                            preexec_fn=with_limit(resource.RLIMIT_STACK, limit))
            self.assertIn("stack of each rank: 16384 KiB (--stack-size)", out)
        _, out, _ = run("-n", 2, "--show", program,
                        preexec_fn=with_limit(resource.RLIMIT_STACK, 1 << 20))
        self.assertIn("stack of each rank: 8192 KiB (the default)", out)
        status, out, err = run("-n", 2, "--stack-size", "unlimited", program)
        self.assertEqual((status, out), (0, "deep enough 2\n"), err)

    @unittest.skipIf(sanitized("address", "thread"), "the sanitizer needs terabytes of addresses")
    def test_little_address_space_costs_guards_and_not_the_job(self):
        hello = support.example("hello")
        for megabytes, ranks in ((2000, 4), (4000, 100)):
            status, _, err = run("-n", ranks, hello,
                                 preexec_fn=with_limit(resource.RLIMIT_AS, megabytes << 20))
            self.assertEqual(status, 0, err)

    # --- reports -------------------------------------------------------------------------------

    @unittest.skipIf(sanitized("address", "thread"), "the sanitizer has its own report of signals")
    def test_a_damaged_heap(self):
        """Whatever lock malloc holds when it gives up: a whole report, with the hint."""
        program = self.programs.compile(
            "heap.c",
            "#include <mpi.h>\n#include <stdlib.h>\n#include <string.h>\n"
            "int main(int c, char **v) { MPI_Init(&c, &v); int r; MPI_Comm_rank(MPI_COMM_WORLD, &r);\n"
            " if (r == 1) { char *a = malloc(3000), *b = malloc(3000); malloc(10);\n"
            "  if (v[1][0] == 'd') { free(a); free(a); free(b); free(a); }\n"
            "  if (v[1][0] == 'w') free(a + 8);\n"
            "  memset(a - 16, 0x41, 6000); free(b); free(a); for (int i = 1; i < 99999; ++i) malloc(i); }\n"
            " MPI_Barrier(MPI_COMM_WORLD); MPI_Finalize(); return 0; }\n", "-w", "-O0", "-g")
        # What lies beside the blocks of the ranks' heaps are blocks only: an overrun destroys those.
        for allocator, kind in (*(("system", k) for k in "dwo"), ("rank", "d"), ("rank", "w")):
            status, _, err = run("--set", f"job.allocator={allocator}", "-n", 2, program, kind)
            self.assertIn(status, (SEGV, ABRT), err)
            self.assertRegex(err, r"mpcrun: rank 1 of 2 \(.*heap\) on core \d+ died of signal")
            self.assertNotIn("could not be made", err)
            self.assertRegex(err, r"#\d+ main\+0x\w+ at .*heap\.c:\d+")
            self.assertIn("Ranks share one process", err)

    @unittest.skipIf(sanitized("address", "thread"), "the sanitizer has its own report of signals")
    def test_a_damaged_stack(self):
        program = self.programs.compile(
            "smashed.c",
            "#include <mpi.h>\n#include <string.h>\n"
            "__attribute__((noinline)) static void smash(int n, int c) { char q[8], *p = q;"
            " asm volatile(\"\" : \"+r\"(p)); memset(p, c, n); asm volatile(\"\" ::: \"memory\"); }\n"
            "int main(int c, char **v) { MPI_Init(&c, &v); int r; MPI_Comm_rank(MPI_COMM_WORLD, &r);\n"
            " if (r == 1) smash(c > 1 ? 100000000 : 300, 0x41);\n"
            " MPI_Barrier(MPI_COMM_WORLD); MPI_Finalize(); return 0; }\n",
            "-w", "-O1", "-g", "-fno-stack-protector")
        for args in ((), ("all",)):
            status, _, err = run("-n", 2, program, *args)
            self.assertEqual(status, SEGV, err)
            self.assertRegex(err, r"mpcrun: rank 1 of 2 \(.*smashed\) on core \d+ died of signal")
            self.assertNotIn("could not be made", err)
            self.assertNotIn("overflow", err)  # it wrote upwards
            self.assertRegex(err, r"#\d smash\+0x\w+ at .*smashed\.c:3")

    @unittest.skipIf(sanitized("address", "thread"), "the sanitizer has its own report of signals")
    def test_lines_of_source_and_names_of_the_library(self):
        if shutil.which("addr2line") is None:
            self.skipTest("no addr2line")
        program = self.programs.compile(
            "lines.c",
            "#include <mpi.h>\n"
            "static void inner(int *p) {\n"
            "  *p = 1;\n}\n"
            "int main(int c, char **v) {\n  MPI_Init(&c, &v);\n"
            "  if (c == 1)\n    inner((int *)8);\n"
            "  MPI_Send((void *)16, 100000, MPI_INT, 0, 0, MPI_COMM_WORLD);\n}\n", "-w", "-O0", "-g")
        _, _, err = run("-n", 1, program)
        self.assertRegex(err, r"#0 .*inner.* at .*lines\.c:3")
        self.assertRegex(err, r"#1 main\+0x\w+ at .*lines\.c:8")
        # Without the program: the same without lines, at once.
        empty = os.environ | {"PATH": "/nowhere"}
        _, _, err = run("-n", 1, program, env=empty)
        self.assertRegex(err, r"#1 main\+0x\w+ \(")
        self.assertNotIn("lines.c:", err)

    @unittest.skipIf(sanitized("address", "thread"), "the sanitizer has its own report of signals")
    def test_a_bad_buffer_is_the_fault_of_its_rank(self):
        program = self.programs.compile(
            "buffers.c",
            "#include <mpi.h>\n#include <stdlib.h>\n#include <string.h>\n"
            "int main(int c, char **v) { MPI_Init(&c, &v); int r; MPI_Comm_rank(MPI_COMM_WORLD, &r);\n"
            " int n = atoi(v[2]), *a = calloc(n, 4); MPI_Status s;\n"
            " void *bad = v[1][1] == 'r' ? (void *)\"constant constant constant constant\" : (void *)16;\n"
            " if (r == 0) { if (v[1][0] == 'l') for (volatile int i = 0; i < 300000000; ++i) { }\n"
            "  MPI_Send(v[1][0] == 's' ? bad : a, n, MPI_INT, 1, 0, MPI_COMM_WORLD); }\n"
            " else MPI_Recv(v[1][0] == 's' ? a : bad, n, MPI_INT, 0, 0, MPI_COMM_WORLD, &s);\n"
            " MPI_Finalize(); return 0; }\n", "-w", "-O1", "-g")
        for kind, count in (("rr", 8), ("rb", 8), ("rb", 1000), ("rb", 100000), ("lb", 100000),
                            ("sb", 1000), ("sb", 100000), ("rb", 1000000)):
            status, _, err = run("-n", 2, program, kind, count)
            self.assertEqual(status, SEGV, err)
            # Whoever copies: the one whose buffer it is, or the other one with these words.
            own = f"rank {0 if kind[0] == 's' else 1} of 2"
            words = ("copying from the buffer of rank 0's MPI_Send" if kind[0] == "s" else
                     "copying to the buffer of rank 1's MPI_Recv")
            self.assertTrue(own in err or words in err, (kind, count, err))

    @unittest.skipIf(sanitized("address", "thread"), "the sanitizer has its own report of signals")
    def test_a_bad_buffer_of_a_long_put_is_the_fault_of_its_rank(self):
        program = self.programs.compile(
            "put.c",
            "#include <mpi.h>\n#include <stdlib.h>\n"
            "int main(int c, char **v) { MPI_Init(&c, &v); int r, n = 1 << 20; char *m; MPI_Win w;\n"
            " MPI_Comm_rank(MPI_COMM_WORLD, &r);\n"
            " MPI_Win_allocate(n, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &m, &w); MPI_Win_fence(0, w);\n"
            " if (r == 0) { if (v[1][0] == 'p') MPI_Put((void *)16, n, MPI_CHAR, 1, 0, n, MPI_CHAR, w);\n"
            "  else MPI_Get((void *)16, n, MPI_CHAR, 1, 0, n, MPI_CHAR, w); }\n"
            " MPI_Win_fence(0, w); MPI_Finalize(); return 0; }\n", "-w", "-O1", "-g")
        for kind, call in (("p", "copying from the buffer of rank 0's MPI_Put"),
                           ("g", "copying to the buffer of rank 0's MPI_Get")) * 3:
            status, _, err = run("-n", 2, program, kind)
            self.assertEqual(status, SEGV, err)
            self.assertTrue("rank 0 of 2" in err or call in err, (kind, err))

    @unittest.skipIf(sanitized("address", "thread"), "the sanitizer has its own report of signals")
    def test_the_report_begins_a_line(self):
        program = self.programs.build(
            "no_newline", INIT + 'if (rank == 1) { printf("no newline"); fflush(stdout); '
            "*(volatile int *)8 = 1; } MPI_Barrier(MPI_COMM_WORLD);" + END)
        done = subprocess.run([support.tool("mpcrun"), "-n", "2", program], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=60)
        self.assertIn("no newline\nmpcrun: rank 1 of 2", done.stdout)
        program = self.programs.build(
            "no_newline_exit", INIT + 'if (rank == 1) { printf("no newline"); exit(3); }'
            "MPI_Barrier(MPI_COMM_WORLD);" + END)
        done = subprocess.run([support.tool("mpcrun"), "-n", "2", program], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=60)
        self.assertIn("no newline\nmpcrun: rank 1 of 2", done.stdout)

    @unittest.skipIf(sanitized("address", "thread"), "the sanitizer has its own report of signals")
    def test_core_file(self):
        if not may_have(resource.RLIMIT_CORE, resource.RLIM_INFINITY):
            self.skipTest("the hard limit forbids core files")
        with open("/proc/sys/kernel/core_pattern", encoding="ascii") as file:
            pattern = file.read().strip()
        program = self.programs.build(
            "dumps", INIT + "if (rank == 1) { if (argc > 1) abort(); *(volatile int *)8 = 1; }"
            "MPI_Barrier(MPI_COMM_WORLD);" + END)
        for args, number in (((), signal.SIGSEGV), (("abort",), signal.SIGABRT)):
            with tempfile.TemporaryDirectory() as folder:
                status, _, err = run("-n", 2, program, *args, cwd=folder,
                                     preexec_fn=with_limit(resource.RLIMIT_CORE,
                                                           resource.RLIM_INFINITY))
                self.assertEqual(status, -number, err)  # 128 + N in a shell
                self.assertIn("rank 1 of 2", err)
                self.assertIn("#0", err)
                if "/" in pattern or "|" in pattern:
                    continue  # it lies elsewhere
                cores = glob.glob(os.path.join(folder, "*core*"))
                self.assertEqual(len(cores), 1)
                if shutil.which("gdb") is None:
                    continue
                seen = subprocess.run(
                    ["gdb", "-batch", "-ex", "bt 3", "-ex", "x/s &mpc_crash_report",
                     support.tool("mpcrun"), cores[0]], capture_output=True, text=True, timeout=120)
                self.assertIn("rank 1 of 2", seen.stdout, seen.stderr)
        status, _, err = run("-n", 2, program, preexec_fn=with_limit(resource.RLIMIT_CORE, 0))
        self.assertEqual(status, SEGV, err)

    # --- words ---------------------------------------------------------------------------------

    def test_messages_have_names_and_not_numbers(self):
        program = self.programs.build(
            "names", INIT + "double a[2], b[2]; switch (argv[1][0]) {"
            "case 'o': MPI_Allreduce(a, b, 2, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD); break;"
            "case 'b': MPI_Reduce(a, b, 2, MPI_BYTE, MPI_SUM, 0, MPI_COMM_WORLD); break;"
            "case 'c': MPI_Barrier((MPI_Comm)MPI_INT); break;"
            "case 'm': MPI_Allreduce(a, b, rank + 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); }" + END)
        for kind, texts in (("o", ("MPI_BAND", "MPI_DOUBLE")), ("b", ("MPI_SUM", "MPI_BYTE")),
                            ("c", ("MPI_INT", "communicator")), ("m", ("MPI_SUM",))):
            _, _, err = run("-n", 2, program, kind)
            for text in texts:
                self.assertIn(text, err)
            self.assertNotRegex(re.sub(r"\+0x\w+|address 0x\w+", "", err), r"0x")

    def test_what_a_delete_function_returned_is_no_error_of_the_library(self):
        program = self.programs.compile(
            "deletes.c",
            "#include <mpi.h>\nstatic int fn(MPI_Comm c, int k, void *v, void *e) { return 17; }\n"
            "int main(int c, char **v) { int k; MPI_Comm d; MPI_Init(&c, &v);\n"
            " MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, fn, &k, 0); MPI_Comm_dup(MPI_COMM_WORLD, &d);\n"
            " MPI_Comm_set_attr(d, k, 0); MPI_Comm_free(&d); MPI_Finalize(); return 0; }\n", "-w")
        _, _, err = run("-n", 1, program)
        self.assertIn("MPI_Comm_free", err)
        self.assertIn("the delete function of an attribute returned 17", err)
        self.assertNotIn("MPI_ERR_INTERN", err)


def main():
    unittest.main(argv=[sys.argv[0], *support.parse_options()], verbosity=2)


if __name__ == "__main__":
    main()
