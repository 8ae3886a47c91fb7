/* On an emulated machine (mpcrun --emulate) data is right, and work takes the machine's time;
   without one the program computes itself. */
#include <stdlib.h>

#include "check.h"

extern int MPCX_Emulated_compute(double seconds) __attribute__((weak));

enum { kElements = 16384 };

static int rank, size;

static void reduce_is_right(void) {
  double *in = malloc(kElements * sizeof *in), *out = malloc(kElements * sizeof *out);
  for (int i = 0; i < kElements; ++i) in[i] = rank + i;
  MPI_Request request;
  MPI_Iallreduce(in, out, kElements, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
  MPCX_Emulated_compute(0.0005);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  const double ranks = size * (size - 1) / 2.0;
  for (int i = 0; i < kElements; ++i) CHECK(out[i] == ranks + (double)size * i);
  free(in);
  free(out);
}

/* Never shorter than the machine takes; how much longer depends on what else runs here. */
static void computing_takes_time(void) {
  const double seconds = 0.004;
  double start = MPI_Wtime();
  CHECK(MPCX_Emulated_compute(seconds) == 1);
  double took = MPI_Wtime() - start;
  CHECK(took >= 0.999 * seconds);
  CHECK(took < 50 * seconds);
}

static void copying_takes_time(void) {
  /* No machine that is emulated by default copies more than 20 GB/s. */
  const int bytes = 1 << 20;
  char* buffer = calloc(1, (size_t)bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  double start = MPI_Wtime();
  if (rank == 0) MPI_Send(buffer, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
  if (rank == 1)
    MPI_Recv(buffer, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  double took = MPI_Wtime() - start;
  if (rank < 2) CHECK(took >= bytes / 20e9);
  free(buffer);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int is_wanted = argc > 1; /* any argument: a machine is emulated */
  CHECK(MPCX_Emulated_compute != NULL);
  CHECK(MPCX_Emulated_compute(0) == is_wanted);
  if (is_wanted) {
    reduce_is_right();
    computing_takes_time();
    copying_takes_time();
  }
  return finish();
}
