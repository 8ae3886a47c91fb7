/* The ranks' heaps: blocks of different ranks share no page, whatever happened to them before;
 * anybody may free anything. Run by mpcrun, where ranks can read each other's pointers.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { BLOCKS = 3000, THREADS = 3, PAGE = 4096 };

static int rank, ranks;
static volatile size_t half = SIZE_MAX / 2; /* the compiler must not know */

/* Of 9 to 2000 bytes, most of them short. */
static size_t length(int i) {
  return i % 16 == 0 ? 9 + (size_t)(i * 7 % 1991) : 9 + (size_t)(i % 80);
}

static void* fresh(int i) {
  void* block = malloc(length(i));
  memset(block, rank, length(i));
  return block;
}

struct page {
  unsigned long number;
  int rank;
};
static int by_number(const void* a, const void* b) {
  const struct page *x = a, *y = b;
  if (x->number != y->number) return x->number < y->number ? -1 : 1;
  return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Pages that blocks of two ranks lie on. Collective; the answer is rank 0's. */
static int shared_pages(void** blocks, int count) {
  unsigned long* mine = malloc((size_t)count * sizeof *mine);
  unsigned long* all = malloc((size_t)count * (size_t)ranks * sizeof *all);
  for (int i = 0; i < count; ++i) mine[i] = (unsigned long)blocks[i] / PAGE;
  MPI_Gather(mine, count, MPI_UNSIGNED_LONG, all, count, MPI_UNSIGNED_LONG, 0,
             MPI_COMM_WORLD);
  int shared = 0;
  if (rank == 0) {
    size_t total = (size_t)count * (size_t)ranks;
    struct page* pages = malloc(total * sizeof *pages);
    for (size_t i = 0; i < total; ++i)
      pages[i] = (struct page){all[i], (int)(i / (size_t)count)};
    qsort(pages, total, sizeof *pages, by_number);
    for (size_t i = 1; i < total; ++i)
      shared +=
          pages[i].number == pages[i - 1].number && pages[i].rank != pages[i - 1].rank;
    free(pages);
  }
  free(mine);
  free(all);
  return shared;
}

/* Each rank's left neighbour frees every second of its blocks; then it allocates them anew. */
static void freed_by_the_neighbour(void** blocks) {
  int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
  void* foreign[BLOCKS / 2];
  void* given[BLOCKS / 2];
  for (int i = 0; i < BLOCKS / 2; ++i) given[i] = blocks[2 * i];
  MPI_Sendrecv(given, sizeof given, MPI_BYTE, left, 0, foreign, sizeof foreign,
               MPI_BYTE, right, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < BLOCKS / 2; ++i) free(foreign[i]);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < BLOCKS / 2; ++i) blocks[2 * i] = fresh(2 * i);
}

static void* leave_every_second(void* argument) {
  void** blocks = argument;
  void* others[BLOCKS];
  for (int i = 0; i < BLOCKS; ++i) {
    blocks[i] = fresh(i);
    others[i] = fresh(i);
  }
  for (int i = 0; i < BLOCKS; ++i) free(others[i]);
  return NULL;
}

static void threads_that_end(void** blocks) {
  pthread_t threads[THREADS];
  for (int t = 0; t < THREADS; ++t)
    pthread_create(&threads[t], NULL, leave_every_second, blocks + t * BLOCKS);
  for (int t = 0; t < THREADS; ++t) pthread_join(threads[t], NULL);
}

static int holds(const unsigned char* block, int value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i)
    if (block[i] != value) return 0;
  return 1;
}

/* Every member of the family gives memory that free() takes. */
static void family(void) {
  void* p = NULL;
  CHECK(posix_memalign(&p, 3, 1) == EINVAL && p == NULL);
  for (size_t alignment = 16; alignment <= (8u << 20); alignment *= 4) {
    for (size_t bytes = 1; bytes <= (6u << 20); bytes *= 37) {
      CHECK(posix_memalign(&p, alignment, bytes) == 0 && (uintptr_t)p % alignment == 0);
      CHECK(malloc_usable_size(p) >= bytes);
      memset(p, 7, bytes);
      p = realloc(p, bytes * 3);
      CHECK(holds(p, 7, bytes));
      free(p);
    }
  }
  free(aligned_alloc(64, 640));
  free(memalign(128, 5));
  p = valloc(1);
  CHECK((uintptr_t)p % PAGE == 0);
  free(p);
  free(reallocarray(NULL, 10, 10));
  errno = 0;
  CHECK(reallocarray(NULL, half, 4) == NULL && errno == ENOMEM);
  CHECK(calloc(half, 4) == NULL);
  errno = 0;
  CHECK(malloc(half) == NULL && errno == ENOMEM);
  errno = 0;
  CHECK(malloc(half >> 17) == NULL && errno == ENOMEM);
  p = malloc(0);
  CHECK(p != NULL);
  errno = 17;
  free(p);
  free(NULL);
  CHECK(errno == 17);
  char* line = NULL; /* what libc has allocated */
  size_t room = 0;
  FILE* file = fmemopen((void*)"one line\n", 9, "r");
  CHECK(getline(&line, &room, file) == 9);
  fclose(file);
  free(line);
  free(strdup("text"));
  CHECK(asprintf(&line, "%d", rank) > 0);
  free(line);
}

/* Zero again after use, for all lengths; a large block grows and shrinks without losing data. */
static void contents(void) {
  for (size_t bytes = 1; bytes <= (20u << 20); bytes *= 3) {
    unsigned char* block = malloc(bytes);
    memset(block, 255, bytes);
    free(block);
    block = calloc(bytes, 1);
    CHECK(holds(block, 0, bytes));
    memset(block, rank + 1, bytes);
    block = realloc(block, 3 * bytes);
    CHECK(holds(block, rank + 1, bytes));
    block = realloc(block, bytes / 3 + 1);
    CHECK(holds(block, rank + 1, bytes / 3 + 1));
    free(block);
  }
}

static void figures(void) {
  struct mallinfo2 before = mallinfo2();
  void* volatile blocks[100];
  for (int i = 0; i < 100; ++i) blocks[i] = malloc(100000);
  void* volatile large = malloc(50u << 20);
  struct mallinfo2 after = mallinfo2();
  /* Of this rank alone: others allocate at the same time. */
  CHECK(after.uordblks - before.uordblks >= 10000000 + (50u << 20));
  CHECK(after.uordblks - before.uordblks < 11000000 + (55u << 20));
  CHECK(after.hblkhd - before.hblkhd >= 50u << 20);
  free(large);
  for (int i = 0; i < 100; ++i) free(blocks[i]);
  CHECK(mallinfo2().uordblks < before.uordblks + 200000);
  malloc_trim(0);
  CHECK(mallinfo2().arena <= after.arena);
}

/* Does the mapping at this address have this flag (of /proc/self/smaps)? */
static int has_flag(const void* address, const char* flag) {
  char line[4096];
  int is_here = 0, found = 0;
  FILE* file = fopen("/proc/self/smaps", "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    uintptr_t begin, end;
    if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
      is_here = begin <= (uintptr_t)address && (uintptr_t)address < end;
    if (is_here && strncmp(line, "VmFlags:", 8) == 0)
      found = strstr(line, flag) != NULL;
  }
  if (file != NULL) fclose(file);
  return found;
}

/* Asked for where memory is used: in a static array, in a large block behind its beginning, in arrays once those before
   are filled. Refused where a rank is small, and where memory is only allocated. */
static void huge_pages(void) {
  static char statics[8 << 20];
  if (access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0) return;
  statics[sizeof statics / 2] = 1;
  CHECK(has_flag(statics + sizeof statics / 2, " hg "));
  for (size_t bytes = 5u << 20; bytes <= 80u << 20; bytes *= 4) {
    char* block = malloc(bytes);
    CHECK(has_flag(block, " nh ") && has_flag(block + bytes / 2, " hg "));
    free(block);
  }
  enum { ARRAYS = 40, MIB = 1 << 20 };
  char* arrays[ARRAYS];
  for (int i = 0; i < ARRAYS; ++i) {
    arrays[i] = malloc(MIB);
    memset(arrays[i], 1, MIB);
  }
  CHECK(has_flag(arrays[0], " nh ") && has_flag(arrays[ARRAYS - 1], " hg "));
  for (int i = 0; i < ARRAYS; ++i) free(arrays[i]);
  void* small = malloc(20);
  CHECK(has_flag(small, " nh "));
  free(small);
}

/* A child goes on with the heap of its parent. */
static void forked(void** blocks) {
  pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < BLOCKS; ++i) free(blocks[i]);
    for (int i = 0; i < BLOCKS; ++i) blocks[i] = fresh(i);
    _exit(holds(blocks[5], rank, length(5)) ? 7 : 8);
  }
  int status = 0;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int is_small = ranks <= 16;
  static void* blocks[BLOCKS];
  static void* of_threads[THREADS * BLOCKS];
  for (int i = 0; i < BLOCKS; ++i) blocks[i] = fresh(i);
  CHECK(shared_pages(blocks, BLOCKS) == 0);
  for (int round = 0; round < 3; ++round) {
    freed_by_the_neighbour(blocks);
    CHECK(shared_pages(blocks, BLOCKS) == 0);
  }
  for (int i = 0; i < BLOCKS; ++i) CHECK(holds(blocks[i], rank, length(i)));
  if (is_small) {
    threads_that_end(of_threads);
    CHECK(shared_pages(of_threads, THREADS * BLOCKS) == 0);
    for (int i = 0; i < BLOCKS / 2; ++i) free(of_threads[2 * i]);
    pthread_t again; /* continues what one of them has left */
    pthread_create(&again, NULL, leave_every_second, of_threads);
    pthread_join(again, NULL);
    CHECK(shared_pages(of_threads, THREADS * BLOCKS) == 0);
    family();
    contents();
    figures();
    huge_pages();
  }
  forked(blocks);
  CHECK(shared_pages(blocks, BLOCKS) == 0);
  return finish();
}
