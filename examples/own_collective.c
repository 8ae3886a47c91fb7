/* A non-blocking collective of one's own: a broadcast along a chain of ranks, in segments, each
 * passed on as soon as it is there, while the program computes. docs/schedules.md explains. */
#include <mpc/schedule.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kSegments = 16, kCount = 1 << 18, kRounds = 4 };

/* The graph of this rank: segment k comes from the left with tag k and goes to the right. */
static MPCX_Schedule chain_bcast(int* data, int count, int root, MPI_Comm comm) {
  int rank, size;
  MPCX_Builder builder;
  MPCX_Schedule schedule;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int place = (rank - root + size) % size; /* in the chain */
  const int left = (rank - 1 + size) % size, right = (rank + 1) % size;
  MPCX_Builder_create(comm, &builder);
  for (int k = 0; k < kSegments; ++k) {
    const int first = (int)((long)count * k / kSegments);
    const int length = (int)((long)count * (k + 1) / kSegments) - first;
    MPCX_Node in = MPCX_NODE_NULL, out;
    if (place > 0) /* depends on nothing: all receives are posted at the start */
      MPCX_Recv(builder, data + first, length, MPI_INT, left, k, &in);
    if (place + 1 < size) {
      MPCX_Send(builder, data + first, length, MPI_INT, right, k, &out);
      MPCX_Connect(builder, in, out);
    }
  }
  MPCX_Commit(&builder, &schedule);
  return schedule;
}

static void show(MPCX_Schedule schedule) {
  MPI_Count length;
  MPCX_Schedule_dump(schedule, MPCX_FORM_TEXT, NULL, 0, &length);
  char* text = malloc((size_t)length + 1);
  MPCX_Schedule_dump(schedule, MPCX_FORM_TEXT, text, length + 1, &length);
  fputs(text, stdout);
  free(text);
}

static int is_right(const int* data, int round) {
  for (int i = 0; i < kCount; ++i)
    if (data[i] != i + round) return 0;
  return 1;
}

int main(int argc, char** argv) {
  int rank, size, right = 1, all;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int root = size / 2;
  int* data = malloc(kCount * sizeof *data);
  MPCX_Schedule proved = chain_bcast(data, 4 * kSegments, root, MPI_COMM_WORLD);
  MPCX_Schedule_verify(
      proved); /* ends the program if the ranks' graphs do not fit together */
  MPCX_Schedule_free(&proved);

  MPCX_Schedule schedule = chain_bcast(data, kCount, root, MPI_COMM_WORLD);
  if (argc > 1 && strcmp(argv[1], "--show") == 0 && rank == (root + 1) % size)
    show(schedule);

  double sum = 0;
  for (int round = 0; round < kRounds;
       ++round) { /* one graph, started again and again */
    MPI_Request request;
    for (int i = 0; i < kCount; ++i) data[i] = rank == root ? i + round : -1;
    MPCX_Schedule_start(schedule, &request);
    for (int i = 1; i < 100000; ++i) sum += 1.0 / i; /* overlaps */
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    right &= is_right(data, round);
  }

  MPI_Request persistent;
  MPCX_Schedule_init(schedule, MPI_INFO_NULL, &persistent);
  MPCX_Schedule_free(&schedule); /* the request keeps what it needs */
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kCount; ++i) data[i] = rank == root ? i + round : -1;
    MPI_Start(&persistent);
    MPI_Wait(&persistent, MPI_STATUS_IGNORE);
    right &= is_right(data, round);
  }
  MPI_Request_free(&persistent);

  MPI_Reduce(&right, &all, 1, MPI_INT, MPI_LAND, 0, MPI_COMM_WORLD);
  if (rank == 0)
    printf("own collective on %d ranks: %s (%g)\n", size, all ? "right" : "WRONG", sum);
  free(data);
  MPI_Finalize();
  return 0;
}
