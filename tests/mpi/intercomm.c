/* Intercommunicators: creation, traffic, collectives, split, dup, merge. */
#include "check.h"

/* Members of both groups that share memory are in one intercommunicator: here all, but if they are of two
 * jobs (tests/cluster/two_jobs.c). */
static void split_by_place(MPI_Comm inter, int mine, int theirs) {
  MPI_Comm part;
  int n = -1, flag = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &part);
  MPI_Comm_size(part, &n);
  MPI_Comm_free(&part);
  if (n != mine + theirs) return;
  MPI_Comm_split_type(inter, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &part);
  MPI_Comm_test_inter(part, &flag);
  CHECK(flag);
  MPI_Comm_size(part, &n);
  CHECK(n == mine);
  MPI_Comm_remote_size(part, &n);
  CHECK(n == theirs);
  MPI_Barrier(part);
  MPI_Comm_free(&part);
  MPI_Comm_split_type(inter, MPI_UNDEFINED, 0, MPI_INFO_NULL, &part);
  CHECK(part == MPI_COMM_NULL);
  MPI_Comm_split_type(inter, MPI_COMM_TYPE_HW_UNGUIDED, 0, MPI_INFO_NULL, &part);
  if (part == MPI_COMM_NULL) return; /* a strict part of the members, or none */
  int all;
  MPI_Comm_size(part, &n);
  MPI_Comm_remote_size(part, &all);
  CHECK(n + all < mine + theirs);
  MPI_Comm_free(&part);
}

/* Its own error handler is told that a call is not for an intercommunicator. */
static void of_the_wrong_kind(MPI_Comm inter) {
  const int dims[1] = {1}, periods[1] = {0};
  MPI_Comm grid;
  MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
  CHECK(MPI_Cart_create(inter, 1, dims, periods, 0, &grid) == MPI_ERR_COMM);
  MPI_Comm_set_errhandler(inter, MPI_ERRORS_ARE_FATAL);
}

/* Long: checks in a row; each stands on what those before it have made. */
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, n, flag;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int low_size = (size + 1) / 2, is_low = rank < low_size;
  MPI_Comm local, inter, dup, merged;
  MPI_Comm_split(MPI_COMM_WORLD, is_low, rank, &local);
  int me, mine, theirs;
  MPI_Comm_rank(local, &me);
  MPI_Comm_size(local, &mine);
  theirs = size - mine;
  /* Only the leaders know the communicator between the groups. */
  MPI_Intercomm_create(local, 0, me == 0 ? MPI_COMM_WORLD : MPI_COMM_NULL,
                       is_low ? low_size : 0, 12, &inter);
  MPI_Comm_test_inter(inter, &flag);
  CHECK(flag);
  MPI_Comm_remote_size(inter, &n);
  CHECK(n == theirs);
  MPI_Comm_size(inter, &n);
  CHECK(n == mine);

  /* Ranks of the other group in messages and statuses. */
  if (me < theirs) {
    int got = -1, sent = 1000 + rank;
    MPI_Status status;
    MPI_Sendrecv(&sent, 1, MPI_INT, me, 4, &got, 1, MPI_INT, MPI_ANY_SOURCE, 4, inter,
                 &status);
    CHECK(status.MPI_SOURCE == me);
    CHECK(got == 1000 + (is_low ? low_size + me : me));
  }

  MPI_Comm_dup(inter, &dup);
  int sum = -1, value = rank, expected = 0;
  for (int i = 0; i < size; ++i)
    if ((i < low_size) != is_low) expected += i;
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, dup);
  CHECK(sum == expected);
  int word = rank == 0 ? 77 : -1;
  MPI_Bcast(&word, 1, MPI_INT, !is_low ? 0 : me == 0 ? MPI_ROOT : MPI_PROC_NULL, dup);
  CHECK(word == (rank == 0 || !is_low ? 77 : -1));
  MPI_Request request;
  int all[64];
  MPI_Iallgather(&rank, 1, MPI_INT, all, 1, MPI_INT, dup, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < theirs; ++i) CHECK(all[i] == (is_low ? low_size + i : i));
  MPI_Barrier(dup);

  /* Colours that only one group has give no communicator. */
  MPI_Comm part;
  MPI_Comm_split(inter, me == 0 ? 5 : is_low ? 6 : 7, 0, &part);
  CHECK((part == MPI_COMM_NULL) == (me != 0));
  if (part != MPI_COMM_NULL) {
    MPI_Comm_remote_size(part, &n);
    CHECK(n == 1);
    MPI_Comm_free(&part);
  }

  split_by_place(inter, mine, theirs);
  of_the_wrong_kind(inter);

  MPI_Intercomm_merge(inter, is_low, &merged); /* the low group comes last */
  MPI_Comm_size(merged, &n);
  CHECK(n == size);
  MPI_Comm_rank(merged, &n);
  CHECK(n == (is_low ? theirs + me : me));
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, merged);
  CHECK(sum == size * (size - 1) / 2);
  MPI_Comm_free(&merged);
  MPI_Comm_free(&dup);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&local);
  return finish();
}
