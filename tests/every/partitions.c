/* Every function of partitioned communication: from each rank to the next. */
#include "every.h"

#define WORLD MPI_COMM_WORLD
enum { kParts = 4, kRounds = 3 };

static int left, right, out[2 * kParts], in[2 * kParts];
static MPI_Request requests[2];

static void make_ready(int round) {
  if (round == 0) {
    for (int i = kParts - 1; i >= 0; --i) RIGHT(MPI_Pready(i, requests[0]));
  } else if (round == 1) {
    RIGHT(MPI_Pready_range(0, 1, requests[0]));
    RIGHT(MPI_Pready_range(2, kParts - 1, requests[0]));
  } else {
    RIGHT(MPI_Pready_list(3, (int[]){3, 0, 1}, requests[0]));
    RIGHT(MPI_Pready(2, requests[0]));
  }
}

static void one_round(int round) {
  int flag = 1;
  MPI_Status statuses[2];
  for (int i = 0; i < 2 * kParts; ++i) {
    out[i] = 100 * every_rank + 10 * round + i;
    in[i] = -1;
  }
  CHECK(MPI_Startall(2, requests) == MPI_SUCCESS);
  RIGHT(MPI_Parrived(requests[1], 0, &flag));
  CHECK(!flag || in[0] == 100 * left + 10 * round);
  make_ready(round);
  for (flag = 0; !flag;) RIGHT(MPI_Parrived(requests[1], 1, &flag));
  for (int i = kParts; i < 2 * kParts; ++i) CHECK(in[i] == 100 * left + 10 * round + i);
  CHECK(MPI_Waitall(2, requests, statuses) == MPI_SUCCESS);
  CHECK(statuses[1].MPI_SOURCE == left && statuses[1].MPI_TAG == 1);
  for (int i = 0; i < 2 * kParts; ++i) CHECK(in[i] == 100 * left + 10 * round + i);
}

/* Of a request that is active: none is ready twice, none is out of range. */
static void wrong_partitions(void) {
  int flag = 0;
  CHECK(MPI_Startall(2, requests) == MPI_SUCCESS);
  WRONG(MPI_ERR_ARG, MPI_Pready(kParts, requests[0]));
  WRONG(MPI_ERR_ARG, MPI_Pready_range(0, kParts, requests[0]));
  WRONG(MPI_ERR_ARG, MPI_Pready_list(1, (int[]){-1}, requests[0]));
  WRONG(MPI_ERR_ARG, MPI_Parrived(requests[1], 2, &flag));
  WRONG(MPI_ERR_REQUEST, MPI_Pready(0, requests[1]));          /* a receive */
  WRONG(MPI_ERR_REQUEST, MPI_Parrived(requests[0], 0, &flag)); /* a send */
  CHECK(MPI_Pready_range(0, kParts - 1, requests[0]) == MPI_SUCCESS);
  CHECK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
  WRONG(MPI_ERR_REQUEST, MPI_Pready_range(0, kParts - 1, requests[0])); /* not active */
}

static void wrong_requests(void) {
  MPI_Request no = MPI_REQUEST_NULL, made = MPI_REQUEST_NULL;
  WRONG(MPI_ERR_REQUEST, MPI_Pready(0, no));
  WRONG(MPI_ERR_REQUEST, MPI_Pready_range(0, 1, no));
  WRONG(MPI_ERR_REQUEST, MPI_Pready_list(1, (int[]){0}, no));
  WRONG(MPI_ERR_COUNT, N(MPI_Psend_init)(out, kParts, -1, MPI_INT, right, 1, WORLD,
                                         MPI_INFO_NULL, &made));
  WRONG(MPI_ERR_RANK, N(MPI_Precv_init)(in, 2, kParts, MPI_INT, MPI_ANY_SOURCE, 1,
                                        WORLD, MPI_INFO_NULL, &made));
  CHECK(made == MPI_REQUEST_NULL);
}

int main(int argc, char** argv) {
  every_begin(&argc, &argv);
  left = (every_rank + every_size - 1) % every_size;
  right = (every_rank + 1) % every_size;
  RIGHT(N(MPI_Psend_init)(out, kParts, 2, MPI_INT, right, 1, WORLD, MPI_INFO_NULL,
                          &requests[0]));
  RIGHT(N(MPI_Precv_init)(in, 2, kParts, MPI_INT, left, 1, WORLD, MPI_INFO_NULL,
                          &requests[1]));
  for (int round = 0; round < kRounds; ++round) one_round(round);
  wrong_partitions();
  wrong_requests();
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  return every_end();
}
