/* Partitioned communication: partitions that differ at sender and receiver, in number and in type;
 * any order of being ready; matching in the order of the calls of init; wrong use. */
#include <string.h>

#include "check.h"

enum { kRounds = 4, kLarge = 30000 };

static int rank, size, left, right;

/* The standard gives them a count of MPI_Count, and no second form; header files of the ABI that say `int` also have `_c`. */
typedef int InitSend(const void*, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm,
                     MPI_Info, MPI_Request*);
typedef int InitReceive(void*, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm,
                        MPI_Info, MPI_Request*);
static InitSend* const kInitSend[] = {MPI_Psend_init, PMPI_Psend_init,
                                      MPI_Psend_init_c};
static InitReceive* const kInitReceive[] = {MPI_Precv_init, PMPI_Precv_init,
                                            MPI_Precv_init_c};

static int class_of(int code) {
  int class = MPI_SUCCESS;
  MPI_Error_class(code, &class);
  return class;
}
#define FAILS(call, class) CHECK(class_of(call) == (class))

static int value_of(int from, int round, int i) {
  return from * 1000003 + round * 1009 + i;
}

static MPI_Request send_to(int to, int* out, int partitions, int count, int tag) {
  MPI_Request request;
  MPI_Psend_init(out, partitions, count, MPI_INT, to, tag, MPI_COMM_WORLD,
                 MPI_INFO_NULL, &request);
  return request;
}

static MPI_Request receive_from(int from, int* in, int partitions, int count, int tag) {
  MPI_Request request;
  MPI_Precv_init(in, partitions, count, MPI_INT, from, tag, MPI_COMM_WORLD,
                 MPI_INFO_NULL, &request);
  return request;
}

/* All partitions, in an order that jumps. */
static void all_ready(MPI_Request request, int partitions, int round) {
  for (int i = 0; i < partitions; ++i) {
    const int p = (i * 7 + round) % partitions;
    if (partitions % 7 == 0)
      MPI_Pready((i + round) % partitions, request);
    else
      MPI_Pready(p, request);
  }
}

static void check_received(const MPI_Status* status, int n, int tag) {
  int count = -1;
  MPI_Get_count(status, MPI_INT, &count);
  CHECK(count == n && status->MPI_SOURCE == left && status->MPI_TAG == tag);
}

/* To the right, from the left, `n` ints in partitions that differ. */
static void differing(int n, int sent, int received, int receive_first) {
  int *out = malloc(sizeof(int) * n), *in = malloc(sizeof(int) * n);
  MPI_Request requests[2];
  MPI_Status statuses[2];
  if (receive_first) requests[1] = receive_from(left, in, received, n / received, 5);
  requests[0] = send_to(right, out, sent, n / sent, 5);
  if (!receive_first) requests[1] = receive_from(left, in, received, n / received, 5);
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < n; ++i) out[i] = value_of(rank, round, i), in[i] = -1;
    MPI_Startall(2, requests);
    all_ready(requests[0], sent, round);
    MPI_Waitall(2, requests, statuses);
    check_received(&statuses[1], n, 5);
    int wrong = 0;
    for (int i = 0; i < n; ++i) wrong += in[i] != value_of(left, round, i);
    CHECK(wrong == 0);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  free(out);
  free(in);
}

/* Into every other int of the buffer, in elements that the sender's partitions cut through. */
static void types(int sent) {
  int out[60], in[120];
  MPI_Datatype pairs;
  MPI_Request requests[2];
  MPI_Type_vector(3, 1, 2, MPI_INT, &pairs);
  MPI_Datatype sparse;
  MPI_Type_create_resized(pairs, 0, 6 * sizeof(int), &sparse);
  MPI_Type_commit(&sparse);
  MPI_Psend_init(out, sent, 60 / sent, MPI_INT, right, 6, MPI_COMM_WORLD, MPI_INFO_NULL,
                 &requests[0]);
  MPI_Precv_init(in, 10, 2, sparse, left, 6, MPI_COMM_WORLD, MPI_INFO_NULL,
                 &requests[1]);
  MPI_Type_free(&sparse);
  MPI_Type_free(&pairs);
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < 60; ++i) out[i] = value_of(rank, round, i);
    for (int i = 0; i < 120; ++i) in[i] = -1;
    MPI_Startall(2, requests);
    MPI_Pready_range(0, sent - 1, requests[0]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    int wrong = 0;
    for (int i = 0; i < 120; ++i)
      wrong += in[i] != (i % 2 == 0 ? value_of(left, round, i / 2) : -1);
    CHECK(wrong == 0);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

/* A partition arrives while the others are not ready: each is asked for before the next one goes. */
static void at_once(int count) {
  enum { kPartitions = 6 };
  int* out = malloc(sizeof(int) * kPartitions * count);
  int* in = malloc(sizeof(int) * kPartitions * count);
  MPI_Request requests[2] = {send_to(right, out, kPartitions, count, 1),
                             receive_from(left, in, kPartitions / 2, 2 * count, 1)};
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < kPartitions * count; ++i) out[i] = value_of(rank, round, i);
    MPI_Startall(2, requests);
    for (int p = kPartitions - 2; p >= 0; p -= 2) {
      int flag = 1, mine = 0, theirs = 0;
      MPI_Parrived(requests[1], p / 2, &flag);
      CHECK(!flag);
      MPI_Sendrecv(&mine, 1, MPI_INT, left, 2, &theirs, 1, MPI_INT, right, 2,
                   MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Pready_list(2, (int[]){p + 1, p}, requests[0]);
      for (flag = 0; !flag;) MPI_Parrived(requests[1], p / 2, &flag);
      CHECK(in[p * count] == value_of(left, round, p * count));
      CHECK(in[(p + 2) * count - 1] == value_of(left, round, (p + 2) * count - 1));
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  free(out);
  free(in);
}

/* Several with the same tag meet in the order of init, whatever is started first; and none of them
 * meets a message of MPI_Send, nor a receive with wildcards. */
static void matching(void) {
  enum { kPairs = 5 };
  int out[kPairs][4], in[kPairs][4], plain = rank, got = -1;
  MPI_Request requests[2 * kPairs], other;
  MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &other);
  for (int k = 0; k < kPairs; ++k) {
    requests[k] = send_to(right, out[k], k % 2 ? 4 : 1, k % 2 ? 1 : 4, 3);
    requests[kPairs + k] = receive_from(left, in[k], 2, 2, 3);
    for (int i = 0; i < 4; ++i) out[k][i] = value_of(rank, k, i), in[k][i] = -1;
  }
  for (int k = kPairs - 1; k >= 0; --k) {
    MPI_Startall(1, &requests[k]);
    MPI_Pready_range(0, k % 2 ? 3 : 0, requests[k]);
  }
  int flag = 1;
  MPI_Test(&other, &flag, MPI_STATUS_IGNORE);
  CHECK(!flag);
  MPI_Startall(kPairs, requests + kPairs);
  for (int done = 0; done < 2 * kPairs; ++done) {
    int index = -1;
    MPI_Waitany(2 * kPairs, requests, &index, MPI_STATUS_IGNORE);
    CHECK(index >= 0 && index < 2 * kPairs);
  }
  for (int k = 0; k < kPairs; ++k) {
    for (int i = 0; i < 4; ++i) CHECK(in[k][i] == value_of(left, k, i));
    MPI_Request_free(&requests[k]);
    MPI_Request_free(&requests[kPairs + k]);
  }
  MPI_Barrier(MPI_COMM_WORLD); /* everybody has looked at `other` */
  MPI_Send(&plain, 1, MPI_INT, right, 3, MPI_COMM_WORLD);
  MPI_Wait(&other, MPI_STATUS_IGNORE);
  CHECK(got == left);
}

/* Nobody, nothing, and what is freed without a partner. */
static void edges(void) {
  int data[2] = {0, 0}, flag = 0;
  MPI_Request request;
  MPI_Status status;
  request = send_to(MPI_PROC_NULL, data, 2, 1, 0);
  MPI_Start(&request);
  CHECK(MPI_Pready_range(0, 1, request) == MPI_SUCCESS);
  MPI_Wait(&request, &status);
  MPI_Request_free(&request);
  request = receive_from(MPI_PROC_NULL, data, 2, 1, 0);
  MPI_Start(&request);
  CHECK(MPI_Parrived(request, 1, &flag) == MPI_SUCCESS && flag);
  MPI_Wait(&request, &status);
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL);
  MPI_Request_free(&request);
  differing(12, 12, 1, 1);
  MPI_Request empty[2] = {send_to(right, data, 3, 0, 8),
                          receive_from(left, data, 2, 0, 8)};
  MPI_Startall(2, empty);
  MPI_Pready_range(0, 2, empty[0]);
  MPI_Waitall(2, empty, MPI_STATUSES_IGNORE);
  CHECK(MPI_Parrived(empty[1], 1, &flag) == MPI_SUCCESS && flag);
  MPI_Request_free(&empty[0]);
  MPI_Request_free(&empty[1]);
  request = receive_from(left, data, 1, 1, 4321);
  MPI_Request_free(&request);
  CHECK(request == MPI_REQUEST_NULL);
}

/* Two groups. */
static void intercomm(void) {
  if (size < 2) return;
  MPI_Comm half, inter;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 9, &inter);
  int me, theirs, out[6], in[6];
  MPI_Comm_rank(inter, &me);
  MPI_Comm_remote_size(inter, &theirs);
  if (me < theirs) {
    MPI_Request requests[2];
    MPI_Psend_init(out, 3, 2, MPI_INT, me, 0, inter, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(in, 2, 3, MPI_INT, me, 0, inter, MPI_INFO_NULL, &requests[1]);
    for (int i = 0; i < 6; ++i) out[i] = rank + i;
    MPI_Startall(2, requests);
    MPI_Pready_range(0, 2, requests[0]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 6; ++i) CHECK(in[i] == (rank ^ 1) + i);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
  }
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

static void wrong_sizes(int sent_bytes_more) {
  int out[12] = {0}, in[12];
  MPI_Request requests[2] = {send_to(right, out, 2, sent_bytes_more ? 6 : 3, 10),
                             receive_from(left, in, 3, sent_bytes_more ? 3 : 4, 10)};
  MPI_Startall(2, requests);
  MPI_Pready_range(0, 1, requests[0]);
  FAILS(MPI_Wait(&requests[1], MPI_STATUS_IGNORE),
        sent_bytes_more ? MPI_ERR_TRUNCATE : MPI_ERR_COUNT);
  CHECK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE) == MPI_SUCCESS);
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

static void wrong_arguments(void) {
  int data[4] = {0};
  MPI_Request r = MPI_REQUEST_NULL;
  const MPI_Comm world = MPI_COMM_WORLD;
  FAILS(MPI_Psend_init(data, -1, 1, MPI_INT, 0, 0, world, MPI_INFO_NULL, &r),
        MPI_ERR_COUNT);
  FAILS(MPI_Psend_init(data, 1, -1, MPI_INT, 0, 0, world, MPI_INFO_NULL, &r),
        MPI_ERR_COUNT);
  FAILS(MPI_Psend_init(data, 1, 1, MPI_DATATYPE_NULL, 0, 0, world, MPI_INFO_NULL, &r),
        MPI_ERR_TYPE);
  FAILS(MPI_Psend_init(data, 1, 1, MPI_INT, size, 0, world, MPI_INFO_NULL, &r),
        MPI_ERR_RANK);
  FAILS(MPI_Psend_init(data, 1, 1, MPI_INT, 0, -5, world, MPI_INFO_NULL, &r),
        MPI_ERR_TAG);
  FAILS(MPI_Psend_init(data, 1, 1, MPI_INT, 0, 0, MPI_COMM_NULL, MPI_INFO_NULL, &r),
        MPI_ERR_COMM);
  FAILS(MPI_Psend_init(NULL, 1, 1, MPI_INT, 0, 0, world, MPI_INFO_NULL, &r),
        MPI_ERR_BUFFER);
  FAILS(MPI_Psend_init(data, 1, 1, MPI_INT, 0, 0, world, MPI_INFO_NULL, NULL),
        MPI_ERR_ARG);
  for (int i = 0; i < 3; ++i) {
    const MPI_Count many = (MPI_Count)1 << 60;
    FAILS(kInitSend[i](data, 1000, many, MPI_INT, 0, 0, world, MPI_INFO_NULL, &r),
          MPI_ERR_COUNT);
    FAILS(kInitReceive[i](data, 1000, many, MPI_INT, 0, 0, world, MPI_INFO_NULL, &r),
          MPI_ERR_COUNT);
  }
  FAILS(
      MPI_Precv_init(data, 1, 1, MPI_INT, MPI_ANY_SOURCE, 0, world, MPI_INFO_NULL, &r),
      MPI_ERR_RANK);
  FAILS(MPI_Precv_init(data, 1, 1, MPI_INT, 0, MPI_ANY_TAG, world, MPI_INFO_NULL, &r),
        MPI_ERR_TAG);
  FAILS(MPI_Precv_init(data, -1, 1, MPI_INT, 0, 0, world, MPI_INFO_NULL, &r),
        MPI_ERR_COUNT);
  FAILS(MPI_Precv_init_c(data, 1, -1, MPI_INT, 0, 0, world, MPI_INFO_NULL, &r),
        MPI_ERR_COUNT);
  CHECK(r == MPI_REQUEST_NULL);
}

static void wrong_requests(void) {
  int out[4] = {0}, in[4], flag;
  MPI_Request plain, s = send_to(right, out, 4, 1, 11),
                     r = receive_from(left, in, 4, 1, 11);
  FAILS(MPI_Pready(0, MPI_REQUEST_NULL), MPI_ERR_REQUEST);
  FAILS(MPI_Parrived(MPI_REQUEST_NULL, 0, &flag), MPI_ERR_REQUEST);
  FAILS(MPI_Pready(0, s), MPI_ERR_REQUEST); /* not started */
  CHECK(MPI_Parrived(r, 0, &flag) == MPI_SUCCESS && flag);
  MPI_Start(&s);
  MPI_Start(&r);
  FAILS(MPI_Start(&s), MPI_ERR_REQUEST);
  FAILS(MPI_Pready(4, s), MPI_ERR_ARG);
  FAILS(MPI_Pready(-1, s), MPI_ERR_ARG);
  FAILS(MPI_Pready_range(1, 4, s), MPI_ERR_ARG);
  FAILS(MPI_Pready_range(2, 1, s), MPI_ERR_ARG);
  FAILS(MPI_Pready_list(2, (int[]){1, 9}, s), MPI_ERR_ARG);
  FAILS(MPI_Pready_list(-1, (int[]){1, 9}, s), MPI_ERR_COUNT);
  FAILS(MPI_Pready(0, r), MPI_ERR_REQUEST);
  FAILS(MPI_Parrived(s, 0, &flag), MPI_ERR_REQUEST);
  FAILS(MPI_Parrived(r, 4, &flag), MPI_ERR_ARG);
  FAILS(MPI_Parrived(r, 0, NULL), MPI_ERR_ARG);
  FAILS(MPI_Cancel(&s), MPI_ERR_REQUEST);
  CHECK(MPI_Pready(1, s) == MPI_SUCCESS);
  FAILS(MPI_Pready(1, s), MPI_ERR_ARG); /* twice */
  MPI_Pready(0, s);
  MPI_Pready_range(2, 3, s);
  MPI_Wait(&s, MPI_STATUS_IGNORE);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  FAILS(MPI_Pready(0, s), MPI_ERR_REQUEST);
  MPI_Request_free(&s);
  MPI_Request_free(&r);
  MPI_Send_init(out, 1, MPI_INT, right, 0, MPI_COMM_WORLD, &plain);
  FAILS(MPI_Pready(0, plain), MPI_ERR_REQUEST);
  FAILS(MPI_Parrived(plain, 0, &flag), MPI_ERR_REQUEST);
  MPI_Request_free(&plain);
}

/* Waits for ever: partitions that nobody marks, and a receive without a sender. */
static void deadlock(void) {
  int data[4] = {0};
  MPI_Request request =
      rank == 0 ? receive_from(1, data, 2, 2, 3) : send_to(0, data, 4, 1, 4);
  MPI_Start(&request);
  if (rank == 1) MPI_Pready(2, request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  left = (rank + size - 1) % size;
  right = (rank + 1) % size;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (argc > 1) deadlock();
  static const int partitions[][2] = {{1, 1},  {4, 4},  {16, 1}, {1, 16},
                                      {6, 10}, {10, 6}, {240, 7}};
  for (int k = 0; k < 7; ++k) {
    const int n = 240 * 7;
    differing(n, partitions[k][0], partitions[k][1], k % 2);
    differing(n * 30, partitions[k][0], partitions[k][1], rank % 2);
  }
  static const int cut[] = {1, 4, 20, 12, 60};
  for (int k = 0; k < 5; ++k) types(cut[k]);
  at_once(3);
  at_once(kLarge);
  matching();
  edges();
  intercomm();
  wrong_sizes(1);
  wrong_sizes(0);
  wrong_arguments();
  wrong_requests();
  return finish();
}
