/* Every function on generalized requests. */
#include "every.h"

static int queries, frees, cancels, cancelled_when_complete = -1;

static int query(void* state, MPI_Status* status) {
  ++queries;
  MPI_Status_set_elements(status, MPI_INT, *(int*)state);
  MPI_Status_set_cancelled(status, cancels > 0);
  status->MPI_SOURCE = 17;
  status->MPI_TAG = 18;
  return MPI_SUCCESS;
}

static int release(void* state) {
  ++frees;
  *(int*)state = -1;
  return MPI_SUCCESS;
}

static int cancel(void* state, int complete) {
  (void)state;
  ++cancels;
  cancelled_when_complete = complete;
  return MPI_SUCCESS;
}

int main(int argc, char** argv) {
  int state = 5, flag = 1, n = -1;
  MPI_Request request, wrong = MPI_REQUEST_NULL;
  MPI_Status status;
  every_begin(&argc, &argv);
  RIGHT(MPI_Grequest_start(query, release, cancel, &state, &request));
  CHECK(MPI_Test(&request, &flag, &status) == MPI_SUCCESS && !flag && frees == 0);
  RIGHT(MPI_Grequest_complete(request));
  CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS && request == MPI_REQUEST_NULL);
  CHECK(MPI_Get_count(&status, MPI_INT, &n) == MPI_SUCCESS && n == 5);
  CHECK(status.MPI_SOURCE == 17 && status.MPI_TAG == 18);
  CHECK(queries >= 1 && frees == 1 && cancels == 0 && state == -1);

  RIGHT(MPI_Grequest_start(query, release, cancel, &state, &request));
  CHECK(MPI_Cancel(&request) == MPI_SUCCESS);
  CHECK(cancels == 1 && cancelled_when_complete == 0);
  RIGHT(MPI_Grequest_complete(request));
  CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
  CHECK(MPI_Test_cancelled(&status, &flag) == MPI_SUCCESS && flag && frees == 2);

  WRONG(MPI_ERR_ARG, MPI_Grequest_start(query, release, cancel, &state, NULL));
  WRONG(MPI_ERR_REQUEST, MPI_Grequest_complete(wrong));
  MPI_Irecv(&n, 1, MPI_INT, every_rank, 0, MPI_COMM_WORLD, &wrong);
  WRONG(MPI_ERR_REQUEST, MPI_Grequest_complete(wrong)); /* of another kind */
  MPI_Cancel(&wrong);
  MPI_Wait(&wrong, MPI_STATUS_IGNORE);
  return every_end();
}
