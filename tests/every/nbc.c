/* Every nonblocking collective: run with 2 to 8 ranks. */
#define COMPLETED                                              \
  CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS); \
  CHECK(request == MPI_REQUEST_NULL)
#define CALL(Name, name, before, ...)             \
  do {                                            \
    MPI_Request request = MPI_REQUEST_NULL;       \
    (void)(before);                               \
    RIGHT(N(MPI_I##name)(__VA_ARGS__, &request)); \
    COMPLETED;                                    \
  } while (0)
#define BAD(class_of_error, Name, name, ...)                      \
  do {                                                            \
    MPI_Request request;                                          \
    WRONG(class_of_error, N(MPI_I##name)(__VA_ARGS__, &request)); \
  } while (0)
#define CALL_BARRIER()                             \
  do {                                             \
    MPI_Request request;                           \
    RIGHT(MPI_Ibarrier(MPI_COMM_WORLD, &request)); \
    COMPLETED;                                     \
  } while (0)
#define BAD_BARRIER(class_of_error, comm)                   \
  do {                                                      \
    MPI_Request request;                                    \
    WRONG(class_of_error, MPI_Ibarrier(comm, &request));    \
    WRONG(MPI_ERR_ARG, MPI_Ibarrier(MPI_COMM_WORLD, NULL)); \
  } while (0)
#include "collective_calls.h"
#include "collective_ignored.h"

/* The operations of one communicator go on at the same time. */
static void several_at_once(void) {
  MPI_Request requests[3];
  int one = 1, sum = 0, root = every_rank == 0 ? 5 : 0, last = -1, mine = every_rank;
  RIGHT(
      N(MPI_Iallreduce)(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]));
  RIGHT(N(MPI_Ibcast)(&root, 1, MPI_INT, 0, MPI_COMM_WORLD, &requests[1]));
  RIGHT(N(MPI_Ireduce)(&mine, &last, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD,
                       &requests[2]));
  CHECK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
  CHECK(sum == every_size && root == 5 &&
        last == (every_rank == 0 ? every_size - 1 : -1));
  WRONG(MPI_ERR_ARG, N(MPI_Ibcast)(&root, 1, MPI_INT, 0, MPI_COMM_WORLD, NULL));
}

/* An operation that has begun cannot be cancelled (MPI-4.1 section 6.12). */
static void not_cancelled(void) {
  MPI_Request request;
  int one = 1, sum = 0;
  RIGHT(N(MPI_Iallreduce)(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
  WRONG(MPI_ERR_REQUEST, MPI_Cancel(&request));
  CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(sum == every_size);
}

int main(int argc, char** argv) {
  every_begin(&argc, &argv);
  every_collective();
  every_ignored_argument();
  several_at_once();
  not_cancelled();
  return every_end();
}
