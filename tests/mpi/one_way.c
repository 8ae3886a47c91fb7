/* Blocking collectives of small data, which go without messages where each rank has a core of its
 * own: against their non-blocking forms, which go by messages, or another way if they are very small. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { kMost = 6000 }; /* bytes of a block */

static int rank, size;
static unsigned char *in, *out, *expected;
static MPI_Request request;

/* Ones and twos of the type, so that sums and products are exact in any order. */
static void fill(unsigned char* to, MPI_Datatype type, int count) {
  MPI_Aint lb, extent;
  MPI_Type_get_extent(type, &lb, &extent);
  memset(to, 0, (size_t)(count * extent));
  for (int i = 0; i < count; ++i) {
    unsigned char* at = to + i * extent;
    const int value = (rank + i) % 2 + (type == MPI_C_BOOL ? 0 : 1);
    if (type == MPI_FLOAT || type == MPI_C_FLOAT_COMPLEX || type == MPI_FLOAT_INT)
      *(float*)at = (float)value;
    else if (type == MPI_DOUBLE || type == MPI_C_DOUBLE_COMPLEX ||
             type == MPI_DOUBLE_INT)
      *(double*)at = value;
    else
      at[0] = (unsigned char)value; /* little endian */
  }
}

static void same(size_t bytes) {
  CHECK(memcmp(out, expected, bytes) == 0);
  memset(out, 7, bytes);
  memset(expected, 7, bytes);
}

/* Both forms of a call, into `out` and into `expected`, which have `bytes` alike. */
#define BOTH(bytes, blocking, starting)    \
  do {                                     \
    (void)(blocking);                      \
    (void)(starting);                      \
    MPI_Wait(&request, MPI_STATUS_IGNORE); \
    same(bytes);                           \
  } while (0)

static void start_in_place(size_t bytes) {
  memcpy(out, in, bytes);
  memcpy(expected, in, bytes);
}

/* One operation on one type, all reductions; root: of MPI_Reduce. */
static void reductions(MPI_Comm comm, MPI_Datatype type, MPI_Op op, int count,
                       int root) {
  MPI_Aint lb, extent;
  int parts[64];
  MPI_Type_get_extent(type, &lb, &extent);
  const size_t bytes = (size_t)(count * extent), all = bytes * (size_t)size;
  fill(in, type, count * size);
  memset(out, 7, all);
  memset(expected, 7, all);
  const int code = MPI_Scan(in, out, count, type, op, comm);
  if (code != MPI_SUCCESS) {
    CHECK(MPI_Iscan(in, expected, count, type, op, comm, &request) != MPI_SUCCESS);
    return;
  }
  BOTH(bytes, MPI_SUCCESS, MPI_Iscan(in, expected, count, type, op, comm, &request));
  BOTH(bytes, MPI_Exscan(in, out, count, type, op, comm),
       MPI_Iexscan(in, expected, count, type, op, comm, &request));
  BOTH(bytes, MPI_Reduce(in, out, count, type, op, root, comm),
       MPI_Ireduce(in, expected, count, type, op, root, comm, &request));
  BOTH(bytes, MPI_Reduce_scatter_block(in, out, count, type, op, comm),
       MPI_Ireduce_scatter_block(in, expected, count, type, op, comm, &request));
  for (int r = 0; r < size; ++r) parts[r] = r % 3 == 0 ? 0 : count;
  if (size < 2) parts[0] = count;
  BOTH(bytes, MPI_Reduce_scatter(in, out, parts, type, op, comm),
       MPI_Ireduce_scatter(in, expected, parts, type, op, comm, &request));
  start_in_place(bytes);
  BOTH(bytes, MPI_Scan(MPI_IN_PLACE, out, count, type, op, comm),
       MPI_Iscan(MPI_IN_PLACE, expected, count, type, op, comm, &request));
  start_in_place(bytes);
  BOTH(bytes, MPI_Exscan(MPI_IN_PLACE, out, count, type, op, comm),
       MPI_Iexscan(MPI_IN_PLACE, expected, count, type, op, comm, &request));
  start_in_place(bytes);
  const void* const from = rank == root ? MPI_IN_PLACE : in;
  BOTH(bytes, MPI_Reduce(from, out, count, type, op, root, comm),
       MPI_Ireduce(from, expected, count, type, op, root, comm, &request));
}

static void all_types_and_operations(MPI_Comm comm) {
  /* No long double: bytes between its elements mean nothing, and may differ. */
  MPI_Datatype types[] = {MPI_CHAR,      MPI_SIGNED_CHAR,     MPI_UNSIGNED_CHAR,
                          MPI_SHORT,     MPI_UNSIGNED_SHORT,  MPI_INT,
                          MPI_LONG,      MPI_UNSIGNED_LONG,   MPI_INT64_T,
                          MPI_FLOAT,     MPI_DOUBLE,          MPI_C_BOOL,
                          MPI_BYTE,      MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX,
                          MPI_2INT,      MPI_FLOAT_INT,       MPI_AINT,
                          MPI_SHORT_INT, MPI_DOUBLE_INT};
  MPI_Op ops[] = {MPI_SUM,    MPI_PROD,   MPI_MAX,    MPI_MIN,  MPI_LAND,
                  MPI_BAND,   MPI_LOR,    MPI_BOR,    MPI_LXOR, MPI_BXOR,
                  MPI_MAXLOC, MPI_MINLOC, MPI_REPLACE};
  int turn = 0;
  for (size_t t = 0; t < sizeof types / sizeof *types; ++t)
    for (size_t o = 0; o < sizeof ops / sizeof *ops; ++o, ++turn)
      reductions(comm, types[t], ops[o], turn % 4 == 0 ? 40 : turn % 4, turn % size);
}

/* x -> a x + b, as pairs (a, b) of unsigned: associative, does not commute. */
static void compose(void* left_side, void* inout, int* pairs, MPI_Datatype* type) {
  unsigned *left = left_side, *right = inout;
  (void)type;
  for (int i = 0; i < 2 * *pairs; i += 2) {
    unsigned a = left[i], b = left[i + 1], c = right[i], d = right[i + 1];
    right[i] = a * c;
    right[i + 1] = c * b + d;
  }
}
/* The same with one unsigned long, so that the type is a predefined one. */
static void compose_long(void* left_side, void* inout, int* count, MPI_Datatype* type) {
  int pairs = *count;
  compose(left_side, inout, &pairs, type);
}

static void own_operations(MPI_Comm comm) {
  MPI_Op op;
  MPI_Op_create(compose_long, 0, &op);
  for (int count = 1; count < 200; count += 66)
    reductions(comm, MPI_UNSIGNED_LONG, op, count, count % size);
  MPI_Op_free(&op);
}

/* Data of every step say which step they are of; the root or a leaf may be far ahead. */
static void rooted(MPI_Comm comm, int steps, int bytes, int root_step, int late) {
  MPI_Datatype spread;
  const int ints = bytes / (int)sizeof(int);
  int* mine = (int*)in;
  int* got = (int*)out;
  int wrong = 0;
  MPI_Type_vector(ints, 1, 2, MPI_INT, &spread);
  MPI_Type_commit(&spread);
  for (int step = 0; step < steps; ++step) {
    const int root = step * root_step % size;
    if (late == rank && step % 5 == 0) {
      const double until = MPI_Wtime() + 20e-6;
      while (MPI_Wtime() < until) {
      }
    }
    for (int i = 0; i < ints; ++i) mine[i] = step * 1000 + rank * 100 + i;
    if (rank == root) {
      MPI_Bcast(mine, ints, MPI_INT, root, comm);
    } else { /* into a type with gaps */
      memset(got, -1, (size_t)(2 * bytes));
      MPI_Bcast(got, 1, spread, root, comm);
      for (int i = 0; i < ints; ++i)
        wrong += got[2 * i] != step * 1000 + root * 100 + i;
      for (int i = 0; i + 1 < ints; ++i) wrong += got[2 * i + 1] != -1;
    }
    const int own = step % 2 == 0; /* the root's own block: in place */
    if (own && rank == root) memcpy(got + rank * ints, mine, (size_t)bytes);
    MPI_Gather(own && rank == root ? MPI_IN_PLACE : mine, ints, MPI_INT, got, ints,
               MPI_INT, root, comm);
    for (int r = 0; r < size && rank == root; ++r)
      for (int i = 0; i < ints; ++i)
        wrong += got[r * ints + i] != step * 1000 + r * 100 + i;
    for (int r = 0; r < size && rank == root; ++r)
      for (int i = 0; i < ints; ++i) got[r * ints + i] = step * 999 + r * 100 + i;
    MPI_Scatter(got, ints, MPI_INT, own && rank == root ? MPI_IN_PLACE : mine, ints,
                MPI_INT, root, comm);
    for (int i = 0; i < ints && !(own && rank == root); ++i)
      wrong += mine[i] != step * 999 + rank * 100 + i;
  }
  CHECK(wrong == 0);
  MPI_Type_free(&spread);
}

static void nothing(MPI_Comm comm) {
  int one = 1, two = 2;
  MPI_Bcast(&one, 0, MPI_INT, 0, comm);
  MPI_Reduce(&one, &two, 0, MPI_INT, MPI_SUM, 0, comm);
  MPI_Scan(&one, &two, 0, MPI_INT, MPI_SUM, comm);
  MPI_Exscan(&one, &two, 0, MPI_INT, MPI_SUM, comm);
  MPI_Gather(&one, 0, MPI_INT, &two, 0, MPI_INT, 0, comm);
  MPI_Scatter(&one, 0, MPI_INT, &two, 0, MPI_INT, 0, comm);
  CHECK(one == 1 && two == 2);
}

/* Both exchanges on a communicator with a topology. */
static void neighbours(MPI_Comm comm, int sources, int destinations) {
  const int counts[] = {0, 1, 5, 300, 1400};
  for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c) {
    const int n = counts[c];
    const size_t bytes = sizeof(int) * (size_t)(n * sources);
    for (int i = 0; i < n * (destinations + 1); ++i)
      ((int*)in)[i] = rank * 10000 + n * 7 + i;
    memset(out, 7, bytes);
    memset(expected, 7, bytes);
    for (int times = 0; times < 12; ++times) {
      BOTH(bytes, MPI_Neighbor_allgather(in, n, MPI_INT, out, n, MPI_INT, comm),
           MPI_Ineighbor_allgather(in, n, MPI_INT, expected, n, MPI_INT, comm,
                                   &request));
      BOTH(
          bytes, MPI_Neighbor_alltoall(in, n, MPI_INT, out, n, MPI_INT, comm),
          MPI_Ineighbor_alltoall(in, n, MPI_INT, expected, n, MPI_INT, comm, &request));
    }
  }
}

static void topologies(void) {
  MPI_Comm comm;
  for (int periodic = 0; periodic < 2; ++periodic) {
    int periods[2] = {periodic, 1}, dims[2] = {size, 1};
    for (int d = 1; d <= 2; ++d) {
      MPI_Cart_create(MPI_COMM_WORLD, d, dims, periods, 0, &comm);
      neighbours(comm, 2 * d, 2 * d);
      MPI_Comm_free(&comm);
    }
  }
  /* To the next rank twice, and to itself. */
  int next = (rank + 1) % size, before = (rank + size - 1) % size;
  int sources[] = {rank, before, before}, destinations[] = {next, rank, next};
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 3, sources, MPI_UNWEIGHTED, 3,
                                 destinations, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
  neighbours(comm, 3, 3);
  MPI_Comm_free(&comm);
  int ends[64], edges[64]; /* a star */
  for (int r = 0; r < size; ++r) ends[r] = size - 1 + r;
  for (int r = 0; r < size - 1; ++r) edges[r] = r + 1, edges[size - 1 + r] = 0;
  if (size == 1 || size > 32) return;
  MPI_Graph_create(MPI_COMM_WORLD, size, ends, edges, 0, &comm);
  neighbours(comm, rank == 0 ? size - 1 : 1, rank == 0 ? size - 1 : 1);
  MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  in = calloc((size_t)size + 4, 2 * kMost);
  out = calloc((size_t)size + 4, 2 * kMost);
  expected = calloc((size_t)size + 4, 2 * kMost);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  nothing(comm);
  all_types_and_operations(comm);
  own_operations(comm);
  const int sizes[] = {4, 8, 32, 36, 512, 4096, 5000};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s)
    for (int root_step = 0; root_step < 2; ++root_step)
      rooted(comm, 40, sizes[s], root_step, (int)s % (size + 1));
  topologies();
  MPI_Comm_free(&comm);
  free(in);
  free(out);
  free(expected);
  return finish();
}
