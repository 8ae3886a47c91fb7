/* Group operations against sets computed here. */
#include <stdlib.h>

#include "check.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, n, result;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Group world, back, even, rest, both, none;
  MPI_Comm_group(MPI_COMM_WORLD, &world);

  int* ranks = malloc(sizeof(int) * size);
  int* out = malloc(sizeof(int) * size);
  for (int i = 0; i < size; ++i) ranks[i] = size - 1 - i;
  MPI_Group_incl(world, size, ranks, &back);
  MPI_Group_compare(world, back, &result);
  CHECK(result == (size == 1 ? MPI_IDENT : MPI_SIMILAR));
  MPI_Group_translate_ranks(world, size, ranks, back, out);
  for (int i = 0; i < size; ++i) CHECK(out[i] == i);

  int range[1][3] = {{0, size - 1, 2}};
  MPI_Group_range_incl(world, 1, range, &even);
  MPI_Group_size(even, &n);
  CHECK(n == (size + 1) / 2);
  MPI_Group_rank(even, &n);
  CHECK(n == (rank % 2 == 0 ? rank / 2 : MPI_UNDEFINED));
  MPI_Group_range_excl(world, 1, range, &rest);
  MPI_Group_size(rest, &n);
  CHECK(n == size / 2);
  CHECK((rest == MPI_GROUP_EMPTY) == (size == 1));
  MPI_Group_intersection(even, rest, &none);
  CHECK(none == MPI_GROUP_EMPTY);
  MPI_Group_union(even, rest, &both);
  MPI_Group_compare(both, world, &result);
  CHECK(result == (size <= 2 ? MPI_IDENT : MPI_SIMILAR));
  MPI_Group_free(&both);
  MPI_Group_difference(world, even, &both);
  MPI_Group_compare(both, rest, &result);
  CHECK(result == MPI_IDENT);

  /* Ranks that are not there, or twice. */
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Group bad;
  int twice[2] = {0, 0}, outside = size;
  CHECK(MPI_Group_incl(world, 2, twice, &bad) == MPI_ERR_RANK);
  CHECK(MPI_Group_incl(world, 1, &outside, &bad) == MPI_ERR_RANK);
  int never[1][3] = {{0, 0, 0}};
  CHECK(MPI_Group_range_incl(world, 1, never, &bad) == MPI_ERR_ARG);
  int special[1] = {MPI_PROC_NULL};
  MPI_Group_translate_ranks(world, 1, special, even, out);
  CHECK(out[0] == MPI_PROC_NULL);

  free(ranks);
  free(out);
  MPI_Group_free(&world);
  MPI_Group_free(&back);
  MPI_Group_free(&even);
  MPI_Group_free(&rest);
  MPI_Group_free(&both);
  MPI_Group_free(&none);
  CHECK(none == MPI_GROUP_NULL);
  return finish();
}
