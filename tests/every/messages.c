/* Every function that sends or receives a message: from each rank to the next. */
#include "every.h"

#define WORLD MPI_COMM_WORLD

static int left, right, out, in;
static MPI_Request arriving = MPI_REQUEST_NULL, request = MPI_REQUEST_NULL;
static MPI_Status status;

/* A receive that is there when a message leaves, also for the sends that want it ready. */
static void expect_from_left(int tag) {
  out = 100 * every_rank + tag;
  in = -1;
  MPI_Irecv(&in, 1, MPI_INT, left, tag, WORLD, &arriving);
  MPI_Barrier(WORLD);
}

static void has_arrived(int tag) {
  MPI_Wait(&arriving, &status);
  CHECK(in == 100 * left + tag && status.MPI_SOURCE == left && status.MPI_TAG == tag);
}

#define SENDS(tag, ...)    \
  do {                     \
    expect_from_left(tag); \
    RIGHT(__VA_ARGS__);    \
    has_arrived(tag);      \
  } while (0)
#define SENDS_LATER(tag, ...)                                    \
  do {                                                           \
    expect_from_left(tag);                                       \
    RIGHT(__VA_ARGS__);                                          \
    CHECK(request != MPI_REQUEST_NULL);                          \
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS); \
    has_arrived(tag);                                            \
  } while (0)
#define SENDS_OFTEN(tag, ...)                                      \
  do {                                                             \
    RIGHT(__VA_ARGS__);                                            \
    for (int i = 0; i < 3; ++i) {                                  \
      expect_from_left(tag);                                       \
      CHECK(MPI_Start(&request) == MPI_SUCCESS);                   \
      CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS); \
      has_arrived(tag);                                            \
    }                                                              \
    CHECK(MPI_Request_free(&request) == MPI_SUCCESS);              \
  } while (0)

static void sends(void) {
  SENDS(1, N(MPI_Send)(&out, 1, MPI_INT, right, 1, WORLD));
  SENDS(2, N(MPI_Bsend)(&out, 1, MPI_INT, right, 2, WORLD));
  SENDS(3, N(MPI_Ssend)(&out, 1, MPI_INT, right, 3, WORLD));
  SENDS(4, N(MPI_Rsend)(&out, 1, MPI_INT, right, 4, WORLD));
  SENDS_LATER(5, N(MPI_Isend)(&out, 1, MPI_INT, right, 5, WORLD, &request));
  SENDS_LATER(6, N(MPI_Ibsend)(&out, 1, MPI_INT, right, 6, WORLD, &request));
  SENDS_LATER(7, N(MPI_Issend)(&out, 1, MPI_INT, right, 7, WORLD, &request));
  SENDS_LATER(8, N(MPI_Irsend)(&out, 1, MPI_INT, right, 8, WORLD, &request));
  SENDS_OFTEN(9, N(MPI_Send_init)(&out, 1, MPI_INT, right, 9, WORLD, &request));
  SENDS_OFTEN(10, N(MPI_Bsend_init)(&out, 1, MPI_INT, right, 10, WORLD, &request));
  SENDS_OFTEN(11, N(MPI_Ssend_init)(&out, 1, MPI_INT, right, 11, WORLD, &request));
  SENDS_OFTEN(12, N(MPI_Rsend_init)(&out, 1, MPI_INT, right, 12, WORLD, &request));
}

static void wrong_sends(void) {
  WRONG(MPI_ERR_COUNT, N(MPI_Send)(&out, -1, MPI_INT, right, 1, WORLD));
  WRONG(MPI_ERR_TYPE, N(MPI_Bsend)(&out, 1, MPI_DATATYPE_NULL, right, 1, WORLD));
  WRONG(MPI_ERR_RANK, N(MPI_Ssend)(&out, 1, MPI_INT, every_size, 1, WORLD));
  WRONG(MPI_ERR_TAG, N(MPI_Rsend)(&out, 1, MPI_INT, right, MPI_ANY_TAG, WORLD));
  WRONG(MPI_ERR_COMM,
        N(MPI_Isend)(&out, 1, MPI_INT, right, 1, MPI_COMM_NULL, &request));
  WRONG(MPI_ERR_RANK,
        N(MPI_Ibsend)(&out, 1, MPI_INT, MPI_ANY_SOURCE, 1, WORLD, &request));
  WRONG(MPI_ERR_BUFFER, N(MPI_Issend)(NULL, 1, MPI_INT, right, 1, WORLD, &request));
  WRONG(MPI_ERR_ARG, N(MPI_Irsend)(&out, 1, MPI_INT, right, 1, WORLD, NULL));
  WRONG(MPI_ERR_COUNT, N(MPI_Send_init)(&out, -1, MPI_INT, right, 1, WORLD, &request));
  WRONG(MPI_ERR_RANK,
        N(MPI_Bsend_init)(&out, 1, MPI_INT, every_size, 1, WORLD, &request));
  WRONG(MPI_ERR_TAG, N(MPI_Ssend_init)(&out, 1, MPI_INT, right, -5, WORLD, &request));
  WRONG(MPI_ERR_TYPE,
        N(MPI_Rsend_init)(&out, 1, MPI_DATATYPE_NULL, right, 1, WORLD, &request));
  CHECK(request == MPI_REQUEST_NULL);
}

/* A send from a buffer that is not there. */
static void buffered_without_buffer(void) {
  WRONG(MPI_ERR_BUFFER, N(MPI_Bsend)(&out, 1, MPI_INT, right, 1, WORLD));
  WRONG(MPI_ERR_BUFFER, N(MPI_Ibsend)(&out, 1, MPI_INT, right, 1, WORLD, &request));
}

static void send_to_right(int tag, MPI_Request* sent) {
  out = 100 * every_rank + tag;
  in = -1;
  MPI_Isend(&out, 1, MPI_INT, right, tag, WORLD, sent);
}

static void receives(void) {
  MPI_Request sent;
  send_to_right(20, &sent);
  RIGHT(N(MPI_Recv)(&in, 1, MPI_INT, left, 20, WORLD, &status));
  CHECK(in == 100 * left + 20 && status.MPI_SOURCE == left && status.MPI_TAG == 20);
  MPI_Wait(&sent, MPI_STATUS_IGNORE);
  WRONG(MPI_ERR_TAG, N(MPI_Recv)(&in, 1, MPI_INT, left, -5, WORLD, &status));

  send_to_right(21, &sent);
  RIGHT(N(MPI_Irecv)(&in, 1, MPI_INT, MPI_ANY_SOURCE, 21, WORLD, &request));
  CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
  CHECK(in == 100 * left + 21 && status.MPI_SOURCE == left);
  MPI_Wait(&sent, MPI_STATUS_IGNORE);
  WRONG(MPI_ERR_RANK, N(MPI_Irecv)(&in, 1, MPI_INT, every_size, 1, WORLD, &request));

  RIGHT(N(MPI_Recv_init)(&in, 1, MPI_INT, left, MPI_ANY_TAG, WORLD, &request));
  for (int tag = 22; tag < 25; ++tag) {
    send_to_right(tag, &sent);
    CHECK(MPI_Start(&request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
    CHECK(in == 100 * left + tag && status.MPI_TAG == tag);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&request);
  WRONG(MPI_ERR_COUNT, N(MPI_Recv_init)(&in, -1, MPI_INT, left, 1, WORLD, &request));

  /* More than there is room for: the message is gone, the room is filled at most. */
  int two[2] = {7, 8};
  MPI_Isend(two, 2, MPI_INT, right, 25, WORLD, &sent);
  WRONG(MPI_ERR_TRUNCATE, N(MPI_Recv)(&in, 1, MPI_INT, left, 25, WORLD, &status));
  MPI_Wait(&sent, MPI_STATUS_IGNORE);
}

static void exchanges(void) {
  out = 100 * every_rank;
  in = -1;
  RIGHT(N(MPI_Sendrecv)(&out, 1, MPI_INT, right, 30, &in, 1, MPI_INT, left, 30, WORLD,
                        &status));
  CHECK(in == 100 * left && status.MPI_SOURCE == left && status.MPI_TAG == 30);
  WRONG(MPI_ERR_RANK, N(MPI_Sendrecv)(&out, 1, MPI_INT, right, 30, &in, 1, MPI_INT,
                                      every_size, 30, WORLD, &status));

  RIGHT(N(MPI_Sendrecv_replace)(&out, 1, MPI_INT, right, 31, left, 31, WORLD, &status));
  CHECK(out == 100 * left && status.MPI_SOURCE == left && status.MPI_TAG == 31);
  WRONG(MPI_ERR_TAG,
        N(MPI_Sendrecv_replace)(&out, 1, MPI_INT, right, -5, left, 31, WORLD, &status));

  out = 100 * every_rank;
  in = -1;
  RIGHT(N(MPI_Isendrecv)(&out, 1, MPI_INT, right, 32, &in, 1, MPI_INT, left, 32, WORLD,
                         &request));
  CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
  CHECK(in == 100 * left && status.MPI_SOURCE == left && status.MPI_TAG == 32);
  WRONG(MPI_ERR_TYPE, N(MPI_Isendrecv)(&out, 1, MPI_INT, right, 32, &in, 1,
                                       MPI_DATATYPE_NULL, left, 32, WORLD, &request));

  RIGHT(
      N(MPI_Isendrecv_replace)(&out, 1, MPI_INT, right, 33, left, 33, WORLD, &request));
  CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
  CHECK(out == 100 * left && status.MPI_SOURCE == left && status.MPI_TAG == 33);
  WRONG(MPI_ERR_COUNT, N(MPI_Isendrecv_replace)(&out, -1, MPI_INT, right, 33, left, 33,
                                                WORLD, &request));
}

static void counts(void) {
  int three[3] = {1, 2, 3}, got[8];
  count_t n = -1;
  MPI_Datatype pair;
  MPI_Request sent;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  MPI_Isend(three, 3, MPI_INT, right, 40, WORLD, &sent);
  CHECK(MPI_Recv(got, 8, MPI_INT, left, 40, WORLD, &status) == MPI_SUCCESS);
  MPI_Wait(&sent, MPI_STATUS_IGNORE);
  RIGHT(N(MPI_Get_count)(&status, MPI_INT, &n));
  CHECK(n == 3 && got[2] == 3);
  RIGHT(N(MPI_Get_count)(&status, pair, &n));
  CHECK(n == MPI_UNDEFINED);
  WRONG(MPI_ERR_TYPE, N(MPI_Get_count)(&status, MPI_DATATYPE_NULL, &n));
  WRONG(MPI_ERR_ARG, N(MPI_Get_count)(&status, MPI_INT, NULL));
  MPI_Type_free(&pair);
}

int main(int argc, char** argv) {
  static char buffer[4096 + 8 * MPI_BSEND_OVERHEAD];
  void* detached;
  int length;
  every_begin(&argc, &argv);
  left = (every_rank + every_size - 1) % every_size;
  right = (every_rank + 1) % every_size;
  buffered_without_buffer();
  MPI_Buffer_attach(buffer, sizeof buffer);
  sends();
  wrong_sends();
  receives();
  exchanges();
  counts();
  MPI_Buffer_detach(&detached, &length);
  return every_end();
}
