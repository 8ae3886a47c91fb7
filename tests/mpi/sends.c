/* Sends that are cancelled, buffered, or combined with a receive. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

static int rank, size, to, from;
static const int counts[] = {1, 60, 1000,
                             100000}; /* cell, cells, block, by reference */
static int out[100000], in[100000], third[100000];

static int is_cancelled(MPI_Request* request) {
  MPI_Status status;
  int flag = -1;
  CHECK(MPI_Cancel(request) == MPI_SUCCESS);
  CHECK(MPI_Wait(request, &status) == MPI_SUCCESS);
  MPI_Test_cancelled(&status, &flag);
  return flag;
}

/* Nobody receives: every kind of send can be taken back, and nothing of it arrives. */
static void cancel_all_kinds(void) {
  MPI_Request request;
  int flag;
  for (int i = 0; i < 4; ++i) {
    const int n = counts[i], bytes = n * (int)sizeof(int) + MPI_BSEND_OVERHEAD;
    void* buffer = malloc(bytes);
    MPI_Isend(out, n, MPI_INT, to, 5, MPI_COMM_WORLD, &request);
    CHECK(is_cancelled(&request));
    MPI_Issend(out, n, MPI_INT, to, 5, MPI_COMM_WORLD, &request);
    CHECK(is_cancelled(&request));
    MPI_Buffer_attach(buffer, bytes);
    MPI_Ibsend(out, n, MPI_INT, to, 5, MPI_COMM_WORLD, &request);
    CHECK(is_cancelled(&request));
    MPI_Bsend_init(out, n, MPI_INT, to, 5, MPI_COMM_WORLD, &request);
    for (int k = 0; k < 2; ++k) { /* the first one's room is free again */
      CHECK(MPI_Start(&request) == MPI_SUCCESS);
      CHECK(is_cancelled(&request));
    }
    MPI_Request_free(&request);
    void* detached;
    int detached_bytes;
    MPI_Buffer_detach(&detached, &detached_bytes);
    CHECK(detached == buffer && detached_bytes == bytes);
    free(buffer);
    MPI_Send_init(out, n, MPI_INT, to, 5, MPI_COMM_WORLD, &request);
    MPI_Start(&request);
    CHECK(is_cancelled(&request));
    MPI_Request_free(&request);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  CHECK(!flag);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* What has been received cannot be cancelled. */
static void cancel_too_late(void) {
  MPI_Request request;
  MPI_Isend(out, 1, MPI_INT, to, 6, MPI_COMM_WORLD, &request);
  MPI_Recv(in, 1, MPI_INT, from, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(!is_cancelled(&request));
}

/* The start of a buffered send copies: the user's buffer is free, nobody need receive. */
static void persistent_bsend(void) {
  const int n = 100000, bytes = 2 * (n * (int)sizeof(int) + MPI_BSEND_OVERHEAD);
  void* buffer = malloc(bytes);
  MPI_Request request, flush[2];
  MPI_Buffer_attach(buffer, bytes);
  MPI_Bsend_init(out, n, MPI_INT, to, 7, MPI_COMM_WORLD, &request);
  for (int k = 0; k < 2; ++k) {
    for (int i = 0; i < n; ++i) out[i] = rank + k + i;
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  memset(out, 0, sizeof out);
  MPI_Buffer_iflush(&flush[0]);
  MPI_Buffer_iflush(&flush[1]);
  int flag = -1, index = -1;
  MPI_Test(&flush[0], &flag, MPI_STATUS_IGNORE);
  if (to == rank) CHECK(!flag);
  for (int k = 0; k < 2; ++k) {
    MPI_Recv(in, n, MPI_INT, from, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(in[0] == from + k && in[n - 1] == from + k + n - 1);
  }
  MPI_Waitany(2, flush, &index, MPI_STATUS_IGNORE);
  CHECK(index == 0 || index == 1);
  MPI_Waitall(2, flush, MPI_STATUSES_IGNORE);
  CHECK(flush[0] == MPI_REQUEST_NULL && flush[1] == MPI_REQUEST_NULL);
  MPI_Buffer_iflush(&flush[0]);
  MPI_Test(&flush[0], &flag, MPI_STATUS_IGNORE);
  CHECK(flag);
  MPI_Request_free(&request);
  MPI_Buffer_detach(&buffer, &index);
  free(buffer);
}

static void send_and_receive(void) {
  MPI_Request requests[2];
  MPI_Status status;
  int count;
  for (int i = 0; i < 4; ++i) {
    const int n = counts[i];
    for (int k = 0; k < n; ++k) out[k] = rank + k;
    MPI_Isendrecv(out, n, MPI_INT, to, 8, in, n, MPI_INT, from, 8, MPI_COMM_WORLD,
                  requests);
    MPI_Wait(requests, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == n && status.MPI_SOURCE == from && status.MPI_TAG == 8);
    CHECK(in[0] == from && in[n - 1] == from + n - 1);
    MPI_Isendrecv_replace(out, n, MPI_INT, to, 9, from, 9, MPI_COMM_WORLD,
                          &requests[0]);
    MPI_Isendrecv_c(in, n, MPI_INT, to, 10, in + n / 2, 0, MPI_INT, MPI_PROC_NULL, 10,
                    MPI_COMM_WORLD, &requests[1]);
    int index;
    MPI_Waitany(2, requests, &index,
                &status); /* a long second one is not received yet */
    if (index == 0) {
      CHECK(out[0] == from && out[n - 1] == from + n - 1);
    } else {
      CHECK(status.MPI_SOURCE == MPI_PROC_NULL);
    }
    MPI_Isendrecv(NULL, 0, MPI_INT, MPI_PROC_NULL, 10, third, n, MPI_INT, from, 10,
                  MPI_COMM_WORLD, &requests[index]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(out[0] == from && out[n - 1] == from + n - 1);
    /* What our neighbour had got from its own. */
    CHECK(third[0] == (from + size - 1) % size);
  }
  MPI_Isendrecv(out, 1, MPI_INT, MPI_PROC_NULL, 0, in, 1, MPI_INT, MPI_PROC_NULL, 0,
                MPI_COMM_WORLD, requests);
  MPI_Wait(requests, &status);
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  to = (rank + 1) % size;
  from = (rank + size - 1) % size;
  cancel_all_kinds();
  cancel_too_late();
  persistent_bsend();
  MPI_Barrier(MPI_COMM_WORLD);
  send_and_receive();
  return finish();
}
