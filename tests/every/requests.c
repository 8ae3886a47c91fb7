/* Every function that completes, asks for, starts, cancels or frees requests. */
#include "every.h"

#define WORLD MPI_COMM_WORLD
enum { kMany = 4 };

static int left, right, out[kMany], in[kMany];
static MPI_Request sent[kMany], requests[kMany];
static MPI_Status status, statuses[kMany];

/* Receives from the left with tags 0, 1, ...; none of their messages has been sent. */
static void post(void) {
  for (int i = 0; i < kMany; ++i) {
    in[i] = -1;
    MPI_Irecv(&in[i], 1, MPI_INT, left, i, WORLD, &requests[i]);
  }
  MPI_Barrier(WORLD);
}

/* Nobody sends before all have looked at what was sent before. */
static void send_to_right(int i) {
  MPI_Barrier(WORLD);
  out[i] = 100 * every_rank + i;
  MPI_Isend(&out[i], 1, MPI_INT, right, i, WORLD, &sent[i]);
}

static void send_all(void) {
  for (int i = 0; i < kMany; ++i) send_to_right(i);
}

static void check_one(int i, const MPI_Status* got) {
  CHECK(in[i] == 100 * left + i && got->MPI_SOURCE == left && got->MPI_TAG == i);
}

/* All have come, whatever was sent. */
static void finish(void) {
  for (int i = 0; i < kMany; ++i) CHECK(requests[i] == MPI_REQUEST_NULL);
  CHECK(MPI_Waitall(kMany, sent, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
  MPI_Barrier(WORLD);
}

/* A handle of another kind. */
static MPI_Request no_request(void) { return (MPI_Request)MPI_INT; }

static void one_at_a_time(void) {
  int flag = 1;
  MPI_Request request = no_request();
  post();
  RIGHT(MPI_Test(&requests[0], &flag, &status));
  CHECK(!flag && requests[0] != MPI_REQUEST_NULL);
  RIGHT(MPI_Request_get_status(requests[0], &flag, &status));
  CHECK(!flag);
  send_all();
  RIGHT(MPI_Wait(&requests[0], &status));
  CHECK(requests[0] == MPI_REQUEST_NULL);
  check_one(0, &status);
  for (flag = 0; !flag;) RIGHT(MPI_Test(&requests[1], &flag, &status));
  check_one(1, &status);
  for (flag = 0; !flag;) RIGHT(MPI_Request_get_status(requests[2], &flag, &status));
  CHECK(requests[2] != MPI_REQUEST_NULL);
  check_one(2, &status);
  CHECK(MPI_Waitall(kMany, requests, statuses) == MPI_SUCCESS);
  check_one(2, &statuses[2]);
  check_one(3, &statuses[3]);
  finish();
  RIGHT(MPI_Wait(&requests[0], &status)); /* the empty status */
  CHECK(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG);
  WRONG(MPI_ERR_REQUEST, MPI_Wait(&request, &status));
  WRONG(MPI_ERR_REQUEST, MPI_Test(&request, &flag, &status));
  WRONG(MPI_ERR_ARG, MPI_Test(&requests[0], NULL, &status));
  WRONG(MPI_ERR_REQUEST, MPI_Request_get_status(request, &flag, &status));
}

static void all_at_once(void) {
  int flag = 1;
  post();
  RIGHT(MPI_Testall(kMany, requests, &flag, statuses));
  CHECK(!flag);
  RIGHT(MPI_Request_get_status_all(kMany, requests, &flag, statuses));
  CHECK(!flag);
  send_all();
  for (flag = 0; !flag;)
    RIGHT(MPI_Request_get_status_all(kMany, requests, &flag, statuses));
  for (int i = 0; i < kMany; ++i) check_one(i, &statuses[i]);
  CHECK(requests[0] != MPI_REQUEST_NULL);
  RIGHT(MPI_Waitall(kMany, requests, statuses));
  for (int i = 0; i < kMany; ++i) check_one(i, &statuses[i]);
  finish();
  post();
  send_all();
  for (flag = 0; !flag;) RIGHT(MPI_Testall(kMany, requests, &flag, statuses));
  for (int i = 0; i < kMany; ++i) check_one(i, &statuses[i]);
  finish();
  WRONG(MPI_ERR_COUNT, MPI_Waitall(-1, requests, statuses));
  WRONG(MPI_ERR_ARG, MPI_Testall(kMany, requests, NULL, statuses));
  WRONG(MPI_ERR_COUNT, MPI_Request_get_status_all(-1, requests, &flag, statuses));
}

static void any_of_them(void) {
  int flag = 1, at = -1;
  MPI_Request no = no_request();
  post();
  RIGHT(MPI_Testany(kMany, requests, &at, &flag, &status));
  CHECK(!flag && at == MPI_UNDEFINED);
  RIGHT(MPI_Request_get_status_any(kMany, requests, &at, &flag, &status));
  CHECK(!flag && at == MPI_UNDEFINED);
  send_to_right(2);
  for (flag = 0; !flag;)
    RIGHT(MPI_Request_get_status_any(kMany, requests, &at, &flag, &status));
  CHECK(at == 2 && requests[2] != MPI_REQUEST_NULL);
  check_one(2, &status);
  RIGHT(MPI_Waitany(kMany, requests, &at, &status));
  CHECK(at == 2 && requests[2] == MPI_REQUEST_NULL);
  check_one(2, &status);
  send_to_right(1);
  for (flag = 0; !flag;) RIGHT(MPI_Testany(kMany, requests, &at, &flag, &status));
  CHECK(at == 1);
  check_one(1, &status);
  send_to_right(0);
  send_to_right(3);
  CHECK(MPI_Waitall(kMany, requests, statuses) == MPI_SUCCESS);
  finish();
  RIGHT(MPI_Waitany(kMany, requests, &at, &status));
  CHECK(at == MPI_UNDEFINED);
  RIGHT(MPI_Testany(kMany, requests, &at, &flag, &status));
  CHECK(flag && at == MPI_UNDEFINED);
  WRONG(MPI_ERR_ARG, MPI_Waitany(kMany, requests, NULL, &status));
  WRONG(MPI_ERR_REQUEST, MPI_Waitany(1, &no, &at, &status));
  WRONG(MPI_ERR_REQUEST, MPI_Testany(1, &no, &at, &flag, &status));
  WRONG(MPI_ERR_REQUEST, MPI_Request_get_status_any(1, &no, &at, &flag, &status));
}

static void some_of_them(void) {
  int n = -1, at[kMany];
  post();
  RIGHT(MPI_Testsome(kMany, requests, &n, at, statuses));
  CHECK(n == 0);
  RIGHT(MPI_Request_get_status_some(kMany, requests, &n, at, statuses));
  CHECK(n == 0);
  send_to_right(3);
  for (n = 0; n == 0;)
    RIGHT(MPI_Request_get_status_some(kMany, requests, &n, at, statuses));
  CHECK(n == 1 && at[0] == 3 && requests[3] != MPI_REQUEST_NULL);
  check_one(3, &statuses[0]);
  RIGHT(MPI_Waitsome(kMany, requests, &n, at, statuses));
  CHECK(n == 1 && at[0] == 3 && requests[3] == MPI_REQUEST_NULL);
  check_one(3, &statuses[0]);
  send_to_right(0);
  for (n = 0; n == 0;) RIGHT(MPI_Testsome(kMany, requests, &n, at, statuses));
  CHECK(n == 1 && at[0] == 0);
  check_one(0, &statuses[0]);
  send_to_right(1);
  send_to_right(2);
  CHECK(MPI_Waitall(kMany, requests, statuses) == MPI_SUCCESS);
  finish();
  RIGHT(MPI_Waitsome(kMany, requests, &n, at, statuses));
  CHECK(n == MPI_UNDEFINED);
  RIGHT(MPI_Testsome(kMany, requests, &n, at, statuses));
  CHECK(n == MPI_UNDEFINED);
  RIGHT(MPI_Request_get_status_some(kMany, requests, &n, at, statuses));
  CHECK(n == MPI_UNDEFINED);
  WRONG(MPI_ERR_COUNT, MPI_Waitsome(-1, requests, &n, at, statuses));
  WRONG(MPI_ERR_ARG, MPI_Testsome(kMany, requests, NULL, at, statuses));
  WRONG(MPI_ERR_COUNT, MPI_Request_get_status_some(-1, requests, &n, at, statuses));
}

static void persistent(void) {
  MPI_Request two[2], copy;
  MPI_Send_init(&out[0], 1, MPI_INT, right, 0, WORLD, &two[0]);
  MPI_Recv_init(&in[0], 1, MPI_INT, left, 0, WORLD, &two[1]);
  RIGHT(MPI_Wait(&two[0], &status)); /* not active: at once */
  CHECK(two[0] != MPI_REQUEST_NULL && status.MPI_SOURCE == MPI_ANY_SOURCE);
  for (int round = 0; round < 3; ++round) {
    out[0] = 100 * every_rank;
    in[0] = -1;
    if (round == 1) {
      RIGHT(MPI_Start(&two[1]));
      WRONG(MPI_ERR_REQUEST, MPI_Start(&two[1]));
      RIGHT(MPI_Start(&two[0]));
    } else {
      RIGHT(MPI_Startall(2, two));
    }
    CHECK(MPI_Waitall(2, two, statuses) == MPI_SUCCESS);
    check_one(0, &statuses[1]);
  }
  copy = MPI_REQUEST_NULL;
  WRONG(MPI_ERR_REQUEST, MPI_Start(&copy));
  WRONG(MPI_ERR_REQUEST, MPI_Startall(1, &copy));
  WRONG(MPI_ERR_REQUEST, MPI_Request_free(&copy));
  RIGHT(MPI_Request_free(&two[0]));
  RIGHT(MPI_Request_free(&two[1]));
  CHECK(two[0] == MPI_REQUEST_NULL && two[1] == MPI_REQUEST_NULL);
}

static void cancelled(void) {
  int flag = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  WRONG(MPI_ERR_REQUEST, MPI_Cancel(&request));
  MPI_Irecv(in, 1, MPI_INT, left, 77, WORLD, &request);
  RIGHT(MPI_Cancel(&request));
  CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
  RIGHT(MPI_Test_cancelled(&status, &flag));
  CHECK(flag);
  send_to_right(0);
  CHECK(MPI_Recv(in, 1, MPI_INT, left, 0, WORLD, &status) == MPI_SUCCESS);
  CHECK(MPI_Wait(&sent[0], MPI_STATUS_IGNORE) == MPI_SUCCESS);
  RIGHT(MPI_Test_cancelled(&status, &flag));
  CHECK(!flag);
  WRONG(MPI_ERR_ARG, MPI_Test_cancelled(&status, NULL));
  WRONG(MPI_ERR_ARG, MPI_Test_cancelled(MPI_STATUS_IGNORE, &flag));
}

int main(int argc, char** argv) {
  every_begin(&argc, &argv);
  left = (every_rank + every_size - 1) % every_size;
  right = (every_rank + 1) % every_size;
  for (int i = 0; i < kMany; ++i) sent[i] = MPI_REQUEST_NULL;
  one_at_a_time();
  all_at_once();
  any_of_them();
  some_of_them();
  persistent();
  cancelled();
  return every_end();
}
