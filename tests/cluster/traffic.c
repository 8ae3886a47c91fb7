/* What a job of several processes must carry, between ranks of one process and of different ones:
 * messages of all sizes, wildcards, collectives, communicators. Prints "No Errors" once. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, errors;

static void expect(int good, const char* what) {
  if (good) return;
  if (++errors < 10) printf("rank %d: %s is wrong\n", rank, what);
}

static void fill(unsigned char* data, int bytes, int seed) {
  for (int i = 0; i < bytes; ++i) data[i] = (unsigned char)(i * 7 + seed);
}

static int is_filled(const unsigned char* data, int bytes, int seed) {
  for (int i = 0; i < bytes; ++i)
    if (data[i] != (unsigned char)(i * 7 + seed)) return 0;
  return 1;
}

/* Rank 0 with each other rank in turn. */
static void ping_pong(int bytes, unsigned char* data) {
  if (bytes < 0) return; /* for the compiler */
  for (int other = 1; other < size; ++other) {
    MPI_Status status;
    int count = -1;
    if (rank == 0) {
      fill(data, bytes, other);
      MPI_Send(data, bytes, MPI_BYTE, other, bytes, MPI_COMM_WORLD);
      memset(data, 0, (size_t)bytes);
      MPI_Recv(data, bytes, MPI_BYTE, other, bytes, MPI_COMM_WORLD, &status);
      MPI_Get_count(&status, MPI_BYTE, &count);
      expect(count == bytes && is_filled(data, bytes, other + 1), "a pong");
    } else if (rank == other) {
      MPI_Recv(data, bytes, MPI_BYTE, 0, bytes, MPI_COMM_WORLD, &status);
      expect(is_filled(data, bytes, other), "a ping");
      fill(data, bytes, other + 1);
      MPI_Ssend(data, bytes, MPI_BYTE, 0, bytes, MPI_COMM_WORLD);
    }
  }
}

static void all_sizes(void) {
  enum { kMost = 3 << 20 };
  unsigned char* data = malloc(kMost);
  const int sizes[] = {0,    1,    8,     63,    280,     281,  1024,
                       8192, 8193, 16384, 65536, 1 << 20, kMost};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) ping_pong(sizes[i], data);
  free(data);
}

/* Everybody sends to everybody; who receives knows neither the source nor the order. */
static void wildcards(void) {
  const int rounds = 20;
  MPI_Request* requests = malloc(sizeof *requests * (size_t)(size * rounds));
  int(*sent)[2] = malloc(sizeof *sent * (size_t)(size * rounds));
  int* next = calloc((size_t)size, sizeof *next);
  for (int i = 0; i < rounds; ++i)
    for (int to = 0; to < size; ++to) {
      int* message = sent[i * size + to];
      message[0] = rank, message[1] = i;
      MPI_Isend(message, 2, MPI_INT, to, 5, MPI_COMM_WORLD, &requests[i * size + to]);
    }
  for (int i = 0; i < rounds * size; ++i) {
    int message[2];
    MPI_Status status;
    MPI_Recv(message, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    expect(status.MPI_SOURCE == message[0] && status.MPI_TAG == 5, "a status");
    expect(message[1] == next[message[0]]++, "the order");
  }
  MPI_Waitall(size * rounds, requests, MPI_STATUSES_IGNORE);
  /* They would take what comes later, too: from who is ready first, while they wait for others. */
  MPI_Barrier(MPI_COMM_WORLD);
  free(next), free(sent), free(requests);
}

/* A column of a matrix, from the last rank to the first one. */
static void layouts(void) {
  enum { kRows = 500, kColumns = 30 };
  static double matrix[kRows][kColumns];
  MPI_Datatype column;
  MPI_Type_vector(kRows, 1, kColumns, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  if (rank == size - 1) {
    for (int i = 0; i < kRows; ++i) matrix[i][3] = i;
    MPI_Send(&matrix[0][3], 1, column, 0, 9, MPI_COMM_WORLD);
  }
  if (rank == 0) {
    MPI_Recv(&matrix[0][7], 1, column, size - 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < kRows; ++i) expect(matrix[i][7] == i, "a column");
  }
  MPI_Type_free(&column);
}

static void collectives(MPI_Comm comm, int count) {
  int me, n;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &n);
  const size_t bytes = sizeof(int) * (size_t)count;
  int *in = malloc(bytes * (size_t)n), *out = malloc(bytes * (size_t)n);
  for (int i = 0; i < count; ++i) in[i] = me + i;
  MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, comm);
  for (int i = 0; i < count; ++i)
    expect(out[i] == n * (n - 1) / 2 + n * i, "MPI_Allreduce");
  for (int root = 0; root < n; ++root) {
    for (int i = 0; i < count; ++i) in[i] = me == root ? root * 3 + i : -1;
    MPI_Bcast(in, count, MPI_INT, root, comm);
    for (int i = 0; i < count; ++i) expect(in[i] == root * 3 + i, "MPI_Bcast");
    MPI_Reduce(in, out, count, MPI_INT, MPI_MAX, root, comm);
    if (me == root) expect(out[count - 1] == root * 3 + count - 1, "MPI_Reduce");
  }
  for (int to = 0; to < n; ++to)
    for (int i = 0; i < count; ++i) in[to * count + i] = me * 1000 + to;
  MPI_Alltoall(in, count, MPI_INT, out, count, MPI_INT, comm);
  for (int from = 0; from < n; ++from)
    for (int i = 0; i < count; ++i)
      expect(out[from * count + i] == from * 1000 + me, "MPI_Alltoall");
  MPI_Barrier(comm);
  MPI_Request request;
  for (int i = 0; i < count; ++i) in[i] = 1;
  MPI_Iallreduce(in, out, count, MPI_INT, MPI_SUM, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect(out[count - 1] == n, "MPI_Iallreduce");
  free(in), free(out);
}

static void communicators(int has_hosts) {
  MPI_Comm halves, copy;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &halves);
  collectives(halves, 3);
  MPI_Comm_dup(halves, &copy);
  collectives(copy, 3);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&halves);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &halves);
  int together;
  MPI_Comm_size(halves, &together);
  expect(has_hosts ? together < size : together == size, "MPI_COMM_TYPE_SHARED");
  MPI_Comm_free(&halves);
}

int main(int argc, char** argv) {
  const int only_world = argc > 1 && strcmp(argv[1], "world") == 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  all_sizes();
  wildcards();
  layouts();
  collectives(MPI_COMM_WORLD, 1);
  collectives(MPI_COMM_WORLD, 20000);
  if (!only_world) communicators(argc > 1);
  int all = 0;
  MPI_Reduce(&errors, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0 && all == 0) printf("No Errors\n");
  MPI_Finalize();
  return 0;
}
