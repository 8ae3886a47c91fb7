/* Partitions that several threads mark ready while the main thread waits, and threads that each look
 * for the arrival of their own. */
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "check.h"

enum { kThreads = 4, kEach = 5, kPartitions = kThreads * kEach, kRounds = 30 };

static int rank, size, left, right, count;
static int *out, *in;
static MPI_Request requests[2];
static pthread_barrier_t begin, end;

static int value_of(int from, int round, int i) {
  return from * 7919 + round * 101 + i;
}

static void send_part(int thread, int round) {
  for (int k = 0; k < kEach; ++k) {
    const int p = k * kThreads + (thread + round) % kThreads;
    for (int i = p * count; i < (p + 1) * count; ++i) out[i] = value_of(rank, round, i);
    MPI_Pready(p, requests[0]);
  }
}

static void receive_part(int thread, int round) {
  for (int p = thread; p < kPartitions / 2; p += kThreads) {
    int flag = 0, wrong = 0;
    while (!flag) {
      MPI_Parrived(requests[1], p, &flag);
      if (!flag) sched_yield();
    }
    for (int i = p * 2 * count; i < (p + 1) * 2 * count; ++i)
      wrong += in[i] != value_of(left, round, i);
    CHECK(wrong == 0);
  }
}

static void* work(void* number) {
  const int thread = (int)(size_t)number;
  for (int round = 0; round < kRounds; ++round) {
    pthread_barrier_wait(&begin);
    send_part(thread, round);
    receive_part(thread, round);
    pthread_barrier_wait(&end);
  }
  return NULL;
}

static void run(int ints) {
  pthread_t threads[kThreads];
  count = ints;
  const size_t bytes = sizeof(int) * kPartitions * count;
  out = calloc(1, bytes);
  in = calloc(1, bytes);
  MPI_Psend_init(out, kPartitions, count, MPI_INT, right, 0, MPI_COMM_WORLD,
                 MPI_INFO_NULL, &requests[0]);
  MPI_Precv_init(in, kPartitions / 2, 2 * count, MPI_INT, left, 0, MPI_COMM_WORLD,
                 MPI_INFO_NULL, &requests[1]);
  for (int t = 0; t < kThreads; ++t)
    pthread_create(&threads[t], NULL, work, (void*)(size_t)t);
  for (int round = 0; round < kRounds; ++round) {
    memset(in, 0xff, bytes);
    MPI_Startall(2, requests);
    pthread_barrier_wait(&begin);
    if (round % 2) MPI_Wait(&requests[0], MPI_STATUS_IGNORE); /* while they mark */
    pthread_barrier_wait(&end);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  for (int t = 0; t < kThreads; ++t) pthread_join(threads[t], NULL);
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  free(out);
  free(in);
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  CHECK(provided == MPI_THREAD_MULTIPLE);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  left = (rank + size - 1) % size;
  right = (rank + 1) % size;
  pthread_barrier_init(&begin, NULL, kThreads + 1);
  pthread_barrier_init(&end, NULL, kThreads + 1);
  run(3);
  run(5000);
  return finish();
}
