/* Messages between threads of ranks that go to sleep and wake at all times, while others of the same rank
   poll: none is lost, whoever looks for it. Thread t of a rank exchanges with threads t of its two neighbours,
   the main thread is one of them, and one more thread sleeps in a receive until the end.
   usage: thread_polls [ROUNDS [THREADS]] */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"

enum { kMostThreads = 8, kMost = 5000, kWindow = 20, kLastTag = 900 };

static int rank, size, left, right, rounds = 300, threads = 3;

static unsigned draw(unsigned* state, unsigned limit) {
  *state = *state * 1664525u + 1013904223u;
  return (*state >> 8) % limit;
}

/* Alike at the sender and at the receiver. */
static int count_of(int tag, int round, int sender) {
  static const int counts[] = {1, 3, 40, 700, kMost};
  return counts[(unsigned)(tag * 7 + round * 3 + sender) % 5];
}
static int element(int tag, int round, int sender, int i) {
  return tag * 1000003 + round * 1009 + sender * 131 + i;
}

/* Mostly goes on at once; or computes; or sleeps for longer than others poll. */
static void pause_a_bit(unsigned* state) {
  const unsigned kind = draw(state, 16);
  if (kind == 0) {
    const struct timespec some = {0, 100000 + 1000 * (long)draw(state, 300)};
    nanosleep(&some, NULL);
  } else if (kind < 3) {
    volatile double x = 1;
    for (unsigned i = draw(state, 20000); i > 0; --i) x = x * 1.0000001;
  }
}

static void fill(int* out, int tag, int round, int n) {
  for (int i = 0; i < n; ++i) out[i] = element(tag, round, rank, i);
}

static void check_data(const int* in, int tag, int round, const MPI_Status* status) {
  int n, wrong = 0;
  MPI_Get_count(status, MPI_INT, &n);
  CHECK(n == count_of(tag, round, left));
  for (int i = 0; i < n; ++i) wrong += in[i] != element(tag, round, left, i);
  CHECK(wrong == 0);
}

static void receive(int* in, int tag, int round, unsigned* state) {
  MPI_Status status;
  switch (draw(state, 4)) {
    case 0:
      MPI_Probe(left, tag, MPI_COMM_WORLD, &status);
      break;
    case 1:
      for (int flag = 0; !flag;) MPI_Iprobe(left, tag, MPI_COMM_WORLD, &flag, &status);
      break;
    default:
      break;
  }
  MPI_Recv(in, kMost, MPI_INT, left, tag, MPI_COMM_WORLD, &status);
  check_data(in, tag, round, &status);
}

/* One message to the right, one from the left. */
static void exchange(int* in, int* out, int tag, int round, unsigned* state) {
  const int n = count_of(tag, round, rank);
  fill(out, tag, round, n);
  MPI_Request request;
  MPI_Status status;
  switch (draw(state, 4)) {
    case 0:
      MPI_Irecv(in, kMost, MPI_INT, left, tag, MPI_COMM_WORLD, &request);
      pause_a_bit(state);
      MPI_Send(out, n, MPI_INT, right, tag, MPI_COMM_WORLD);
      MPI_Wait(&request, &status);
      check_data(in, tag, round, &status);
      break;
    case 1:
      MPI_Issend(out, n, MPI_INT, right, tag, MPI_COMM_WORLD, &request);
      receive(in, tag, round, state);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      break;
    case 2:
      MPI_Isend(out, n, MPI_INT, right, tag, MPI_COMM_WORLD, &request);
      pause_a_bit(state);
      receive(in, tag, round, state);
      for (int flag = 0; !flag;) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
      break;
    default:
      MPI_Sendrecv(out, n, MPI_INT, right, tag, in, kMost, MPI_INT, left, tag,
                   MPI_COMM_WORLD, &status);
      check_data(in, tag, round, &status);
  }
}

static void window(int tag) {
  int out[kWindow], in[kWindow], wrong = 0;
  MPI_Request requests[2 * kWindow];
  for (int i = 0; i < kWindow; ++i) {
    out[i] = element(tag, i, rank, 0);
    MPI_Irecv(&in[i], 1, MPI_INT, left, tag, MPI_COMM_WORLD, &requests[i]);
    MPI_Isend(&out[i], 1, MPI_INT, right, tag, MPI_COMM_WORLD, &requests[kWindow + i]);
  }
  MPI_Waitall(2 * kWindow, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < kWindow; ++i) wrong += in[i] != element(tag, i, left, 0);
  CHECK(wrong == 0);
}

static void* work(void* number) {
  const int tag = (int)(long)number;
  unsigned state = (unsigned)(rank * 97 + tag * 31 + 5);
  int* const in = malloc(kMost * sizeof *in);
  int* const out = malloc(kMost * sizeof *out);
  for (int round = 0; round < rounds; ++round) {
    exchange(in, out, tag, round, &state);
    if (round % 8 == tag % 8) window(tag);
    pause_a_bit(&state);
  }
  free(in);
  free(out);
  return NULL;
}

static void* wait_for_end(void* unused) {
  (void)unused;
  int value = 0;
  MPI_Recv(&value, 1, MPI_INT, left, kLastTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(value == left);
  return NULL;
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 1) rounds = atoi(argv[1]);
  if (argc > 2) threads = atoi(argv[2]);
  left = (rank + size - 1) % size;
  right = (rank + 1) % size;
  pthread_t others[kMostThreads], waits;
  for (int sleeps = 0; sleeps < 2;
       ++sleeps) { /* nobody sleeps all the time; one does */
    if (sleeps) pthread_create(&waits, NULL, wait_for_end, NULL);
    for (long t = 1; t < threads; ++t) pthread_create(&others[t], NULL, work, (void*)t);
    work(NULL);
    for (int t = 1; t < threads; ++t) pthread_join(others[t], NULL);
    if (!sleeps) continue;
    MPI_Send(&rank, 1, MPI_INT, right, kLastTag, MPI_COMM_WORLD);
    pthread_join(waits, NULL);
  }
  /* The main thread sleeps outside of MPI. */
  for (long t = 1; t < threads; ++t) pthread_create(&others[t], NULL, work, (void*)t);
  for (int t = 1; t < threads; ++t) pthread_join(others[t], NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  return finish();
}
