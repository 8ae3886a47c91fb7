/* A wait for any of several messages ends while others of them arrive: nobody may touch the
 * ended wait. Every rank has many receives posted, the others send at the same time. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { kReceives = 16, kRounds = 60, kCount = 300 };

static int rank, size;
static int in[kReceives][kCount], out[kCount];
static MPI_Request receives[kReceives];

/* What the ended wait had on the stack is something else now. */
static __attribute__((noinline)) int scribble(int value) {
  volatile char stack[2000];
  memset((char*)stack, value, sizeof stack);
  return stack[rank % 2000];
}

static void post(int i) {
  MPI_Irecv(in[i], kCount, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &receives[i]);
}

static void check(int i, const MPI_Status* status) {
  int count = -1;
  MPI_Get_count(status, MPI_INT, &count);
  CHECK(count > 0 && in[i][0] == status->MPI_SOURCE &&
        in[i][count - 1] == status->MPI_SOURCE);
}

/* Takes `missing` messages, by the call that `how` names. */
static void take(int missing, int how) {
  MPI_Status statuses[kReceives];
  int indices[kReceives], n;
  while (missing > 0) {
    if (how % 2 == 0) {
      n = 1;
      MPI_Waitany(kReceives, receives, &indices[0], &statuses[0]);
    } else {
      MPI_Waitsome(kReceives, receives, &n, indices, statuses);
    }
    CHECK(scribble(0) == 0);
    for (int k = 0; k < n; ++k) {
      check(indices[k], &statuses[k]);
      post(indices[k]);
    }
    missing -= n;
  }
  CHECK(missing == 0);
}

/* Request `how` of those that are complete from the start. */
static MPI_Request request_of_nobody(int how) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Message message;
  MPI_Status status;
  if (how == 0) MPI_Isend(out, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
  if (how == 1)
    MPI_Irecv(in[0], 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
  if (how == 2) {
    MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &message, &status);
    CHECK(message == MPI_MESSAGE_NO_PROC && status.MPI_SOURCE == MPI_PROC_NULL);
    MPI_Imrecv(in[0], 1, MPI_INT, &message, &request);
    CHECK(message == MPI_MESSAGE_NULL);
  }
  CHECK(request != MPI_REQUEST_NULL);
  return request;
}

/* They are active until they have been waited for. */
static void wait_for_nobody(int how) {
  MPI_Request request = request_of_nobody(how);
  MPI_Status status, copy;
  int index = -7, flag = 0, n = -7;
  CHECK(MPI_Request_get_status(request, &flag, &copy) == MPI_SUCCESS && flag);
  MPI_Waitany(1, &request, &index, &status);
  CHECK(index == 0 && request == MPI_REQUEST_NULL);
  if (how > 0) {
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && copy.MPI_SOURCE == MPI_PROC_NULL);
    CHECK(status.MPI_TAG == MPI_ANY_TAG);
  }
  request = request_of_nobody(how);
  MPI_Testsome(1, &request, &n, &index, &status);
  CHECK(n == 1 && index == 0 && request == MPI_REQUEST_NULL);
  request = request_of_nobody(how);
  MPI_Testany(1, &request, &index, &flag, &status);
  CHECK(flag && index == 0 && request == MPI_REQUEST_NULL);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Request* sends = malloc((size_t)size * sizeof *sends);
  for (int i = 0; i < kCount; ++i) out[i] = rank;
  for (int how = 0; how < 3; ++how) wait_for_nobody(how);
  for (int i = 0; i < kReceives; ++i) post(i);
  const int rounds = argc > 1 ? atoi(argv[1]) : kRounds;
  for (int round = 0; round < rounds; ++round) {
    MPI_Barrier(MPI_COMM_WORLD); /* no more messages under way than one round's */
    for (int to = 0; to < size; ++to) {
      const int count = (rank + to + round) % 3 == 0 ? kCount : 1 + (to + round) % 40;
      MPI_Isend(out, count, MPI_INT, to, 0, MPI_COMM_WORLD, &sends[to]);
    }
    take(size, round);
    MPI_Waitall(size, sends, MPI_STATUSES_IGNORE);
  }
  for (int i = 0; i < kReceives; ++i) {
    MPI_Cancel(&receives[i]);
    MPI_Wait(&receives[i], MPI_STATUS_IGNORE);
  }
  free(sends);
  return finish();
}
