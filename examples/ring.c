/* A token goes round all ranks; each adds its number. Prints the time of one hop. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int rank, size, rounds = argc > 1 ? atoi(argv[1]) : 10;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  long long token = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int i = 0; i < rounds; ++i) {
    if (rank == 0) {
      MPI_Request request; /* with one rank the ring is a message to itself */
      long long mine = token;
      MPI_Isend(&mine, 1, MPI_LONG_LONG, right, i, MPI_COMM_WORLD, &request);
      MPI_Recv(&token, 1, MPI_LONG_LONG, left, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(&token, 1, MPI_LONG_LONG, left, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      token += rank;
      MPI_Send(&token, 1, MPI_LONG_LONG, right, i, MPI_COMM_WORLD);
    }
  }
  const double seconds = MPI_Wtime() - begin;
  int failed = 0;
  if (rank == 0) {
    const long long expected = (long long)rounds * size * (size - 1) / 2;
    failed = token != expected;
    printf("ring of %d ranks, %d rounds: token %lld (%s), %.3f us a hop\n", size,
           rounds, token, failed ? "WRONG" : "right", seconds * 1e6 / rounds / size);
  }
  MPI_Finalize();
  return failed;
}
