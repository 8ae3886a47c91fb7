/* Messages of 8 bytes, so many that their instructions can be counted: bench/cost runs it below callgrind.
 *
 *   mpirun -n 2 ./cost self 1000      sends to itself and receives
 *   mpirun -n 2 ./cost window 1000    64 receives and 64 sends to itself at a time, then one wait for all
 *   mpirun -n 2 ./cost pingpong 1000  there and back between two ranks: two messages each
 */
#include <mpi.h>

#include "bench.h"

enum { kWindow = 64 };

static int rank;
static double in[kWindow], out[kWindow];

static void self(void) {
  MPI_Send(out, 1, MPI_DOUBLE, rank, 0, MPI_COMM_WORLD);
  MPI_Recv(in, 1, MPI_DOUBLE, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void window(void) {
  MPI_Request requests[2 * kWindow];
  for (int i = 0; i < kWindow; ++i)
    MPI_Irecv(in + i, 1, MPI_DOUBLE, rank, 0, MPI_COMM_WORLD, requests + i);
  for (int i = 0; i < kWindow; ++i)
    MPI_Isend(out + i, 1, MPI_DOUBLE, rank, 0, MPI_COMM_WORLD, requests + kWindow + i);
  MPI_Waitall(2 * kWindow, requests, MPI_STATUSES_IGNORE);
}

static void pingpong(void) {
  if (rank == 0) MPI_Send(out, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
  MPI_Recv(in, 1, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 1) MPI_Send(out, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char* what = argc > 2 ? argv[1] : "self";
  const long rounds = argc > 2 ? atol(argv[2]) : 1000;
  void (*const round)(void) = !strcmp(what, "pingpong") ? pingpong
                              : !strcmp(what, "window") ? window
                                                        : self;
  const int takes_part = rank == 0 || (rank == 1 && round == pingpong);
  for (long i = 0; takes_part && i < rounds; ++i) round();
  MPI_Finalize();
  return 0;
}
