/* Threads of one rank exchange messages with those of another one: does the latency of a thread grow, and
 * the rate of all of them fall, as there are more of them? (The test of Denis and Trahay's and of
 * Trahay et al.'s papers on PIOMan.)
 *
 *   mpirun -n 2 ./threads [--threads=1,2,4]
 *
 * Thread t of rank 0 and thread t of rank 1 use tag t of one communicator. Rank 0 prints for T threads
 *
 *   threads_latency T   us, one way of 8 bytes, while all T pairs play ping-pong; the mean of the pairs
 *   threads_rate    T   million messages of 8 bytes a second, of all pairs together, in windows of 64
 *
 * Standard C11, POSIX threads and MPI-3 with MPI_THREAD_MULTIPLE.
 */
#include <mpi.h>
#include <pthread.h>

#include "bench.h"

enum { MOST_THREADS = 64, WINDOW = 64 };
enum kind { LATENCY, RATE };

struct member {
  pthread_t thread;
  int number;
  double begin_s, end_s;
};

static int rank, threads;
static enum kind kind;
static long rounds; /* of each thread in this batch */
static pthread_barrier_t begin;
static struct member members[MOST_THREADS];

static long share(long value) {
  MPI_Bcast(&value, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  return value;
}

static void pingpong(int tag) {
  double out = tag, in;
  for (long i = 0; i < rounds; ++i) {
    if (rank == 0) MPI_Send(&out, 1, MPI_DOUBLE, 1, tag, MPI_COMM_WORLD);
    MPI_Recv(&in, 1, MPI_DOUBLE, 1 - rank, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(&out, 1, MPI_DOUBLE, 0, tag, MPI_COMM_WORLD);
  }
}

static void stream(int tag) {
  double data[WINDOW] = {0};
  MPI_Request requests[WINDOW];
  char answer = 0;
  for (long i = 0; i < rounds; ++i) {
    for (int w = 0; w < WINDOW; ++w)
      if (rank == 0)
        MPI_Isend(&data[w], 1, MPI_DOUBLE, 1, tag, MPI_COMM_WORLD, &requests[w]);
      else
        MPI_Irecv(&data[w], 1, MPI_DOUBLE, 0, tag, MPI_COMM_WORLD, &requests[w]);
    MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
    if (rank == 0)
      MPI_Recv(&answer, 1, MPI_CHAR, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
      MPI_Send(&answer, 1, MPI_CHAR, 0, tag, MPI_COMM_WORLD);
  }
}

static void* run(void* argument) {
  struct member* self = argument;
  pthread_barrier_wait(&begin);
  self->begin_s = bench_now_s();
  (kind == LATENCY ? pingpong : stream)(self->number);
  self->end_s = bench_now_s();
  return NULL;
}

/* Seconds until the last thread of rank 0 has ended (RATE), or the mean of all (LATENCY), since the first
 * one began: where there are more threads than cores some begin when others have ended. */
static double batch(long iterations, void* context) {
  (void)context;
  rounds = iterations;
  pthread_barrier_init(&begin, NULL, (unsigned)threads);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int t = 0; t < threads; ++t) {
    members[t].number = t;
    if (pthread_create(&members[t].thread, NULL, run, &members[t]))
      MPI_Abort(MPI_COMM_WORLD, 2);
  }
  double first = 0, last = 0, sum = 0;
  for (int t = 0; t < threads; ++t) {
    pthread_join(members[t].thread, NULL);
    sum += members[t].end_s;
    if (t == 0 || members[t].begin_s < first) first = members[t].begin_s;
    if (t == 0 || members[t].end_s > last) last = members[t].end_s;
  }
  pthread_barrier_destroy(&begin);
  double result = (kind == LATENCY ? sum / threads : last) - first;
  MPI_Bcast(&result, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return result;
}

int main(int argc, char** argv) {
  int provided, ranks;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks != 2 || provided != MPI_THREAD_MULTIPLE) {
    fprintf(stderr, "threads wants 2 ranks and MPI_THREAD_MULTIPLE\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  bench_batch_s = 0.01; /* threads are started for each batch */
  long counts[16];
  int number = bench_sizes(bench_option(argc, argv, "threads", "1,2,4"), counts, 16);
  for (int i = 0; i < number; ++i) {
    threads = counts[i] < 1              ? 1
              : counts[i] > MOST_THREADS ? MOST_THREADS
                                         : (int)counts[i];
    kind = LATENCY;
    double seconds = bench_run(batch, share, NULL) / 2;
    if (rank == 0) bench_print("threads_latency", threads, 1e6 * seconds, "us");
    kind = RATE;
    seconds = bench_run(batch, share, NULL) / WINDOW / threads;
    if (rank == 0) bench_print("threads_rate", threads, 1e-6 / seconds, "M/s");
  }
  MPI_Finalize();
  return 0;
}
