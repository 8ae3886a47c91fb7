/* Wrong arguments give the right error class, through the communicator's error handler, and
 * the arguments that MPI calls not significant are not looked at. Run with 2 ranks or more. */
#include <limits.h>
#include <stdio.h>

#include "mpi.h"

static int wrong = 0, handled = 0;

static void count_errors(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
  ++handled;
}

static void expect(int line, int code, int wanted) {
  int error_class = -1;
  MPI_Error_class(code, &error_class);
  if (error_class == wanted) return;
  printf("line %d: class %d instead of %d\n", line, error_class, wanted);
  ++wrong;
}
#define EXPECT(call, wanted) expect(__LINE__, call, wanted)

static void point_to_point(MPI_Comm comm, int size) {
  int v = 1;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Datatype raw;
  MPI_Type_contiguous(2, MPI_INT, &raw);
  EXPECT(MPI_Send(&v, -1, MPI_INT, 0, 0, comm), MPI_ERR_COUNT);
  EXPECT(MPI_Send_c(&v, -1, MPI_INT, 0, 0, comm), MPI_ERR_COUNT);
  EXPECT(MPI_Send(&v, 1, MPI_DATATYPE_NULL, 0, 0, comm), MPI_ERR_TYPE);
  EXPECT(MPI_Send(&v, 1, (MPI_Datatype)0, 0, 0, comm), MPI_ERR_TYPE);
  EXPECT(MPI_Send(&v, 1, raw, 0, 0, comm), MPI_ERR_TYPE); /* not committed */
  EXPECT(MPI_Send(&v, 1, MPI_INT, size, 0, comm), MPI_ERR_RANK);
  EXPECT(MPI_Send(&v, 1, MPI_INT, MPI_ANY_SOURCE, 0, comm), MPI_ERR_RANK);
  EXPECT(MPI_Send(&v, 1, MPI_INT, 0, -7, comm), MPI_ERR_TAG);
  EXPECT(MPI_Send(&v, 1, MPI_INT, 0, MPI_ANY_TAG, comm), MPI_ERR_TAG);
  EXPECT(MPI_Send(NULL, 1, MPI_INT, 0, 0, comm), MPI_ERR_BUFFER);
  EXPECT(MPI_Irecv(&v, 1, MPI_INT, size, 0, comm, &request), MPI_ERR_RANK);
  EXPECT(MPI_Irecv(&v, 1, MPI_INT, 0, 0, comm, NULL), MPI_ERR_ARG);
  EXPECT(MPI_Send(&v, 1, MPI_INT, MPI_PROC_NULL, INT_MAX, comm), MPI_SUCCESS);
  EXPECT(MPI_Send(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, comm), MPI_SUCCESS);
  EXPECT(MPI_Recv(&v, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE),
         MPI_SUCCESS);
  MPI_Type_free(&raw);
}

/* MPI_Wait names no communicator: the error is for the handler of the request's one. */
static void completion(MPI_Comm comm, int rank) {
  int two[2] = {1, 2}, one, before = handled;
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status statuses[2];
  MPI_Irecv(&one, 1, MPI_INT, rank, 0, comm, &requests[0]);
  MPI_Send(two, 2, MPI_INT, rank, 0, comm);
  EXPECT(MPI_Wait(&requests[0], MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
  MPI_Irecv(&one, 1, MPI_INT, rank, 0, comm, &requests[0]);
  MPI_Send(two, 2, MPI_INT, rank, 0, comm);
  EXPECT(MPI_Waitall(2, requests, statuses), MPI_ERR_IN_STATUS);
  EXPECT(statuses[0].MPI_ERROR, MPI_ERR_TRUNCATE);
  EXPECT(statuses[1].MPI_ERROR, MPI_SUCCESS);
  if (handled != before + 2) printf("the handler was not called\n"), ++wrong;
}

static void collectives(MPI_Comm comm, int rank, int size) {
  int v = 1, all[64] = {0};
  EXPECT(MPI_Bcast(&v, 1, MPI_INT, size, comm), MPI_ERR_ROOT);
  EXPECT(MPI_Bcast(&v, 1, MPI_INT, MPI_PROC_NULL, comm), MPI_ERR_ROOT);
  EXPECT(MPI_Allreduce(&v, all, -1, MPI_INT, MPI_SUM, comm), MPI_ERR_COUNT);
  EXPECT(MPI_Allreduce(&v, all, 1, MPI_INT, MPI_OP_NULL, comm), MPI_ERR_OP);
  /* Receive arguments count only at the root, send arguments not if in place. */
  if (rank == 0)
    EXPECT(MPI_Gather(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, all, 1, MPI_INT, 0, comm),
           MPI_SUCCESS);
  else
    EXPECT(MPI_Gather(&v, 1, MPI_INT, NULL, -1, MPI_DATATYPE_NULL, 0, comm),
           MPI_SUCCESS);
}

static void handles(MPI_Comm comm) {
  int size, before = handled;
  MPI_Group group;
  EXPECT(MPI_Comm_size(comm, NULL), MPI_ERR_ARG);
  if (handled != before + 1) printf("the handler was not called\n"), ++wrong;
  EXPECT(MPI_Comm_group(comm, &group), MPI_SUCCESS);
  EXPECT(MPI_Group_free(&group), MPI_SUCCESS);
  if (group != MPI_GROUP_NULL) printf("the group is not null\n"), ++wrong;
  /* No communicator whose handler could be asked: MPI_COMM_SELF's. */
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  EXPECT(MPI_Comm_size(MPI_COMM_NULL, &size), MPI_ERR_COMM);
  EXPECT(MPI_Comm_size((MPI_Comm)MPI_INT, &size), MPI_ERR_COMM);
  EXPECT(MPI_Group_size(MPI_GROUP_NULL, &size), MPI_ERR_GROUP);
  EXPECT(MPI_Wait(NULL, MPI_STATUS_IGNORE), MPI_ERR_ARG);
  EXPECT(MPI_Waitall(-1, NULL, MPI_STATUSES_IGNORE), MPI_ERR_COUNT);
}

int main(int argc, char** argv) {
  MPI_Errhandler counting;
  int rank, size, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_create_errhandler(count_errors, &counting);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, counting);
  point_to_point(MPI_COMM_WORLD, size);
  completion(MPI_COMM_WORLD, rank);
  collectives(MPI_COMM_WORLD, rank, size);
  handles(MPI_COMM_WORLD);
  MPI_Allreduce(&wrong, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0 && sum == 0) printf("No Errors\n");
  MPI_Finalize();
  return sum != 0;
}
