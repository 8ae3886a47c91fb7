/* dup, split, create, create_group, split_type, compare, names, info, free. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

/* Traffic of the communicator reaches its members and nobody else. */
static void ring(MPI_Comm comm) {
  int rank, size, got = -1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 7, &got, 1, MPI_INT,
               (rank + size - 1) % size, 7, comm, MPI_STATUS_IGNORE);
  CHECK(got == (rank + size - 1) % size);
}

/* A communicator of the members of a process set. */
static void by_process_set(void) {
  static const struct {
    const char* set;
    int result;
  } cases[] = {
      {"mpi://WORLD", MPI_CONGRUENT}, {"MPI://self", -1}, {"mpi://NOWHERE", 0}};
  for (int i = 0; i < 3; ++i) {
    MPI_Comm comm = MPI_COMM_SELF;
    MPI_Info info;
    int result = 0;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_pset_name", cases[i].set);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, info, &comm);
    if (cases[i].result == 0) {
      CHECK(comm == MPI_COMM_NULL);
    } else if (cases[i].result < 0) {
      MPI_Comm_compare(comm, MPI_COMM_SELF, &result);
      CHECK(result == MPI_CONGRUENT);
    } else {
      MPI_Comm_compare(comm, MPI_COMM_WORLD, &result);
      CHECK(result == cases[i].result);
    }
    if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &comm);
    CHECK(comm == MPI_COMM_NULL); /* the key is not one of these */
    MPI_Info_free(&info);
  }
}

/* Long: checks in a row; each stands on what those before it have made. */
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, result, n, len;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);

  MPI_Comm dup;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  MPI_Comm_compare(dup, MPI_COMM_WORLD, &result);
  CHECK(result == MPI_CONGRUENT);
  MPI_Comm_compare(dup, dup, &result);
  CHECK(result == MPI_IDENT);
  ring(dup);

  /* Odd and even ranks, in reverse order; the last rank stays out. */
  MPI_Comm part;
  MPI_Comm_split(dup, size > 1 && rank == size - 1 ? MPI_UNDEFINED : rank % 2, -rank,
                 &part);
  if (size > 1 && rank == size - 1) {
    CHECK(part == MPI_COMM_NULL);
  } else {
    int r;
    MPI_Comm_rank(part, &r);
    MPI_Comm_size(part, &n);
    const int members = size > 1 ? (size - 1 - rank % 2 + 1) / 2 : 1;
    CHECK(n == members);
    CHECK(r == n - 1 - rank / 2);
    ring(part);
    MPI_Comm_free(&part);
    CHECK(part == MPI_COMM_NULL);
  }

  /* Disjoint groups in one call of MPI_Comm_create. */
  MPI_Group world, half;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  int range[1][3] = {{rank < (size + 1) / 2 ? 0 : (size + 1) / 2,
                      rank < (size + 1) / 2 ? (size + 1) / 2 - 1 : size - 1, 1}};
  MPI_Group_range_incl(world, 1, range, &half);
  MPI_Comm made;
  MPI_Comm_create(dup, half, &made);
  CHECK(made != MPI_COMM_NULL);
  ring(made);
  MPI_Comm_free(&made);
  /* Only the members take part. */
  if (rank < (size + 1) / 2) {
    MPI_Comm_create_group(dup, half, 3, &made);
    MPI_Comm_size(made, &n);
    CHECK(n == (size + 1) / 2);
    ring(made);
    MPI_Comm_free(&made);
  }
  MPI_Group_free(&half);
  MPI_Group_free(&world);

  /* Many duplicates at once, freed in another order. */
  MPI_Comm many[50];
  MPI_Request requests[50];
  for (int i = 0; i < 50; ++i) MPI_Comm_idup(dup, &many[i], &requests[i]);
  MPI_Waitall(50, requests, MPI_STATUSES_IGNORE);
  for (int i = 49; i >= 0; --i) {
    ring(many[i]);
    MPI_Comm_free(&many[i]);
  }

  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_compare(node, MPI_COMM_WORLD, &result);
  CHECK(result == MPI_CONGRUENT);
  MPI_Comm_free(&node);
  by_process_set();

  char name[MPI_MAX_OBJECT_NAME];
  MPI_Comm_get_name(MPI_COMM_WORLD, name, &len);
  CHECK(strcmp(name, "MPI_COMM_WORLD") == 0 && len == 14);
  CHECK(MPI_Comm_get_name(MPI_COMM_NULL, name, &len) == MPI_SUCCESS);
  CHECK(strcmp(name, "MPI_COMM_NULL") == 0 && len == 13);
  CHECK(MPI_Type_get_name(MPI_DATATYPE_NULL, name, &len) == MPI_SUCCESS);
  CHECK(strcmp(name, "MPI_DATATYPE_NULL") == 0 && len == 17);
  CHECK(MPI_Win_get_name(MPI_WIN_NULL, name, &len) == MPI_SUCCESS);
  CHECK(strcmp(name, "MPI_WIN_NULL") == 0 && len == 12);
  MPI_Comm parent = MPI_COMM_WORLD;
  CHECK(MPI_Comm_get_parent(&parent) == MPI_SUCCESS && parent == MPI_COMM_NULL);
  MPI_Comm_get_name(dup, name, &len);
  CHECK(len == 0 && name[0] == '\0');
  MPI_Comm_set_name(dup, "a name");
  MPI_Comm_get_name(dup, name, &len);
  CHECK(strcmp(name, "a name") == 0);

  MPI_Info info, used;
  int flag;
  char value[8];
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
  MPI_Info_set(info, "unknown_key", "1");
  MPI_Comm_set_info(dup, info);
  MPI_Comm_get_info(dup, &used);
  MPI_Info_get(used, "mpi_assert_no_any_tag", 7, value, &flag);
  CHECK(flag && strcmp(value, "true") == 0);
  MPI_Info_get(used, "unknown_key", 7, value, &flag);
  CHECK(!flag);
  MPI_Info_free(&info);
  MPI_Info_free(&used);
  MPI_Comm_free(&dup);
  return finish();
}
