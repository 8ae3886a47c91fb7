/* The collective operations, called in the way that the including program defines.
 *
 * Role:      blocking, nonblocking and persistent collectives take the same arguments and
 *            give the same results.
 * Users:     collective.c, nbc.c, persistent_coll.c. They define
 *            CALL(Name, name, before, ...): MPI_Name, MPI_Iname or MPI_Name_init with these
 *            arguments, which must succeed, up to its completion; `before` is done before
 *            each time that the operation begins.
 *            BAD(class, Name, name, ...): the call fails with an error of the class.
 *            CALL_BARRIER(), BAD_BARRIER(class, comm).
 * Threads:   the main thread of a rank. At most MAX_RANKS ranks. */
#ifndef COLLECTIVE_CALLS_H
#define COLLECTIVE_CALLS_H

#include "every.h"

enum { MAX_RANKS = 8, SLOTS = 2 * MAX_RANKS };
#define WORLD MPI_COMM_WORLD
#define WRONG_TYPE MPI_DATATYPE_NULL

/* What rank `from` sends to rank `to` as its element k. */
static int value(int from, int to, int k) { return 1000 * from + 10 * to + k + 1; }

static int* clear(int* data) {
  for (int i = 0; i < SLOTS; ++i) data[i] = -1;
  return data;
}

static void barrier(void) {
  int* global;
  int flag;
  double before = MPI_Wtime(), latest, after;
  CALL_BARRIER();
  after = MPI_Wtime();
  MPI_Allreduce(&before, &latest, 1, MPI_DOUBLE, MPI_MAX, WORLD);
  MPI_Comm_get_attr(WORLD, MPI_WTIME_IS_GLOBAL, &global, &flag);
  CHECK(!flag || !*global || after >= latest);
  BAD_BARRIER(MPI_ERR_COMM, MPI_COMM_NULL);
}

static void bcast(void) {
  int v[SLOTS], root = every_size - 1;
  CALL(Bcast, bcast,
       (clear(v), v[0] = every_rank == root ? 7 : 0, v[1] = every_rank == root ? 8 : 0),
       v, 2, MPI_INT, root, WORLD);
  CHECK(v[0] == 7 && v[1] == 8 && v[2] == -1);
  BAD(MPI_ERR_ROOT, Bcast, bcast, v, 2, MPI_INT, every_size, WORLD);
  BAD(MPI_ERR_ROOT, Bcast, bcast, v, 2, MPI_INT, -1, WORLD);
  BAD(MPI_ERR_COUNT, Bcast, bcast, v, -1, MPI_INT, 0, WORLD);
  BAD(MPI_ERR_TYPE, Bcast, bcast, v, 2, WRONG_TYPE, 0, WORLD);
  BAD(MPI_ERR_COMM, Bcast, bcast, v, 2, MPI_INT, 0, MPI_COMM_NULL);
  BAD(MPI_ERR_BUFFER, Bcast, bcast, NULL, 2, MPI_INT, 0, WORLD);
}

static void gather(void) {
  int mine[2] = {value(every_rank, 0, 0), value(every_rank, 0, 1)}, got[SLOTS];
  CALL(Gather, gather, clear(got), mine, 2, MPI_INT, got, 2, MPI_INT, 0, WORLD);
  for (int i = 0; i < 2 * every_size; ++i)
    CHECK(got[i] == (every_rank == 0 ? value(i / 2, 0, i % 2) : -1));
  if (every_rank == 0)
    CALL(Gather, gather, (clear(got), got[0] = mine[0], got[1] = mine[1]), MPI_IN_PLACE,
         0, WRONG_TYPE, got, 2, MPI_INT, 0, WORLD);
  else
    CALL(Gather, gather, clear(got), mine, 2, MPI_INT, NULL, -1, WRONG_TYPE, 0, WORLD);
  for (int i = 0; i < 2 * every_size; ++i)
    CHECK(got[i] == (every_rank == 0 ? value(i / 2, 0, i % 2) : -1));
  BAD(MPI_ERR_COUNT, Gather, gather, mine, -1, MPI_INT, got, 2, MPI_INT, 0, WORLD);
  BAD(MPI_ERR_TYPE, Gather, gather, mine, 2, WRONG_TYPE, got, 2, MPI_INT, 0, WORLD);
  BAD(MPI_ERR_ROOT, Gather, gather, mine, 2, MPI_INT, got, 2, MPI_INT, every_size,
      WORLD);
  BAD(MPI_ERR_COMM, Gather, gather, mine, 2, MPI_INT, got, 2, MPI_INT, 0,
      MPI_COMM_NULL);
}

/* Rank i has i % 2 + 1 elements, which lie at 2 * (the last rank - i). */
static void uneven(count_t* counts, disp_t* displs) {
  for (int i = 0; i < every_size; ++i)
    counts[i] = i % 2 + 1, displs[i] = 2 * (every_size - 1 - i);
}
static int uneven_value(int slot, int to) {
  int from = every_size - 1 - slot / 2;
  return slot % 2 < from % 2 + 1 ? value(from, to, slot % 2) : -1;
}

static void gatherv(void) {
  int mine[2] = {value(every_rank, 0, 0), value(every_rank, 0, 1)}, got[SLOTS],
      n = every_rank % 2 + 1;
  count_t counts[MAX_RANKS], negative[MAX_RANKS] = {-1, -1, -1, -1, -1, -1, -1, -1};
  disp_t displs[MAX_RANKS];
  uneven(counts, displs);
  CALL(Gatherv, gatherv, clear(got), mine, n, MPI_INT, got, counts, displs, MPI_INT, 0,
       WORLD);
  for (int i = 0; i < 2 * every_size; ++i)
    CHECK(got[i] == (every_rank == 0 ? uneven_value(i, 0) : -1));
  BAD(MPI_ERR_COUNT, Gatherv, gatherv, mine, -1, MPI_INT, got, negative, displs,
      MPI_INT, 0, WORLD);
  BAD(MPI_ERR_ROOT, Gatherv, gatherv, mine, n, MPI_INT, got, counts, displs, MPI_INT,
      -5, WORLD);
  BAD(MPI_ERR_COMM, Gatherv, gatherv, mine, n, MPI_INT, got, counts, displs, MPI_INT, 0,
      MPI_COMM_NULL);
  BAD(MPI_ERR_TYPE, Gatherv, gatherv, mine, n, WRONG_TYPE, got, counts, displs,
      WRONG_TYPE, 0, WORLD);
}

static void scatter(void) {
  int all[SLOTS], got[SLOTS];
  for (int i = 0; i < SLOTS; ++i) all[i] = value(1, i / 2, i % 2);
  CALL(Scatter, scatter, clear(got), all, 2, MPI_INT, got, 2, MPI_INT, 1, WORLD);
  CHECK(got[0] == value(1, every_rank, 0) && got[1] == value(1, every_rank, 1) &&
        got[2] == -1);
  BAD(MPI_ERR_COUNT, Scatter, scatter, all, -1, MPI_INT, got, -1, MPI_INT, 1, WORLD);
  BAD(MPI_ERR_TYPE, Scatter, scatter, all, 2, WRONG_TYPE, got, 2, WRONG_TYPE, 1, WORLD);
  BAD(MPI_ERR_ROOT, Scatter, scatter, all, 2, MPI_INT, got, 2, MPI_INT, every_size,
      WORLD);
  BAD(MPI_ERR_COMM, Scatter, scatter, all, 2, MPI_INT, got, 2, MPI_INT, 1,
      MPI_COMM_NULL);
}

static void scatterv(void) {
  int all[SLOTS], got[SLOTS], n = every_rank % 2 + 1;
  count_t counts[MAX_RANKS], negative[MAX_RANKS] = {-1, -1, -1, -1, -1, -1, -1, -1};
  disp_t displs[MAX_RANKS];
  uneven(counts, displs);
  for (int i = 0; i < 2 * every_size; ++i)
    all[i] = value(1, every_size - 1 - i / 2, i % 2);
  CALL(Scatterv, scatterv, clear(got), all, counts, displs, MPI_INT, got, n, MPI_INT, 1,
       WORLD);
  CHECK(got[0] == value(1, every_rank, 0) &&
        got[1] == (n == 2 ? value(1, every_rank, 1) : -1));
  BAD(MPI_ERR_COUNT, Scatterv, scatterv, all, negative, displs, MPI_INT, got, -1,
      MPI_INT, 1, WORLD);
  BAD(MPI_ERR_TYPE, Scatterv, scatterv, all, counts, displs, WRONG_TYPE, got, n,
      WRONG_TYPE, 1, WORLD);
  BAD(MPI_ERR_ROOT, Scatterv, scatterv, all, counts, displs, MPI_INT, got, n, MPI_INT,
      -5, WORLD);
  BAD(MPI_ERR_COMM, Scatterv, scatterv, all, counts, displs, MPI_INT, got, n, MPI_INT,
      1, MPI_COMM_NULL);
}

static void allgather(void) {
  int mine[2] = {value(every_rank, 0, 0), value(every_rank, 0, 1)}, got[SLOTS];
  CALL(Allgather, allgather, clear(got), mine, 2, MPI_INT, got, 2, MPI_INT, WORLD);
  for (int i = 0; i < 2 * every_size; ++i) CHECK(got[i] == value(i / 2, 0, i % 2));
  CALL(Allgather, allgather,
       (clear(got), memcpy(got + 2 * every_rank, mine, sizeof mine)), MPI_IN_PLACE, 0,
       WRONG_TYPE, got, 2, MPI_INT, WORLD);
  for (int i = 0; i < 2 * every_size; ++i) CHECK(got[i] == value(i / 2, 0, i % 2));
  BAD(MPI_ERR_COUNT, Allgather, allgather, mine, -2, MPI_INT, got, 2, MPI_INT, WORLD);
  BAD(MPI_ERR_COUNT, Allgather, allgather, mine, 2, MPI_INT, got, -2, MPI_INT, WORLD);
  BAD(MPI_ERR_TYPE, Allgather, allgather, mine, 2, MPI_INT, got, 2, WRONG_TYPE, WORLD);
  BAD(MPI_ERR_COMM, Allgather, allgather, mine, 2, MPI_INT, got, 2, MPI_INT,
      MPI_COMM_NULL);
}

static void allgatherv(void) {
  int mine[2] = {value(every_rank, 0, 0), value(every_rank, 0, 1)}, got[SLOTS],
      n = every_rank % 2 + 1;
  count_t counts[MAX_RANKS], negative[MAX_RANKS] = {-1, -1, -1, -1, -1, -1, -1, -1};
  disp_t displs[MAX_RANKS];
  uneven(counts, displs);
  CALL(Allgatherv, allgatherv, clear(got), mine, n, MPI_INT, got, counts, displs,
       MPI_INT, WORLD);
  for (int i = 0; i < 2 * every_size; ++i) CHECK(got[i] == uneven_value(i, 0));
  BAD(MPI_ERR_COUNT, Allgatherv, allgatherv, mine, n, MPI_INT, got, negative, displs,
      MPI_INT, WORLD);
  BAD(MPI_ERR_ARG, Allgatherv, allgatherv, mine, n, MPI_INT, got, NULL, displs, MPI_INT,
      WORLD);
  BAD(MPI_ERR_ARG, Allgatherv, allgatherv, mine, n, MPI_INT, got, counts, NULL, MPI_INT,
      WORLD);
  BAD(MPI_ERR_TYPE, Allgatherv, allgatherv, mine, n, MPI_INT, got, counts, displs,
      WRONG_TYPE, WORLD);
  BAD(MPI_ERR_COMM, Allgatherv, allgatherv, mine, n, MPI_INT, got, counts, displs,
      MPI_INT, MPI_COMM_NULL);
}

static void alltoall(void) {
  int mine[SLOTS], got[SLOTS];
  for (int i = 0; i < SLOTS; ++i) mine[i] = value(every_rank, i / 2, i % 2);
  CALL(Alltoall, alltoall, clear(got), mine, 2, MPI_INT, got, 2, MPI_INT, WORLD);
  for (int i = 0; i < 2 * every_size; ++i)
    CHECK(got[i] == value(i / 2, every_rank, i % 2));
  BAD(MPI_ERR_COUNT, Alltoall, alltoall, mine, -2, MPI_INT, got, 2, MPI_INT, WORLD);
  BAD(MPI_ERR_TYPE, Alltoall, alltoall, mine, 2, WRONG_TYPE, got, 2, MPI_INT, WORLD);
  BAD(MPI_ERR_COMM, Alltoall, alltoall, mine, 2, MPI_INT, got, 2, MPI_INT,
      MPI_COMM_NULL);
}

/* Two ranks exchange 1 + (the sum of their ranks) % 2 elements. */
static void alltoallv(void) {
  int mine[SLOTS], got[SLOTS];
  count_t counts[MAX_RANKS], negative[MAX_RANKS] = {-1, -1, -1, -1, -1, -1, -1, -1};
  disp_t displs[MAX_RANKS];
  for (int i = 0; i < every_size; ++i)
    counts[i] = 1 + (every_rank + i) % 2, displs[i] = 2 * i;
  for (int i = 0; i < SLOTS; ++i) mine[i] = value(every_rank, i / 2, i % 2);
  CALL(Alltoallv, alltoallv, clear(got), mine, counts, displs, MPI_INT, got, counts,
       displs, MPI_INT, WORLD);
  for (int i = 0; i < 2 * every_size; ++i)
    CHECK(got[i] == (i % 2 < counts[i / 2] ? value(i / 2, every_rank, i % 2) : -1));
  BAD(MPI_ERR_COUNT, Alltoallv, alltoallv, mine, negative, displs, MPI_INT, got, counts,
      displs, MPI_INT, WORLD);
  BAD(MPI_ERR_ARG, Alltoallv, alltoallv, mine, counts, NULL, MPI_INT, got, counts,
      displs, MPI_INT, WORLD);
  BAD(MPI_ERR_TYPE, Alltoallv, alltoallv, mine, counts, displs, MPI_INT, got, counts,
      displs, WRONG_TYPE, WORLD);
  BAD(MPI_ERR_COMM, Alltoallv, alltoallv, mine, counts, displs, MPI_INT, got, counts,
      displs, MPI_INT, MPI_COMM_NULL);
}

/* Where the sum of two ranks is even, they exchange two integers, else a long one. */
static void alltoallw(void) {
  int mine[SLOTS], got[SLOTS];
  count_t counts[MAX_RANKS], negative[MAX_RANKS] = {-1, -1, -1, -1, -1, -1, -1, -1};
  disp_t displs[MAX_RANKS];
  MPI_Datatype types[MAX_RANKS], none[MAX_RANKS];
  for (int i = 0; i < every_size; ++i) {
    int even = (every_rank + i) % 2 == 0;
    counts[i] = even ? 2 : 1, types[i] = even ? MPI_INT : MPI_INT64_T;
    displs[i] = 2 * (int)sizeof(int) * i, none[i] = MPI_DATATYPE_NULL;
  }
  for (int i = 0; i < SLOTS; ++i) mine[i] = value(every_rank, i / 2, i % 2);
  CALL(Alltoallw, alltoallw, clear(got), mine, counts, displs, types, got, counts,
       displs, types, WORLD);
  for (int i = 0; i < 2 * every_size; ++i)
    CHECK(got[i] == value(i / 2, every_rank, i % 2));
  BAD(MPI_ERR_COUNT, Alltoallw, alltoallw, mine, counts, displs, types, got, negative,
      displs, types, WORLD);
  BAD(MPI_ERR_TYPE, Alltoallw, alltoallw, mine, counts, displs, none, got, counts,
      displs, types, WORLD);
  BAD(MPI_ERR_ARG, Alltoallw, alltoallw, mine, counts, displs, types, got, counts,
      displs, NULL, WORLD);
  BAD(MPI_ERR_COMM, Alltoallw, alltoallw, mine, counts, displs, types, got, counts,
      displs, types, MPI_COMM_NULL);
}

static int sum_of_ranks(int n) { return n * (n - 1) / 2; }

static void reduce(void) {
  int mine[2] = {every_rank, -every_rank}, got[SLOTS], root = every_size - 1,
      total = sum_of_ranks(every_size);
  CALL(Reduce, reduce, clear(got), mine, got, 2, MPI_INT, MPI_SUM, root, WORLD);
  CHECK(every_rank == root ? got[0] == total && got[1] == -total && got[2] == -1
                           : got[0] == -1);
  BAD(MPI_ERR_OP, Reduce, reduce, mine, got, 2, MPI_INT, MPI_OP_NULL, root, WORLD);
  BAD(MPI_ERR_ROOT, Reduce, reduce, mine, got, 2, MPI_INT, MPI_SUM, every_size, WORLD);
  BAD(MPI_ERR_COUNT, Reduce, reduce, mine, got, -1, MPI_INT, MPI_SUM, root, WORLD);
  BAD(MPI_ERR_COMM, Reduce, reduce, mine, got, 2, MPI_INT, MPI_SUM, root,
      MPI_COMM_NULL);
}

static void allreduce(void) {
  int mine[2] = {every_rank, -every_rank}, got[SLOTS], total = sum_of_ranks(every_size);
  CALL(Allreduce, allreduce, clear(got), mine, got, 2, MPI_INT, MPI_SUM, WORLD);
  CHECK(got[0] == total && got[1] == -total && got[2] == -1);
  CALL(Allreduce, allreduce, (clear(got), got[0] = every_rank), MPI_IN_PLACE, got, 1,
       MPI_INT, MPI_MAX, WORLD);
  CHECK(got[0] == every_size - 1 && got[1] == -1);
  BAD(MPI_ERR_OP, Allreduce, allreduce, mine, got, 2, MPI_INT, MPI_OP_NULL, WORLD);
  BAD(MPI_ERR_OP, Allreduce, allreduce, mine, got, 2, MPI_DOUBLE, MPI_BAND, WORLD);
  BAD(MPI_ERR_TYPE, Allreduce, allreduce, mine, got, 2, WRONG_TYPE, MPI_SUM, WORLD);
  BAD(MPI_ERR_COUNT, Allreduce, allreduce, mine, got, -2, MPI_INT, MPI_SUM, WORLD);
  BAD(MPI_ERR_COMM, Allreduce, allreduce, mine, got, 2, MPI_INT, MPI_SUM,
      MPI_COMM_NULL);
  BAD(MPI_ERR_BUFFER, Allreduce, allreduce, got, got, 2, MPI_INT, MPI_SUM, WORLD);
}

static void reduce_scatter(void) {
  int mine[SLOTS], got[SLOTS], n = every_rank % 2 + 1, first = 0;
  count_t counts[MAX_RANKS], negative[MAX_RANKS] = {-1, -1, -1, -1, -1, -1, -1, -1};
  for (int i = 0; i < every_size; ++i) counts[i] = i % 2 + 1;
  for (int i = 0; i < every_rank; ++i) first += i % 2 + 1;
  for (int i = 0; i < SLOTS; ++i) mine[i] = 100 * i + every_rank;
  CALL(Reduce_scatter, reduce_scatter, clear(got), mine, got, counts, MPI_INT, MPI_SUM,
       WORLD);
  for (int i = 0; i < 2; ++i)
    CHECK(got[i] ==
          (i < n ? 100 * (first + i) * every_size + sum_of_ranks(every_size) : -1));
  BAD(MPI_ERR_COUNT, Reduce_scatter, reduce_scatter, mine, got, negative, MPI_INT,
      MPI_SUM, WORLD);
  BAD(MPI_ERR_ARG, Reduce_scatter, reduce_scatter, mine, got, NULL, MPI_INT, MPI_SUM,
      WORLD);
  BAD(MPI_ERR_TYPE, Reduce_scatter, reduce_scatter, mine, got, counts, WRONG_TYPE,
      MPI_SUM, WORLD);
  BAD(MPI_ERR_OP, Reduce_scatter, reduce_scatter, mine, got, counts, MPI_INT,
      MPI_OP_NULL, WORLD);
  BAD(MPI_ERR_COMM, Reduce_scatter, reduce_scatter, mine, got, counts, MPI_INT, MPI_SUM,
      MPI_COMM_NULL);
}

static void reduce_scatter_block(void) {
  int mine[SLOTS], got[SLOTS];
  for (int i = 0; i < SLOTS; ++i) mine[i] = 100 * i + every_rank;
  CALL(Reduce_scatter_block, reduce_scatter_block, clear(got), mine, got, 2, MPI_INT,
       MPI_SUM, WORLD);
  for (int i = 0; i < 3; ++i)
    CHECK(got[i] ==
          (i < 2 ? 100 * (2 * every_rank + i) * every_size + sum_of_ranks(every_size)
                 : -1));
  BAD(MPI_ERR_COUNT, Reduce_scatter_block, reduce_scatter_block, mine, got, -2, MPI_INT,
      MPI_SUM, WORLD);
  BAD(MPI_ERR_TYPE, Reduce_scatter_block, reduce_scatter_block, mine, got, 2,
      WRONG_TYPE, MPI_SUM, WORLD);
  BAD(MPI_ERR_OP, Reduce_scatter_block, reduce_scatter_block, mine, got, 2, MPI_INT,
      MPI_OP_NULL, WORLD);
  BAD(MPI_ERR_COMM, Reduce_scatter_block, reduce_scatter_block, mine, got, 2, MPI_INT,
      MPI_SUM, MPI_COMM_NULL);
}

static void scan(void) {
  int mine[2] = {every_rank, 100 - every_rank}, got[SLOTS],
      until = sum_of_ranks(every_rank + 1);
  CALL(Scan, scan, clear(got), mine, got, 2, MPI_INT, MPI_SUM, WORLD);
  CHECK(got[0] == until && got[1] == 100 * (every_rank + 1) - until && got[2] == -1);
  BAD(MPI_ERR_OP, Scan, scan, mine, got, 2, MPI_INT, MPI_OP_NULL, WORLD);
  BAD(MPI_ERR_COUNT, Scan, scan, mine, got, -2, MPI_INT, MPI_SUM, WORLD);
  BAD(MPI_ERR_TYPE, Scan, scan, mine, got, 2, WRONG_TYPE, MPI_SUM, WORLD);
  BAD(MPI_ERR_COMM, Scan, scan, mine, got, 2, MPI_INT, MPI_SUM, MPI_COMM_NULL);
}

static void exscan(void) {
  int mine[2] = {every_rank, 100 - every_rank}, got[SLOTS],
      before = sum_of_ranks(every_rank);
  CALL(Exscan, exscan, clear(got), mine, got, 2, MPI_INT, MPI_SUM, WORLD);
  if (every_rank > 0)
    CHECK(got[0] == before && got[1] == 100 * every_rank - before && got[2] == -1);
  BAD(MPI_ERR_OP, Exscan, exscan, mine, got, 2, MPI_INT, MPI_OP_NULL, WORLD);
  BAD(MPI_ERR_COUNT, Exscan, exscan, mine, got, -2, MPI_INT, MPI_SUM, WORLD);
  BAD(MPI_ERR_TYPE, Exscan, exscan, mine, got, 2, WRONG_TYPE, MPI_SUM, WORLD);
  BAD(MPI_ERR_COMM, Exscan, exscan, mine, got, 2, MPI_INT, MPI_SUM, MPI_COMM_NULL);
}

/* Scans have no meaning between two groups. */
static void scans_of_two_groups(void) {
  int mine = 1, got = 0, side = every_rank % 2;
  MPI_Comm half, both;
  if (every_size < 2) return;
  MPI_Comm_split(WORLD, side, 0, &half);
  MPI_Intercomm_create(half, 0, WORLD, 1 - side, 0, &both);
  MPI_Comm_set_errhandler(both, MPI_ERRORS_RETURN);
  BAD(MPI_ERR_COMM, Scan, scan, &mine, &got, 1, MPI_INT, MPI_SUM, both);
  BAD(MPI_ERR_COMM, Exscan, exscan, &mine, &got, 1, MPI_INT, MPI_SUM, both);
  MPI_Comm_free(&both);
  MPI_Comm_free(&half);
}

/* No operation has elements at a null pointer. */
static void null_buffers(void) {
  int mine[SLOTS], got[SLOTS];
  BAD(MPI_ERR_BUFFER, Gather, gather, NULL, 1, MPI_INT, got, 1, MPI_INT, 0, WORLD);
  BAD(MPI_ERR_BUFFER, Scatter, scatter, mine, 1, MPI_INT, NULL, 1, MPI_INT, 0, WORLD);
  BAD(MPI_ERR_BUFFER, Allgather, allgather, NULL, 1, MPI_INT, got, 1, MPI_INT, WORLD);
  BAD(MPI_ERR_BUFFER, Alltoall, alltoall, mine, 1, MPI_INT, NULL, 1, MPI_INT, WORLD);
  BAD(MPI_ERR_BUFFER, Reduce, reduce, NULL, got, 1, MPI_INT, MPI_SUM, 0, WORLD);
  BAD(MPI_ERR_BUFFER, Allreduce, allreduce, mine, NULL, 1, MPI_INT, MPI_SUM, WORLD);
  BAD(MPI_ERR_BUFFER, Scan, scan, NULL, got, 1, MPI_INT, MPI_SUM, WORLD);
  BAD(MPI_ERR_BUFFER, Exscan, exscan, NULL, got, 1, MPI_INT, MPI_SUM, WORLD);
  count_t counts[MAX_RANKS];
  disp_t displs[MAX_RANKS];
  MPI_Datatype types[MAX_RANKS];
  uneven(counts, displs);
  for (int i = 0; i < every_size; ++i) types[i] = MPI_INT;
  BAD(MPI_ERR_BUFFER, Allgatherv, allgatherv, mine, every_rank % 2 + 1, MPI_INT, NULL,
      counts, displs, MPI_INT, WORLD);
  BAD(MPI_ERR_BUFFER, Alltoallv, alltoallv, NULL, counts, displs, MPI_INT, got, counts,
      displs, MPI_INT, WORLD);
  BAD(MPI_ERR_BUFFER, Alltoallw, alltoallw, mine, counts, displs, types, NULL, counts,
      displs, types, WORLD);
  BAD(MPI_ERR_BUFFER, Reduce_scatter, reduce_scatter, mine, NULL, counts, MPI_INT,
      MPI_SUM, WORLD);
}

static void every_collective(void) {
  barrier();
  bcast();
  gather();
  gatherv();
  scatter();
  scatterv();
  allgather();
  allgatherv();
  alltoall();
  alltoallv();
  alltoallw();
  reduce();
  allreduce();
  reduce_scatter();
  reduce_scatter_block();
  scan();
  exscan();
  scans_of_two_groups();
  null_buffers();
}

#endif
