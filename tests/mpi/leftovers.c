/* MPI_Finalize completes what the program has left: freed requests, buffered messages. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define N 100000

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  static int out[N], in[N];
  for (int i = 0; i < N; ++i) out[i] = rank * N + i;
  const int bytes = N * sizeof(int) + MPI_BSEND_OVERHEAD;
  void* buffer = malloc(bytes);
  MPI_Buffer_attach(buffer, bytes);
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  MPI_Request request;
  MPI_Isend(out, N, MPI_INT, to, 1, MPI_COMM_WORLD, &request);
  MPI_Request_free(&request);
  MPI_Bsend(out, N, MPI_INT, to, 2, MPI_COMM_WORLD);
  if (rank % 2 == 0) /* odd ranks may be in MPI_Finalize before this receives */
    for (volatile int i = 0; i < 1000000; ++i) continue;
  for (int tag = 1; tag <= 2; ++tag) {
    memset(in, 0, sizeof in);
    MPI_Recv(in, N, MPI_INT, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(in[0] == from * N && in[N - 1] == from * N + N - 1);
  }
  return finish();
}
