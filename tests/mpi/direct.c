/* Blocking collectives that go without messages, on several communicators, with random sizes,
 * types and places; each result is computed again from what every rank would give. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

static unsigned state;
static unsigned draw(unsigned below) { /* the same at all ranks */
  state = state * 1664525u + 1013904223u;
  return (state >> 8) % below;
}

static int value(int round, int rank, int i) {
  return round * 7919 + rank * 101 + i * 13;
}

/* x -> a x + b, as pairs (a, b) of unsigned: associative, does not commute. */
static void compose(void* in, void* inout, int* pairs, MPI_Datatype* type) {
  unsigned *left = in, *right = inout;
  (void)type;
  for (int i = 0; i < 2 * *pairs; i += 2) {
    unsigned a = left[i], b = left[i + 1], c = right[i], d = right[i + 1];
    right[i] = a * c;
    right[i + 1] = c * b + d;
  }
}

static void allreduce(MPI_Comm comm, int round, int n, int in_place) {
  int size, rank;
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &rank);
  int *in = malloc(sizeof(int) * (size_t)n), *out = malloc(sizeof(int) * (size_t)n),
      wrong = 0;
  for (int i = 0; i < n; ++i) in[i] = out[i] = value(round, rank, i);
  MPI_Allreduce(in_place ? MPI_IN_PLACE : in, out, n, MPI_INT, MPI_SUM, comm);
  for (int i = 0; i < n; ++i) {
    int want = 0;
    for (int r = 0; r < size; ++r) want += value(round, r, i);
    wrong += out[i] != want;
  }
  CHECK(wrong == 0);
  free(in);
  free(out);
}

/* Rank order is kept. */
static void in_order(MPI_Comm comm, int round, MPI_Op op, MPI_Datatype pair,
                     int pairs) {
  int size, rank, wrong = 0;
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &rank);
  unsigned* in = malloc(sizeof(unsigned) * 2 * (size_t)pairs);
  unsigned* out = malloc(sizeof(unsigned) * 2 * (size_t)pairs);
  for (int i = 0; i < 2 * pairs; ++i) in[i] = (unsigned)value(round, rank, i) | 1u;
  MPI_Allreduce(in, out, pairs, pair, op, comm);
  for (int i = 0; i < 2 * pairs; i += 2) {
    unsigned a = (unsigned)value(round, 0, i) | 1u,
             b = (unsigned)value(round, 0, i + 1) | 1u;
    for (int r = 1; r < size; ++r) {
      unsigned c = (unsigned)value(round, r, i) | 1u;
      unsigned d = (unsigned)value(round, r, i + 1) | 1u;
      b = c * b + d;
      a = a * c;
    }
    wrong += out[i] != a || out[i + 1] != b;
  }
  CHECK(wrong == 0);
  free(in);
  free(out);
}

/* The block that `from` has for `to`; the receiver may use another type of the same size. */
static void exchange(MPI_Comm comm, int round, int n, int is_strided, int is_alltoall,
                     int in_place) {
  int size, rank, wrong = 0;
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &rank);
  int blocks = is_alltoall ? size : 1;
  int* in = malloc(sizeof(int) * (size_t)(blocks * n + 1));
  int* out = calloc((size_t)(2 * size * n + 1), sizeof(int));
  MPI_Datatype strided, type = MPI_INT;
  MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &strided);
  MPI_Type_commit(&strided);
  int step = is_strided ? 2 : 1;
  if (is_strided) type = strided;
  for (int b = 0; b < blocks; ++b)
    for (int i = 0; i < n; ++i) in[b * n + i] = value(round, rank, b * n + i);
  if (in_place)
    for (int i = 0; i < n; ++i) out[(rank * n + i) * step] = in[i];
  if (is_alltoall)
    MPI_Alltoall(in, n, MPI_INT, out, n, type, comm);
  else
    MPI_Allgather(in_place ? MPI_IN_PLACE : in, n, MPI_INT, out, n, type, comm);
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < n; ++i) {
      wrong +=
          out[(r * n + i) * step] != value(round, r, (is_alltoall ? rank : 0) * n + i);
      if (is_strided) wrong += out[(r * n + i) * step + 1] != 0;
    }
  CHECK(wrong == 0);
  MPI_Type_free(&strided);
  free(in);
  free(out);
}

/* Long: four calls that share counts and displacements. */
static void uneven(MPI_Comm comm, int round, int most) {
  int size, rank, wrong = 0;
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &rank);
  int* to = malloc(sizeof(int) * 4 * (size_t)size);
  int *to_at = to + size, *from = to_at + size, *from_at = from + size;
  int sent = 0, got = 0;
  for (int r = 0; r < size; ++r) { /* from s to t: (s * 3 + t + round) % most */
    to[r] = (rank * 3 + r + round) % most;
    from[r] = (r * 3 + rank + round) % most;
    to_at[r] = sent;
    from_at[r] = got;
    sent += to[r];
    got += from[r];
  }
  int *in = malloc(sizeof(int) * (size_t)(sent + 1)),
      *out = malloc(sizeof(int) * (size_t)(got + 1));
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < to[r]; ++i) in[to_at[r] + i] = value(round, rank, r * most + i);
  MPI_Alltoallv(in, to, to_at, MPI_INT, out, from, from_at, MPI_INT, comm);
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < from[r]; ++i)
      wrong += out[from_at[r] + i] != value(round, r, rank * most + i);
  CHECK(wrong == 0);
  free(in);
  free(out);

  got = 0;
  for (int r = 0; r < size; ++r) {
    from[r] = (r + round) % most;
    from_at[r] = got;
    got += from[r];
  }
  int* all = malloc(sizeof(int) * (size_t)(got + 1));
  int* mine = malloc(sizeof(int) * (size_t)(got + 1));
  for (int i = 0; i < from[rank]; ++i) mine[i] = value(round, rank, i);
  MPI_Allgatherv(mine, from[rank], MPI_INT, all, from, from_at, MPI_INT, comm);
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < from[r]; ++i)
      wrong += all[from_at[r] + i] != value(round, r, i);
  CHECK(wrong == 0);

  /* The parts of a sum. */
  for (int i = 0; i < got; ++i) all[i] = value(round, rank, i);
  MPI_Reduce_scatter(all, mine, from, MPI_INT, MPI_SUM, comm);
  for (int i = 0; i < from[rank]; ++i) {
    int want = 0;
    for (int r = 0; r < size; ++r) want += value(round, r, from_at[rank] + i);
    wrong += mine[i] != want;
  }
  CHECK(wrong == 0);
  int n = 1 + round % most;
  int* wide = malloc(sizeof(int) * (size_t)(n * size));
  int* part = malloc(sizeof(int) * (size_t)n);
  for (int i = 0; i < n * size; ++i) wide[i] = value(round, rank, i);
  MPI_Reduce_scatter_block(wide, part, n, MPI_INT, MPI_SUM, comm);
  for (int i = 0; i < n; ++i) {
    int want = 0;
    for (int r = 0; r < size; ++r) want += value(round, r, rank * n + i);
    wrong += part[i] != want;
  }
  CHECK(wrong == 0);
  free(wide);
  free(part);
  free(all);
  free(mine);
  free(to);
}

/* Errors come back at all members, and the communicator goes on. */
static void mismatches(MPI_Comm comm) {
  int rank, size, two[2] = {1, 1}, sum[2] = {-1, -1}, class;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  if (size == 1 || !calls_are_compared()) return;
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  int code = MPI_Allreduce(two, sum, rank == size - 1 ? 1 : 2, MPI_INT, MPI_SUM, comm);
  MPI_Error_class(code, &class);
  CHECK(class == MPI_ERR_TRUNCATE);
  CHECK(sum[0] == -1 && sum[1] == -1);
  int* all = malloc(sizeof(int) * 2 * (size_t)size);
  code = MPI_Allgather(two, 2, MPI_INT, all, rank == 0 ? 1 : 2, MPI_INT, comm);
  MPI_Error_class(code, &class);
  CHECK(class == (rank == 0 ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
  CHECK(MPI_Barrier(comm) == MPI_SUCCESS);
  free(all);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  state = argc > 1 ? (unsigned)atoi(argv[1]) : 1u;
  MPI_Comm comms[4] = {MPI_COMM_WORLD};
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comms[1]);
  MPI_Comm_split(MPI_COMM_WORLD, rank / 3, -rank, &comms[2]);
  MPI_Comm_dup(comms[1], &comms[3]);
  MPI_Op op;
  MPI_Datatype pair;
  MPI_Op_create(compose, 0, &op);
  MPI_Type_contiguous(2, MPI_UNSIGNED, &pair);
  MPI_Type_commit(&pair);
  int sizes[] = {1, 4, 5, 60, 600, 3000, 20000};
  for (int round = 0; round < 60; ++round) {
    MPI_Comm comm = comms[draw(4)];
    unsigned kind = draw(6), few = draw(5), many = draw(size > 16 ? 5 : 7),
             flag = draw(2);
    if (kind == 0) MPI_Barrier(comm);
    if (kind == 1) allreduce(comm, round, sizes[many], (int)flag);
    if (kind == 2) in_order(comm, round, op, pair, sizes[few]);
    if (kind == 3) exchange(comm, round, sizes[few % 4], (int)flag, 1, 0);
    if (kind == 4) exchange(comm, round, sizes[few], (int)flag, 0, (int)draw(2));
    if (kind == 5) uneven(comm, round, 1 + (int)draw(40));
  }
  mismatches(comms[3]);
  MPI_Type_free(&pair);
  MPI_Op_free(&op);
  for (int i = 1; i < 4; ++i) MPI_Comm_free(&comms[i]);
  return finish();
}
