/* Every persistent collective: run with 2 to 8 ranks. */
#define STARTED_TWICE(before)                                    \
  for (int i_start = 0; i_start < 2; ++i_start) {                \
    (void)(before);                                              \
    CHECK(MPI_Start(&request) == MPI_SUCCESS);                   \
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS); \
    CHECK(request != MPI_REQUEST_NULL);                          \
  }                                                              \
  CHECK(MPI_Request_free(&request) == MPI_SUCCESS)
#define CALL(Name, name, before, ...)                                  \
  do {                                                                 \
    MPI_Request request = MPI_REQUEST_NULL;                            \
    RIGHT(N(MPI_##Name##_init)(__VA_ARGS__, MPI_INFO_NULL, &request)); \
    STARTED_TWICE(before);                                             \
  } while (0)
#define BAD(class_of_error, Name, name, ...)                                           \
  do {                                                                                 \
    MPI_Request request;                                                               \
    WRONG(class_of_error, N(MPI_##Name##_init)(__VA_ARGS__, MPI_INFO_NULL, &request)); \
  } while (0)
#define CALL_BARRIER()                                                \
  do {                                                                \
    MPI_Request request;                                              \
    RIGHT(MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &request)); \
    STARTED_TWICE(0);                                                 \
  } while (0)
#define BAD_BARRIER(class_of_error, comm)                                        \
  do {                                                                           \
    MPI_Request request;                                                         \
    WRONG(class_of_error, MPI_Barrier_init(comm, MPI_INFO_NULL, &request));      \
    WRONG(MPI_ERR_ARG, MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, NULL));   \
    WRONG(MPI_ERR_INFO,                                                          \
          MPI_Barrier_init(MPI_COMM_WORLD, (MPI_Info)MPI_COMM_WORLD, &request)); \
  } while (0)
#include "collective_calls.h"
#include "collective_ignored.h"

/* Requests of one communicator are started together, with an info object. */
static void several_at_once(void) {
  MPI_Request requests[2];
  MPI_Info info;
  int one = 1, sum = 0, from_root = every_rank == 0 ? 5 : 0;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_assert_strict_persistent_collective_ordering", "true");
  RIGHT(N(MPI_Allreduce_init)(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, info,
                              &requests[0]));
  RIGHT(
      N(MPI_Bcast_init)(&from_root, 1, MPI_INT, 0, MPI_COMM_WORLD, info, &requests[1]));
  MPI_Info_free(&info);
  CHECK(sum == 0);
  CHECK(MPI_Startall(2, requests) == MPI_SUCCESS);
  WRONG(MPI_ERR_REQUEST, MPI_Start(&requests[0]));
  CHECK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
  CHECK(sum == every_size && from_root == 5);
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

int main(int argc, char** argv) {
  every_begin(&argc, &argv);
  every_collective();
  every_ignored_argument();
  several_at_once();
  return every_end();
}
