/* Pipelines whose ranks compute between messages, so that idle cores take them: order, values, globals,
 * thread-locals and output of a rank stay its own wherever it goes on. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { kRows = 400, kWork = 3000, kWaves = 3 };

static int rank, size;
static int own_rank;                 /* a global of the rank */
static _Thread_local int own_thread; /* and a thread-local */

static void compute(int steps) {
  for (volatile int i = 0; i < steps; ++i) {
  }
}

/* Row by row to the right: each adds its rank. What comes is what the left one has sent last. */
static void wave(int number) {
  for (int row = 0; row < kRows; ++row) {
    long message[2] = {row, number};
    if (rank > 0) {
      MPI_Recv(message, 2, MPI_LONG, rank - 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(message[0] == row);
      CHECK(message[1] == number + (long)rank * (rank - 1) / 2);
    }
    compute(kWork / size * (1 + rank % 3));
    message[1] += rank;
    if (rank < size - 1) MPI_Send(message, 2, MPI_LONG, rank + 1, 7, MPI_COMM_WORLD);
    CHECK(own_rank == rank && own_thread == rank);
  }
}

/* Tokens of all ranks go round at once, over both ways of waiting. */
static void ring(void) {
  int right = (rank + 1) % size, left = (rank + size - 1) % size, token = rank;
  for (int step = 0; step < size; ++step) {
    int next = -1;
    MPI_Request request;
    MPI_Irecv(&next, 1, MPI_INT, left, step, MPI_COMM_WORLD, &request);
    compute(rank % 2 ? kWork : 10);
    MPI_Send(&token, 1, MPI_INT, right, step, MPI_COMM_WORLD);
    if (step % 2) {
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
      int done = 0;
      while (!done) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
    token = next;
  }
  CHECK(token == rank);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  own_rank = own_thread = rank;
  for (int i = 0; i < kWaves; ++i) {
    wave(i);
    ring();
    int sum = 0;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == size * (size - 1) / 2);
  }
  return finish();
}
