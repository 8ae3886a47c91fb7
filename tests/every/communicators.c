/* Every function that makes, asks about or frees communicators of one group. */
#include "every.h"

#define WORLD MPI_COMM_WORLD
static const MPI_Comm none = MPI_COMM_NULL;

/* A communicator works: the sum of the ranks that its members have in MPI_COMM_WORLD. */
static int sum_of(MPI_Comm comm) {
  int sum = -1;
  MPI_Allreduce(&every_rank, &sum, 1, MPI_INT, MPI_SUM, comm);
  return sum;
}

static int sum_of_all(void) { return every_size * (every_size - 1) / 2; }

static void about(void) {
  int rank = -1, size = -1, result = -1;
  MPI_Group group, no = MPI_GROUP_NULL;
  RIGHT(MPI_Comm_rank(WORLD, &rank));
  CHECK(rank == every_rank && rank >= 0);
  RIGHT(MPI_Comm_size(WORLD, &size));
  CHECK(size == every_size && rank < size);
  RIGHT(MPI_Comm_group(WORLD, &group));
  CHECK(MPI_Group_size(group, &size) == MPI_SUCCESS && size == every_size);
  MPI_Group_free(&group);
  RIGHT(MPI_Comm_compare(WORLD, WORLD, &result));
  CHECK(result == MPI_IDENT);
  RIGHT(MPI_Comm_compare(WORLD, MPI_COMM_SELF, &result));
  CHECK(result == (every_size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL));
  WRONG(MPI_ERR_COMM, MPI_Comm_rank(none, &rank));
  WRONG(MPI_ERR_ARG, MPI_Comm_rank(WORLD, NULL));
  WRONG(MPI_ERR_COMM, MPI_Comm_size((MPI_Comm)MPI_INT, &size));
  WRONG(MPI_ERR_COMM, MPI_Comm_group(none, &no));
  WRONG(MPI_ERR_COMM, MPI_Comm_compare(WORLD, none, &result));
}

static void copies(void) {
  int result = -1;
  MPI_Comm comm = none;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
  RIGHT(MPI_Comm_dup(WORLD, &comm));
  RIGHT(MPI_Comm_compare(WORLD, comm, &result));
  CHECK(result == MPI_CONGRUENT && sum_of(comm) == sum_of_all());
  RIGHT(MPI_Comm_free(&comm));
  CHECK(comm == none);
  RIGHT(MPI_Comm_dup_with_info(WORLD, info, &comm));
  CHECK(sum_of(comm) == sum_of_all());
  MPI_Comm_free(&comm);
  RIGHT(MPI_Comm_idup(WORLD, &comm, &request));
  CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(sum_of(comm) == sum_of_all());
  MPI_Comm_free(&comm);
  RIGHT(MPI_Comm_idup_with_info(WORLD, info, &comm, &request));
  CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(sum_of(comm) == sum_of_all());
  MPI_Comm_free(&comm);
  MPI_Info_free(&info);
  WRONG(MPI_ERR_COMM, MPI_Comm_dup(none, &comm));
  WRONG(MPI_ERR_ARG, MPI_Comm_dup(WORLD, NULL));
  WRONG(MPI_ERR_INFO, MPI_Comm_dup_with_info(WORLD, (MPI_Info)WORLD, &comm));
  WRONG(MPI_ERR_COMM, MPI_Comm_idup(none, &comm, &request));
  WRONG(MPI_ERR_ARG, MPI_Comm_idup_with_info(WORLD, MPI_INFO_NULL, &comm, NULL));
  WRONG(MPI_ERR_COMM, MPI_Comm_free(&comm));
  comm = WORLD;
  WRONG(MPI_ERR_COMM, MPI_Comm_free(&comm)); /* MPI's own */
}

/* The ranks 3, 2, 1 of four. */
static void of_groups(void) {
  int rank = -1;
  const int is_in = every_rank > 0;
  MPI_Comm comm = none;
  MPI_Group world, group;
  MPI_Comm_group(WORLD, &world);
  MPI_Group_incl(world, 3, (int[]){3, 2, 1}, &group);
  RIGHT(MPI_Comm_create(WORLD, group, &comm));
  CHECK((comm != none) == is_in);
  if (is_in) {
    CHECK(MPI_Comm_rank(comm, &rank) == MPI_SUCCESS && rank == 3 - every_rank);
    CHECK(sum_of(comm) == 6);
    MPI_Comm_free(&comm);
    RIGHT(MPI_Comm_create_group(WORLD, group, 5, &comm));
    CHECK(MPI_Comm_rank(comm, &rank) == MPI_SUCCESS && rank == 3 - every_rank);
    CHECK(sum_of(comm) == 6);
    MPI_Comm_free(&comm);
    WRONG(MPI_ERR_TAG, MPI_Comm_create_group(WORLD, group, -5, &comm));
  }
  WRONG(MPI_ERR_GROUP, MPI_Comm_create(WORLD, MPI_GROUP_NULL, &comm));
  WRONG(MPI_ERR_GROUP, MPI_Comm_create_group(WORLD, MPI_GROUP_NULL, 5, &comm));
  MPI_Group_free(&group);
  MPI_Group_free(&world);
}

static void parts(void) {
  int rank = -1, size = -1;
  MPI_Comm comm = none;
  RIGHT(MPI_Comm_split(WORLD, every_rank % 2, -every_rank, &comm));
  CHECK(MPI_Comm_rank(comm, &rank) == MPI_SUCCESS && rank == 1 - every_rank / 2);
  CHECK(sum_of(comm) == (every_rank % 2 ? 4 : 2));
  MPI_Comm_free(&comm);
  RIGHT(MPI_Comm_split(WORLD, every_rank == 0 ? MPI_UNDEFINED : 0, 0, &comm));
  CHECK((comm == none) == (every_rank == 0));
  if (comm != none) MPI_Comm_free(&comm);
  RIGHT(MPI_Comm_split_type(WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm));
  CHECK(MPI_Comm_size(comm, &size) == MPI_SUCCESS && size >= 1 && size <= every_size);
  MPI_Comm_free(&comm);
  RIGHT(MPI_Comm_split_type(WORLD, MPI_UNDEFINED, 0, MPI_INFO_NULL, &comm));
  CHECK(comm == none);
  WRONG(MPI_ERR_ARG, MPI_Comm_split(WORLD, -77, 0, &comm));
  WRONG(MPI_ERR_ARG, MPI_Comm_split_type(WORLD, -77, 0, MPI_INFO_NULL, &comm));
  CHECK(comm == none);
}

static void names_and_hints(void) {
  int length = -1, n = -1;
  char name[MPI_MAX_OBJECT_NAME];
  MPI_Comm comm;
  MPI_Info info, used = MPI_INFO_NULL;
  MPI_Comm_dup(WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  RIGHT(MPI_Comm_get_name(WORLD, name, &length));
  CHECK(strcmp(name, "MPI_COMM_WORLD") == 0 && length == 14);
  RIGHT(MPI_Comm_set_name(comm, "a name"));
  RIGHT(MPI_Comm_get_name(comm, name, &length));
  CHECK(strcmp(name, "a name") == 0 && length == 6);
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_assert_allow_overtaking", "true");
  RIGHT(MPI_Comm_set_info(comm, info));
  RIGHT(MPI_Comm_get_info(comm, &used));
  CHECK(MPI_Info_get_nkeys(used, &n) == MPI_SUCCESS && n >= 0);
  MPI_Info_free(&used);
  MPI_Info_free(&info);
  WRONG(MPI_ERR_COMM, MPI_Comm_set_name(none, "a name"));
  WRONG(MPI_ERR_ARG, MPI_Comm_get_name(comm, NULL, &length));
  WRONG(MPI_ERR_INFO, MPI_Comm_set_info(comm, (MPI_Info)comm));
  WRONG(MPI_ERR_COMM, MPI_Comm_get_info(none, &used));
  MPI_Comm_free(&comm);
}

/* Run with four ranks. */
int main(int argc, char** argv) {
  every_begin(&argc, &argv);
  about();
  copies();
  of_groups();
  parts();
  names_and_hints();
  return every_end();
}
