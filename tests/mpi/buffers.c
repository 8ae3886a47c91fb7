/* Buffers that MPI forbids: the same to send from and to receive in, MPI_IN_PLACE and null in
   the wrong place. What is allowed and looks alike, passes. Argument "allowed": the first kind
   passes, too (setting mpi.aliased_buffers). */
#include "check.h"

#define N 128

/* The same for a reduction without a communicator, and for a type for each member. */
static void without_members(int expected) {
  int a[20] = {0}, b[20] = {0};
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  CHECK(MPI_Reduce_local(a, b, 20, MPI_INT, MPI_SUM) == MPI_SUCCESS);
  CHECK(MPI_Reduce_local(a, a + 10, 10, MPI_INT, MPI_SUM) == MPI_SUCCESS);
  CHECK(MPI_Reduce_local(a, a, 0, MPI_INT, MPI_SUM) == MPI_SUCCESS);
  CHECK(MPI_Reduce_local(a, a, 20, MPI_INT, MPI_SUM) == expected);
  CHECK(MPI_Reduce_local(MPI_IN_PLACE, b, 20, MPI_INT, MPI_SUM) == MPI_ERR_BUFFER);
  CHECK(MPI_Reduce_local(a, MPI_IN_PLACE, 20, MPI_INT, MPI_SUM) == MPI_ERR_BUFFER);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}
static void types_of_members(MPI_Comm comm, int expected) {
  int a[N] = {0}, b[N] = {0}, ones[N], displs[N];
  MPI_Datatype types[N];
  for (int i = 0; i < N; ++i) {
    ones[i] = 1;
    displs[i] = i * (int)sizeof(int);
    types[i] = MPI_INT;
  }
  CHECK(MPI_Alltoallw(a, ones, displs, types, b, ones, displs, types, comm) ==
        MPI_SUCCESS);
  CHECK(MPI_Alltoallw(MPI_IN_PLACE, ones, displs, types, a, ones, displs, types,
                      comm) == MPI_SUCCESS);
  CHECK(MPI_Alltoallw(a, ones, displs, types, a, ones, displs, types, comm) ==
        expected);
  MPI_Request request = MPI_REQUEST_NULL;
  CHECK(MPI_Ialltoallw(a, ones, displs, types, a, ones, displs, types, comm,
                       &request) == expected);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(MPI_Alltoallw_init(a, ones, displs, types, a, ones, displs, types, comm,
                           MPI_INFO_NULL, &request) == expected);
  if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
}

/* Long: checks in a row; each stands on what those before it have made. */
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int expected = argc > 1 ? MPI_SUCCESS : MPI_ERR_BUFFER;
  int rank, size, a[N] = {0}, b[N] = {0}, ones[N], displs[N], behind[N];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  for (int i = 0; i < N; ++i) {
    ones[i] = 1;
    displs[i] = i;
  }

  without_members(expected);
  types_of_members(comm, expected);
  CHECK(MPI_Allreduce(a, a, 1, MPI_INT, MPI_SUM, comm) == expected);
  CHECK(MPI_Allreduce_c(a, a, 1, MPI_INT, MPI_SUM, comm) == expected);
  CHECK(MPI_Allreduce(a, a + 5, 10, MPI_INT, MPI_SUM, comm) == expected);
  CHECK(MPI_Allreduce(a + 9, a, 10, MPI_INT, MPI_SUM, comm) == expected);
  CHECK(MPI_Scan(a, a, 1, MPI_INT, MPI_SUM, comm) == expected);
  CHECK(MPI_Exscan(a, a, 1, MPI_INT, MPI_SUM, comm) == expected);
  CHECK(MPI_Reduce_scatter_block(a, a, 1, MPI_INT, MPI_SUM, comm) == expected);
  CHECK(MPI_Reduce_scatter(a, a, ones, MPI_INT, MPI_SUM, comm) == expected);
  CHECK(MPI_Allgather(a, 1, MPI_INT, a, 1, MPI_INT, comm) == expected);
  CHECK(MPI_Allgather(a + rank, 1, MPI_INT, a, 1, MPI_INT, comm) == expected);
  CHECK(MPI_Allgatherv(a + rank, 1, MPI_INT, a, ones, displs, MPI_INT, comm) ==
        expected);
  CHECK(MPI_Alltoall(a, 1, MPI_INT, a, 1, MPI_INT, comm) == expected);
  CHECK(MPI_Alltoallv(a, ones, displs, MPI_INT, a, ones, displs, MPI_INT, comm) ==
        expected);
  if (size == 1 ||
      expected == MPI_SUCCESS) { /* an error at the root only leaves the others */
    CHECK(MPI_Reduce(a, rank == 0 ? a : NULL, 1, MPI_INT, MPI_SUM, 0, comm) ==
          expected);
    CHECK(MPI_Gather(a, 1, MPI_INT, a, 1, MPI_INT, 0, comm) == expected);
    CHECK(MPI_Gatherv(a, 1, MPI_INT, a, ones, displs, MPI_INT, 0, comm) == expected);
    CHECK(MPI_Scatter(a, 1, MPI_INT, a, 1, MPI_INT, 0, comm) == expected);
    CHECK(MPI_Scatterv(a, ones, displs, MPI_INT, a, 1, MPI_INT, 0, comm) == expected);
  }
  MPI_Request request = MPI_REQUEST_NULL;
  CHECK(MPI_Iallreduce(a, a, 1, MPI_INT, MPI_SUM, comm, &request) == expected);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(MPI_Alltoall_init(a, 1, MPI_INT, a, 1, MPI_INT, comm, MPI_INFO_NULL,
                          &request) == expected);
  if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);

  /* What only the root has. */
  CHECK(MPI_Reduce(a, rank == 0 ? b : NULL, 1, MPI_INT, MPI_SUM, 0, comm) ==
        MPI_SUCCESS);
  CHECK(MPI_Reduce(rank == 0 ? MPI_IN_PLACE : a, rank == 0 ? b : NULL, 1, MPI_INT,
                   MPI_SUM, 0, comm) == MPI_SUCCESS);
  MPI_Datatype at_root = rank == 0 ? MPI_INT : MPI_DATATYPE_NULL;
  CHECK(MPI_Gather(a, 1, MPI_INT, rank == 0 ? b : NULL, 1, at_root, 0, comm) ==
        MPI_SUCCESS);
  CHECK(MPI_Scatter(rank == 0 ? b : NULL, 1, at_root, a, 1, MPI_INT, 0, comm) ==
        MPI_SUCCESS);
  CHECK(MPI_Gather(rank == 0 ? MPI_IN_PLACE : a, 1, MPI_INT, rank == 0 ? b : NULL, 1,
                   at_root, 0, comm) == MPI_SUCCESS);

  /* Not aliased: nothing there, other elements of one array, a buffer that does not count. */
  CHECK(MPI_Allreduce(a, a, 0, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
  CHECK(MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
  CHECK(MPI_Allreduce(a, a + 1, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
  CHECK(MPI_Allreduce(a + 10, a, 10, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
  CHECK(MPI_Allgather(a + size, 1, MPI_INT, a, 1, MPI_INT, comm) == MPI_SUCCESS);
  for (int i = 0; i < size; ++i) behind[i] = size + i;
  CHECK(MPI_Alltoallv(a, ones, displs, MPI_INT, a, ones, behind, MPI_INT, comm) ==
        MPI_SUCCESS);
  CHECK(MPI_Reduce(a, rank == size - 1 ? b : a, 1, MPI_INT, MPI_SUM, size - 1, comm) ==
        MPI_SUCCESS);

  CHECK(MPI_Allreduce(MPI_IN_PLACE, a, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
  CHECK(MPI_Allreduce(a, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, comm) == MPI_ERR_BUFFER);
  CHECK(MPI_Allreduce(NULL, a, 1, MPI_INT, MPI_SUM, comm) == MPI_ERR_BUFFER);
  CHECK(MPI_Bcast(MPI_IN_PLACE, 1, MPI_INT, 0, comm) == MPI_ERR_BUFFER);
  CHECK(MPI_Send(MPI_IN_PLACE, 1, MPI_INT, rank, 0, comm) == MPI_ERR_BUFFER);
  CHECK(MPI_Recv(MPI_IN_PLACE, 1, MPI_INT, rank, 0, comm, MPI_STATUS_IGNORE) ==
        MPI_ERR_BUFFER);
  const int elsewhere = (rank + 1) % size; /* in place is for the root only */
  if (size > 1) {
    CHECK(MPI_Gather(MPI_IN_PLACE, 1, MPI_INT, NULL, 0, MPI_INT, elsewhere, comm) ==
          MPI_ERR_BUFFER);
    CHECK(MPI_Scatter(NULL, 0, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, elsewhere, comm) ==
          MPI_ERR_BUFFER);
    CHECK(MPI_Reduce(MPI_IN_PLACE, NULL, 1, MPI_INT, MPI_SUM, elsewhere, comm) ==
          MPI_ERR_BUFFER);
  }
  CHECK(MPI_Allreduce(a, b, 1, MPI_INT, MPI_REPLACE, comm) == MPI_ERR_OP);
  CHECK(MPI_Allreduce(a, b, 1, MPI_INT, MPI_NO_OP, comm) == MPI_ERR_OP);
  CHECK(MPI_Reduce(a, b, 1, MPI_INT, MPI_REPLACE, 0, comm) == MPI_ERR_OP);
  MPI_Comm_free(&comm);
  return finish();
}
