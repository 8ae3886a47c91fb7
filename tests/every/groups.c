/* Every function on groups. */
#include "every.h"

static MPI_Group world;

/* The ranks that they have in MPI_COMM_WORLD, and their number, are these. */
static int is(MPI_Group group, int n, const int* ranks) {
  int size = -1, mine[16], theirs[16];
  MPI_Group_size(group, &size);
  for (int i = 0; i < n; ++i) mine[i] = i;
  MPI_Group_translate_ranks(group, size == n ? n : 0, mine, world, theirs);
  return size == n && memcmp(theirs, ranks, n * sizeof(int)) == 0;
}

static void whole(void) {
  int n = -1, rank = -1, result = -1, to[3];
  const int ranks[3] = {every_size - 1, 0, MPI_PROC_NULL};
  MPI_Group reverse, no = MPI_GROUP_NULL;
  RIGHT(MPI_Group_size(world, &n));
  CHECK(n == every_size);
  RIGHT(MPI_Group_rank(world, &rank));
  CHECK(rank == every_rank);
  RIGHT(MPI_Group_rank(MPI_GROUP_EMPTY, &rank));
  CHECK(rank == MPI_UNDEFINED);
  RIGHT(MPI_Group_range_incl(world, 1, (int[1][3]){{every_size - 1, 0, -1}}, &reverse));
  RIGHT(MPI_Group_translate_ranks(world, 3, ranks, reverse, to));
  CHECK(to[0] == 0 && to[1] == every_size - 1 && to[2] == MPI_PROC_NULL);
  RIGHT(MPI_Group_compare(world, reverse, &result));
  CHECK(result == MPI_SIMILAR);
  RIGHT(MPI_Group_compare(world, world, &result));
  CHECK(result == MPI_IDENT);
  RIGHT(MPI_Group_compare(world, MPI_GROUP_EMPTY, &result));
  CHECK(result == MPI_UNEQUAL);
  RIGHT(MPI_Group_free(&reverse));
  CHECK(reverse == MPI_GROUP_NULL);

  WRONG(MPI_ERR_GROUP, MPI_Group_size(no, &n));
  WRONG(MPI_ERR_GROUP, MPI_Group_rank(no, &rank));
  WRONG(MPI_ERR_ARG, MPI_Group_rank(world, NULL));
  WRONG(MPI_ERR_RANK, MPI_Group_translate_ranks(world, 1, &every_size, world, to));
  WRONG(MPI_ERR_GROUP, MPI_Group_compare(world, no, &result));
  WRONG(MPI_ERR_GROUP, MPI_Group_free(&no));
}

static void chosen(void) {
  MPI_Group group = MPI_GROUP_NULL, no = MPI_GROUP_NULL;
  RIGHT(MPI_Group_incl(world, 2, (int[]){3, 1}, &group));
  CHECK(is(group, 2, (int[]){3, 1}));
  MPI_Group_free(&group);
  RIGHT(MPI_Group_excl(world, every_size - 2, (int[]){3, 1}, &group));
  CHECK(is(group, 2, (int[]){0, 2}));
  MPI_Group_free(&group);
  RIGHT(MPI_Group_range_incl(world, 2, (int[2][3]){{3, 2, -1}, {0, 0, 1}}, &group));
  CHECK(is(group, 3, (int[]){3, 2, 0}));
  MPI_Group_free(&group);
  RIGHT(MPI_Group_range_excl(world, 1, (int[1][3]){{0, 3, 2}}, &group));
  CHECK(is(group, 2, (int[]){1, 3}));
  MPI_Group_free(&group);
  RIGHT(MPI_Group_incl(world, 0, NULL, &group));
  CHECK(group == MPI_GROUP_EMPTY);

  WRONG(MPI_ERR_RANK, MPI_Group_incl(world, 1, &every_size, &no));
  WRONG(MPI_ERR_RANK, MPI_Group_excl(world, 2, (int[]){1, 1}, &no));
  WRONG(MPI_ERR_ARG, MPI_Group_range_incl(world, 1, (int[1][3]){{0, 3, 0}}, &no));
  WRONG(MPI_ERR_RANK,
        MPI_Group_range_excl(world, 1, (int[1][3]){{0, every_size, 1}}, &no));
  CHECK(no == MPI_GROUP_NULL);
}

static void sets(void) {
  MPI_Group a, b, group = MPI_GROUP_NULL, no = MPI_GROUP_NULL;
  MPI_Group_incl(world, 2, (int[]){2, 1}, &a);
  MPI_Group_incl(world, 2, (int[]){3, 2}, &b);
  RIGHT(MPI_Group_union(a, b, &group));
  CHECK(is(group, 3, (int[]){2, 1, 3}));
  MPI_Group_free(&group);
  RIGHT(MPI_Group_intersection(a, b, &group));
  CHECK(is(group, 1, (int[]){2}));
  MPI_Group_free(&group);
  RIGHT(MPI_Group_difference(a, b, &group));
  CHECK(is(group, 1, (int[]){1}));
  MPI_Group_free(&group);
  WRONG(MPI_ERR_GROUP, MPI_Group_union(a, no, &group));
  WRONG(MPI_ERR_GROUP, MPI_Group_intersection(no, b, &group));
  WRONG(MPI_ERR_ARG, MPI_Group_difference(a, b, NULL));
  MPI_Group_free(&a);
  MPI_Group_free(&b);
}

/* Run with four ranks. */
int main(int argc, char** argv) {
  every_begin(&argc, &argv);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  whole();
  chosen();
  sets();
  MPI_Group_free(&world);
  return every_end();
}
