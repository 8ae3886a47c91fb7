/* Every function on communicators of two groups: here even and odd ranks of four. */
#include "every.h"

static MPI_Comm half, inter;

/* A message to the one with my rank in the other group. */
static void check_works(MPI_Comm comm) {
  int rank = -1, in = -1;
  MPI_Comm_rank(comm, &rank);
  CHECK(MPI_Sendrecv(&every_rank, 1, MPI_INT, rank, 0, &in, 1, MPI_INT, rank, 0, comm,
                     MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(in == (every_rank ^ 1));
}

static void about(void) {
  int flag = -1, n = -1, ranks[2] = {-1, -1};
  MPI_Group world, group = MPI_GROUP_NULL;
  RIGHT(MPI_Comm_test_inter(inter, &flag));
  CHECK(flag);
  RIGHT(MPI_Comm_test_inter(half, &flag));
  CHECK(!flag);
  RIGHT(MPI_Comm_remote_size(inter, &n));
  CHECK(n == 2);
  RIGHT(MPI_Comm_remote_group(inter, &group));
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_translate_ranks(group, 2, (int[]){0, 1}, world, ranks);
  CHECK(ranks[0] == 1 - every_rank % 2 && ranks[1] == 3 - every_rank % 2);
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  WRONG(MPI_ERR_COMM, MPI_Comm_test_inter(MPI_COMM_NULL, &flag));
  WRONG(MPI_ERR_COMM, MPI_Comm_remote_size(half, &n)); /* one group */
  WRONG(MPI_ERR_COMM, MPI_Comm_remote_group(half, &group));
}

static void merged(void) {
  int rank = -1, size = -1;
  MPI_Comm all = MPI_COMM_NULL, no = MPI_COMM_NULL;
  RIGHT(MPI_Intercomm_merge(inter, every_rank % 2 == 0, &all));
  CHECK(MPI_Comm_size(all, &size) == MPI_SUCCESS && size == 4);
  CHECK(MPI_Comm_rank(all, &rank) == MPI_SUCCESS);
  CHECK(rank == every_rank / 2 + (every_rank % 2 == 0 ? 2 : 0)); /* odd ones first */
  MPI_Comm_free(&all);
  WRONG(MPI_ERR_COMM, MPI_Intercomm_merge(half, 0, &no));
  CHECK(no == MPI_COMM_NULL);
}

static void from_groups(void) {
  MPI_Comm comm = MPI_COMM_NULL, no = MPI_COMM_NULL;
  MPI_Group mine, theirs;
  MPI_Comm_group(inter, &mine);
  MPI_Comm_remote_group(inter, &theirs);
  RIGHT(MPI_Intercomm_create_from_groups(mine, 0, theirs, 0, "two halves",
                                         MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  check_works(comm);
  MPI_Comm_free(&comm);
  WRONG(MPI_ERR_GROUP,
        MPI_Intercomm_create_from_groups(MPI_GROUP_NULL, 0, theirs, 0, "no half",
                                         MPI_INFO_NULL, MPI_ERRORS_RETURN, &no));
  CHECK(no == MPI_COMM_NULL);
  MPI_Group_free(&mine);
  MPI_Group_free(&theirs);
}

int main(int argc, char** argv) {
  MPI_Comm no = MPI_COMM_NULL;
  every_begin(&argc, &argv);
  MPI_Comm_split(MPI_COMM_WORLD, every_rank % 2, every_rank, &half);
  MPI_Comm_set_errhandler(half, MPI_ERRORS_RETURN);
  RIGHT(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - every_rank % 2, 3, &inter));
  MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
  check_works(inter);
  about();
  merged();
  from_groups();
  WRONG(MPI_ERR_RANK, MPI_Intercomm_create(half, 2, MPI_COMM_WORLD, 0, 3, &no));
  WRONG(MPI_ERR_TAG, MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 0, -5, &no));
  WRONG(MPI_ERR_COMM,
        MPI_Intercomm_create(MPI_COMM_NULL, 0, MPI_COMM_WORLD, 0, 3, &no));
  CHECK(no == MPI_COMM_NULL);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
  return every_end();
}
