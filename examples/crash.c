/* Rank 1 writes through a null pointer, or overflows its stack with the argument "stack":
 * one report names the rank, the signal, the address and the place. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int* volatile nothing = NULL;

static int deeper(int n) {
  volatile char frame[4096];
  memset((char*)frame, n, sizeof frame);
  return n < 0 ? 0 : deeper(n + 1) + frame[n % 4096];
}

__attribute__((noinline)) static void broken(void) { *nothing = 42; }

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 1 && argc > 1 && strcmp(argv[1], "stack") == 0) printf("%d\n", deeper(0));
  if (rank == 1) broken();
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
