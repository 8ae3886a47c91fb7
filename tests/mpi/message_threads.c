/* Threads that start and complete messages all the time, so that requests of one get the places of those
   that another one has just completed. With mpi.check=full there is nothing to report. */
#include <pthread.h>

#include "check.h"

enum { kThreads = 4, kRounds = 200, kMost = 2000 };

static int rank, size;

static void* exchange(void* number) {
  const int tag = 100 + (int)(long)number, left = (rank + size - 1) % size;
  int out[kMost], in[kMost];
  for (int round = 0; round < kRounds; ++round) {
    const int n = 1 + round * 37 % kMost;
    MPI_Request requests[2];
    for (int i = 0; i < kMost; ++i) out[i] = rank * kMost + i;
    MPI_Irecv(in, kMost, MPI_INT, left, tag, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, n, MPI_INT, (rank + 1) % size, tag, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    int wrong = 0;
    for (int i = 0; i < n; ++i) wrong += in[i] != left * kMost + i;
    CHECK(wrong == 0);
  }
  return NULL;
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  pthread_t threads[kThreads];
  for (long i = 0; i < kThreads; ++i)
    pthread_create(&threads[i], NULL, exchange, (void*)i);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  return finish();
}
