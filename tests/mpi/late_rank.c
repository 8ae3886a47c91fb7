/* Non-blocking starts are local: a rank may enter a collective late, after it has got a message
   that another rank sends behind its own start. Whatever the split keeps for the ranks, no
   start may wait. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { kCount = 100000 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  long *in = malloc(kCount * sizeof *in), *out = malloc(kCount * sizeof *out);
  MPI_Comm hinted;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpc_nbc_split", "1");
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &hinted);
  MPI_Info_free(&info);
  char value[8] = "";
  int flag = 0;
  MPI_Comm_get_info(hinted, &info);
  MPI_Info_get(info, "mpc_nbc_split", 7, value, &flag);
  CHECK(flag && strcmp(value, "1") == 0);
  MPI_Info_free(&info);

  for (int round = 0; round < 20; ++round) {
    MPI_Comm comm = round % 2 == 0 ? MPI_COMM_WORLD : hinted;
    const int late = round % size, root = (round / 2) % size;
    for (int i = 0; i < kCount; ++i) in[i] = rank + i;
    MPI_Request request;
    if (rank == late) { /* waits for all others before it takes part */
      for (int r = 0; r < size; ++r) {
        if (r != rank)
          MPI_Recv(NULL, 0, MPI_INT, r, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
    }
    switch (round % 3) {
      case 0:
        MPI_Ireduce(in, out, kCount, MPI_LONG, MPI_SUM, root, comm, &request);
        break;
      case 1:
        MPI_Iallreduce(in, out, kCount, MPI_LONG, MPI_SUM, comm, &request);
        break;
      default:
        memcpy(out, in, kCount * sizeof *in);
        MPI_Ibcast(out, kCount, MPI_LONG, root, comm, &request);
    }
    if (rank != late) MPI_Send(NULL, 0, MPI_INT, late, round, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    int wrong = 0;
    for (int i = 0; i < kCount; ++i) {
      const long sum = (long)size * (size - 1) / 2 + (long)size * i;
      if (round % 3 == 2) wrong += out[i] != root + i;
      if (round % 3 == 1 || (round % 3 == 0 && rank == root)) wrong += out[i] != sum;
    }
    CHECK(wrong == 0);
  }
  MPI_Comm_free(&hinted);
  free(in);
  free(out);
  return finish();
}
