/* A user's function is run once at a time in a rank, whoever runs it: it may keep state of its
   own. Several reductions in flight, completed by ranks that compute and by ranks that wait.
   Without the argument "background" it is never run while the rank computes. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { kFlying = 6, kCount = 60000, kRounds = 6 };

static int inside, clashes, trespasses;
static int in_background;     /* the argument */
static volatile int computes; /* the rank is not in an MPI call */
static int scratch[kCount];   /* no use in two of them at once */

static void add_by_way_of_scratch(void* in, void* inout, int* n, MPI_Datatype* type) {
  const int* x = in;
  int* y = inout;
  (void)type;
  if (!in_background && computes) ++trespasses;
  if (__atomic_fetch_add(&inside, 1, __ATOMIC_SEQ_CST) != 0) ++clashes;
  memcpy(scratch, x, (size_t)*n * sizeof *x);
  for (int i = 0; i < *n; ++i) scratch[i] += y[i];
  memcpy(y, scratch, (size_t)*n * sizeof *y);
  __atomic_fetch_sub(&inside, 1, __ATOMIC_SEQ_CST);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  in_background = argc > 1 && strcmp(argv[1], "background") == 0;
  int rank, size;
  MPI_Op op;
  MPI_Request requests[kFlying];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Op_create(add_by_way_of_scratch, 1, &op);
  int* in = malloc(sizeof(int) * kFlying * kCount);
  int* out = malloc(sizeof(int) * kFlying * kCount);
  for (int round = 0; round < kRounds; ++round) {
    for (int k = 0; k < kFlying; ++k) {
      for (int i = 0; i < kCount; ++i) in[k * kCount + i] = rank + i + k;
      /* of different lengths: short ones are not left to another core */
      MPI_Iallreduce(in + k * kCount, out + k * kCount, k % 3 == 2 ? 50 : kCount,
                     MPI_INT, op, MPI_COMM_WORLD, &requests[k]);
    }
    if (round % 2) { /* other ways to the function meanwhile */
      int mine[40], sum[40];
      for (int i = 0; i < 40; ++i) mine[i] = sum[i] = i;
      MPI_Reduce_local(mine, sum, 40, MPI_INT, op);
      for (int i = 0; i < 40; ++i) CHECK(sum[i] == 2 * i);
      MPI_Allreduce(mine, sum, 40, MPI_INT, op, MPI_COMM_WORLD);
      for (int i = 0; i < 40; ++i) CHECK(sum[i] == size * i);
    }
    const double end = MPI_Wtime() + ((rank + round) % 3) * 1e-3;
    computes = 1;
    for (double now = 0; now < end;) {
      computes = 0;
      now = MPI_Wtime();
      computes = 1;
      for (volatile int i = 0; i < 20000; ++i) continue;
    }
    computes = 0;
    MPI_Waitall(kFlying, requests, MPI_STATUSES_IGNORE);
    int wrong = 0;
    for (int k = 0; k < kFlying; ++k)
      for (int i = 0; i < (k % 3 == 2 ? 50 : kCount); ++i)
        wrong += out[k * kCount + i] != size * (i + k) + size * (size - 1) / 2;
    CHECK(wrong == 0);
  }
  CHECK(clashes == 0);
  CHECK(trespasses == 0);
  MPI_Op_free(&op);
  free(in);
  free(out);
  return finish();
}
