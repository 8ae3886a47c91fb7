"""The ranks' heaps, and allocators of others."""

import os
import resource
import signal
import subprocess
import unittest

from support import END, INIT, SANITIZED, Case, example, options, run


class Heaps(Case):
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
