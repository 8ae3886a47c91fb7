/* Every function on the fields of a status. */
#include "every.h"

static void fields(void) {
  int value = -1;
  MPI_Status status;
  memset(&status, 0, sizeof status);
  RIGHT(MPI_Status_set_source(&status, 3));
  RIGHT(MPI_Status_set_tag(&status, 5));
  RIGHT(MPI_Status_set_error(&status, MPI_ERR_TRUNCATE));
  CHECK(status.MPI_SOURCE == 3 && status.MPI_TAG == 5);
  CHECK(status.MPI_ERROR == MPI_ERR_TRUNCATE);
  status.MPI_SOURCE = 4;
  RIGHT(MPI_Status_get_source(&status, &value));
  CHECK(value == 4);
  RIGHT(MPI_Status_get_tag(&status, &value));
  CHECK(value == 5);
  RIGHT(MPI_Status_get_error(&status, &value));
  CHECK(value == MPI_ERR_TRUNCATE);
  WRONG(MPI_ERR_ARG, MPI_Status_set_source(MPI_STATUS_IGNORE, 3));
  WRONG(MPI_ERR_ARG, MPI_Status_set_tag(MPI_STATUS_IGNORE, 5));
  WRONG(MPI_ERR_ARG, MPI_Status_set_error(MPI_STATUS_IGNORE, MPI_ERR_TRUNCATE));
  WRONG(MPI_ERR_ARG, MPI_Status_get_source(MPI_STATUS_IGNORE, &value));
  WRONG(MPI_ERR_ARG, MPI_Status_get_tag(&status, NULL));
  WRONG(MPI_ERR_ARG, MPI_Status_get_error(MPI_STATUS_IGNORE, &value));
}

static void contents(void) {
  int flag = 0, n = -1;
  count_t count = -1;
  MPI_Datatype pair;
  MPI_Status status;
  memset(&status, 0, sizeof status);
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  RIGHT(MPI_Status_set_cancelled(&status, 1));
  CHECK(MPI_Test_cancelled(&status, &flag) == MPI_SUCCESS && flag);
  RIGHT(MPI_Status_set_cancelled(&status, 0));
  CHECK(MPI_Test_cancelled(&status, &flag) == MPI_SUCCESS && !flag);
  RIGHT(N(MPI_Status_set_elements)(&status, pair, 6));
  CHECK(N(MPI_Get_elements)(&status, pair, &count) == MPI_SUCCESS && count == 6);
  CHECK(MPI_Get_count(&status, pair, &n) == MPI_SUCCESS && n == 3);
  RIGHT(MPI_Status_set_elements_x(&status, MPI_INT, 7));
  CHECK(N(MPI_Get_elements)(&status, MPI_INT, &count) == MPI_SUCCESS && count == 7);
  WRONG(MPI_ERR_ARG, MPI_Status_set_cancelled(MPI_STATUS_IGNORE, 1));
  WRONG(MPI_ERR_TYPE, N(MPI_Status_set_elements)(&status, MPI_DATATYPE_NULL, 6));
  WRONG(MPI_ERR_COUNT, N(MPI_Status_set_elements)(&status, MPI_INT, -1));
  WRONG(MPI_ERR_ARG, MPI_Status_set_elements_x(MPI_STATUS_IGNORE, MPI_INT, 7));
  CHECK(N(MPI_Get_elements)(&status, MPI_INT, &count) == MPI_SUCCESS && count == 7);
  MPI_Type_free(&pair);
}

int main(int argc, char** argv) {
  every_begin(&argc, &argv);
  fields();
  contents();
  return every_end();
}
