/* Arguments of collectives that are not significant on a rank: they may be anything there.
 *
 * Role:      MPI-4.1 says of some arguments that they are significant at the root only. A buffer may be
 *            left out where the places of its blocks are addresses.
 * Users:     collective.c, nbc.c, persistent_coll.c, which define CALL and BAD.
 * Threads:   the main thread of a rank. At most MAX_RANKS ranks. */
#ifndef COLLECTIVE_IGNORED_H
#define COLLECTIVE_IGNORED_H

#include "collective_calls.h"

/* What is received is described at the root only. */
static void ignored_where_nothing_arrives(void) {
  int mine[2] = {every_rank, 1}, got[SLOTS], is_root = every_rank == 1;
  count_t counts[MAX_RANKS];
  disp_t displs[MAX_RANKS];
  uneven(counts, displs);
  CALL(Gather, gather, clear(got), mine, 1, MPI_INT, is_root ? got : NULL,
       is_root ? 1 : -1, is_root ? MPI_INT : WRONG_TYPE, 1, WORLD);
  for (int i = 0; i < every_size; ++i) CHECK(got[i] == (is_root ? i : -1));
  CALL(Gatherv, gatherv, clear(got), mine, every_rank % 2 + 1, MPI_INT,
       is_root ? got : NULL, is_root ? counts : NULL, is_root ? displs : NULL,
       is_root ? MPI_INT : WRONG_TYPE, 1, WORLD);
  for (int i = 0; i < every_size; ++i)
    CHECK(got[2 * (every_size - 1 - i)] == (is_root ? i : -1));
  CALL(Reduce, reduce, clear(got), mine, is_root ? got : NULL, 2, MPI_INT, MPI_SUM, 1,
       WORLD);
  CHECK(got[0] == (is_root ? sum_of_ranks(every_size) : -1) &&
        got[1] == (is_root ? every_size : -1));
  CALL(Reduce, reduce, clear(got), mine, is_root ? got : mine, 2, MPI_INT, MPI_SUM, 1,
       WORLD);
  CHECK(got[0] == (is_root ? sum_of_ranks(every_size) : -1) && mine[0] == every_rank);
}

/* What is sent is described at the root only. */
static void ignored_where_nothing_leaves(void) {
  int all[SLOTS], got[SLOTS], is_root = every_rank == 1;
  count_t counts[MAX_RANKS];
  disp_t displs[MAX_RANKS];
  uneven(counts, displs);
  for (int i = 0; i < SLOTS; ++i) all[i] = i;
  CALL(Scatter, scatter, clear(got), is_root ? all : NULL, is_root ? 1 : -1,
       is_root ? MPI_INT : WRONG_TYPE, got, 1, MPI_INT, 1, WORLD);
  CHECK(got[0] == every_rank);
  CALL(Scatterv, scatterv, clear(got), is_root ? all : NULL, is_root ? counts : NULL,
       is_root ? displs : NULL, is_root ? MPI_INT : WRONG_TYPE, got, every_rank % 2 + 1,
       MPI_INT, 1, WORLD);
  CHECK(got[0] == 2 * (every_size - 1 - every_rank));
}

static int* set_all(int* data) {
  for (int i = 0; i < SLOTS; ++i) data[i] = value(every_rank, i, 0);
  return data;
}

/* What is sent lies where it will be received. */
static void ignored_in_place(void) {
  int got[SLOTS];
  count_t ones[MAX_RANKS];
  disp_t displs[MAX_RANKS];
  MPI_Datatype types[MAX_RANKS];
  for (int i = 0; i < MAX_RANKS; ++i) ones[i] = 1, displs[i] = i, types[i] = MPI_INT;
#define MINE_AT(place) (clear(got), got[place] = every_rank)
  CALL(Allgatherv, allgatherv, MINE_AT(every_rank), MPI_IN_PLACE, -1, WRONG_TYPE, got,
       ones, displs, MPI_INT, WORLD);
  for (int i = 0; i < every_size; ++i) CHECK(got[i] == i);
  if (every_rank == 1)
    CALL(Gatherv, gatherv, MINE_AT(1), MPI_IN_PLACE, -1, WRONG_TYPE, got, ones, displs,
         MPI_INT, 1, WORLD);
  else
    CALL(Gatherv, gatherv, MINE_AT(0), got, 1, MPI_INT, NULL, NULL, NULL, WRONG_TYPE, 1,
         WORLD);
  if (every_rank == 1)
    for (int i = 0; i < every_size; ++i) CHECK(got[i] == i);
  CALL(Scan, scan, MINE_AT(0), MPI_IN_PLACE, got, 1, MPI_INT, MPI_SUM, WORLD);
  CHECK(got[0] == sum_of_ranks(every_rank + 1));
  CALL(Exscan, exscan, MINE_AT(0), MPI_IN_PLACE, got, 1, MPI_INT, MPI_SUM, WORLD);
  CHECK(every_rank == 0 || got[0] == sum_of_ranks(every_rank));
  CALL(Alltoall, alltoall, set_all(got), MPI_IN_PLACE, -1, WRONG_TYPE, got, 1, MPI_INT,
       WORLD);
  for (int i = 0; i < every_size; ++i) CHECK(got[i] == value(i, every_rank, 0));
  CALL(Alltoallv, alltoallv, set_all(got), MPI_IN_PLACE, NULL, NULL, WRONG_TYPE, got,
       ones, displs, MPI_INT, WORLD);
  for (int i = 0; i < every_size; ++i) CHECK(got[i] == value(i, every_rank, 0));
  for (int i = 0; i < MAX_RANKS; ++i) displs[i] = i * (int)sizeof(int);
  CALL(Alltoallw, alltoallw, set_all(got), MPI_IN_PLACE, NULL, NULL, NULL, got, ones,
       displs, types, WORLD);
  for (int i = 0; i < every_size; ++i) CHECK(got[i] == value(i, every_rank, 0));
}

/* Nothing arrives at the first rank (MPI-4.1 section 6.11.2). */
static void ignored_by_exscan(void) {
  int mine = every_rank, got[SLOTS];
  CALL(Exscan, exscan, clear(got), &mine, every_rank == 0 ? NULL : got, 1, MPI_INT,
       MPI_SUM, WORLD);
  CHECK(got[0] == (every_rank == 0 ? -1 : sum_of_ranks(every_rank)));
}

/* Between two groups: in the one with the root, other members have no part in it. */
static void ignored_between_groups(void) {
  int mine = every_rank, got[SLOTS], side = every_rank % 2, rank, others, root;
  count_t counts[MAX_RANKS];
  disp_t displs[MAX_RANKS];
  MPI_Comm half, both;
  uneven(counts, displs);
  if (every_size < 2) return;
  MPI_Comm_split(WORLD, side, 0, &half);
  MPI_Intercomm_create(half, 0, WORLD, 1 - side, 0, &both);
  MPI_Comm_set_errhandler(both, MPI_ERRORS_RETURN);
  MPI_Comm_rank(half, &rank);
  MPI_Comm_remote_size(both, &others);
  root = side == 1 ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
  if (side == 1)
    CALL(Gather, gather, clear(got), &mine, 1, MPI_INT, NULL, -1, WRONG_TYPE, root,
         both);
  else if (rank == 0)
    CALL(Gather, gather, clear(got), NULL, -1, WRONG_TYPE, got, 1, MPI_INT, root, both);
  else
    CALL(Gather, gather, clear(got), NULL, -1, WRONG_TYPE, NULL, -1, WRONG_TYPE, root,
         both);
  for (int i = 0; i < others; ++i) CHECK(got[i] == (root == MPI_ROOT ? 2 * i + 1 : -1));
  CALL(Bcast, bcast, (clear(got), got[0] = root == MPI_ROOT ? 5 : -1),
       root == MPI_PROC_NULL ? NULL : got, 1, MPI_INT, root, both);
  CHECK(got[0] == (root == MPI_PROC_NULL ? -1 : 5));
  CALL(Allreduce, allreduce, clear(got), &mine, got, 1, MPI_INT, MPI_MIN, both);
  CHECK(got[0] == 1 - side);
  BAD(MPI_ERR_ROOT, Bcast, bcast, got, 1, MPI_INT, others, both);
  /* MPI_IN_PLACE is not for two groups (MPI-4.1 section 6.2.3). */
  BAD(MPI_ERR_BUFFER, Allreduce, allreduce, MPI_IN_PLACE, got, 1, MPI_INT, MPI_MIN,
      both);
  BAD(MPI_ERR_BUFFER, Allgather, allgather, MPI_IN_PLACE, 1, MPI_INT, got, 1, MPI_INT,
      both);
  BAD(MPI_ERR_BUFFER, Alltoall, alltoall, MPI_IN_PLACE, 1, MPI_INT, got, 1, MPI_INT,
      both);
  BAD(MPI_ERR_BUFFER, Alltoallv, alltoallv, MPI_IN_PLACE, NULL, NULL, MPI_INT, got,
      counts, displs, MPI_INT, both);
  BAD(MPI_ERR_BUFFER, Reduce_scatter_block, reduce_scatter_block, MPI_IN_PLACE, got, 1,
      MPI_INT, MPI_SUM, both);
  MPI_Comm_free(&both);
  MPI_Comm_free(&half);
}

#ifdef EVERY_LARGE
/* No buffer, where displacements are wide enough to be addresses. */
static void without_buffers(void) {
  int mine[SLOTS], got[SLOTS];
  count_t counts[MAX_RANKS];
  MPI_Aint from[MAX_RANKS], to[MAX_RANKS];
  MPI_Datatype types[MAX_RANKS];
  for (int i = 0; i < every_size; ++i) {
    MPI_Get_address(&mine[i], &from[i]);
    MPI_Get_address(&got[i], &to[i]);
    counts[i] = 1, types[i] = MPI_INT, mine[i] = value(every_rank, i, 0);
  }
  CALL(Alltoallw, alltoallw, clear(got), MPI_BOTTOM, counts, from, types, MPI_BOTTOM,
       counts, to, types, WORLD);
  for (int i = 0; i < every_size; ++i) CHECK(got[i] == value(i, every_rank, 0));
  from[every_size - 1] = 0;
  BAD(MPI_ERR_BUFFER, Alltoallw, alltoallw, MPI_BOTTOM, counts, from, types, got,
      counts, to, types, WORLD);
}
#endif

static void every_ignored_argument(void) {
#ifdef EVERY_LARGE
  without_buffers();
#endif
  ignored_where_nothing_arrives();
  ignored_where_nothing_leaves();
  ignored_in_place();
  ignored_between_groups();
  ignored_by_exscan();
}

#endif
