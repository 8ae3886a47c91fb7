/* Every function that looks at messages before they are received. */
#include "every.h"

#define WORLD MPI_COMM_WORLD

static int left, out, in;
static MPI_Request sent;
static MPI_Status status;

static void send_to_right(int tag) {
  out = 100 * every_rank + tag;
  in = -1;
  MPI_Isend(&out, 1, MPI_INT, (every_rank + 1) % every_size, tag, WORLD, &sent);
}

/* The status of a message of send_to_right. */
static void check_status(int tag) {
  int n;
  MPI_Get_count(&status, MPI_INT, &n);
  CHECK(n == 1 && status.MPI_SOURCE == left && status.MPI_TAG == tag);
}

static void looks(void) {
  int flag = 0;
  send_to_right(1);
  RIGHT(MPI_Probe(left, 1, WORLD, &status));
  check_status(1);
  RIGHT(MPI_Iprobe(MPI_ANY_SOURCE, 1, WORLD, &flag, &status));
  CHECK(flag);
  check_status(1);
  RIGHT(MPI_Iprobe(left, 2, WORLD, &flag, &status));
  CHECK(!flag);
  CHECK(MPI_Recv(&in, 1, MPI_INT, left, 1, WORLD, &status) == MPI_SUCCESS);
  CHECK(in == 100 * left + 1);
  MPI_Wait(&sent, MPI_STATUS_IGNORE);
  WRONG(MPI_ERR_RANK, MPI_Probe(every_size, 1, WORLD, &status));
  WRONG(MPI_ERR_TAG, MPI_Iprobe(left, -5, WORLD, &flag, &status));
  WRONG(MPI_ERR_ARG, MPI_Iprobe(left, 1, WORLD, NULL, &status));
}

static void takes(void) {
  int flag = 0;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  send_to_right(3);
  RIGHT(MPI_Mprobe(left, 3, WORLD, &message, &status));
  CHECK(message != MPI_MESSAGE_NULL);
  check_status(3);
  RIGHT(N(MPI_Mrecv)(&in, 1, MPI_INT, &message, &status));
  CHECK(message == MPI_MESSAGE_NULL && in == 100 * left + 3);
  check_status(3);
  MPI_Wait(&sent, MPI_STATUS_IGNORE);

  RIGHT(MPI_Improbe(left, 99, WORLD, &flag, &message, &status));
  CHECK(!flag);
  send_to_right(4);
  for (flag = 0; !flag;) RIGHT(MPI_Improbe(left, 4, WORLD, &flag, &message, &status));
  CHECK(message != MPI_MESSAGE_NULL);
  check_status(4);
  RIGHT(N(MPI_Imrecv)(&in, 1, MPI_INT, &message, &request));
  CHECK(message == MPI_MESSAGE_NULL);
  CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
  CHECK(in == 100 * left + 4);
  check_status(4);
  MPI_Wait(&sent, MPI_STATUS_IGNORE);

  RIGHT(MPI_Mprobe(MPI_PROC_NULL, 4, WORLD, &message, &status));
  CHECK(message == MPI_MESSAGE_NO_PROC && status.MPI_SOURCE == MPI_PROC_NULL);
  RIGHT(N(MPI_Mrecv)(&in, 1, MPI_INT, &message, &status));
  CHECK(message == MPI_MESSAGE_NULL && status.MPI_SOURCE == MPI_PROC_NULL);

  WRONG(MPI_ERR_COMM, MPI_Mprobe(left, 4, MPI_COMM_NULL, &message, &status));
  WRONG(MPI_ERR_RANK, MPI_Improbe(-77, 4, WORLD, &flag, &message, &status));
  WRONG(MPI_ERR_REQUEST, N(MPI_Mrecv)(&in, 1, MPI_INT, &message, &status));
  WRONG(MPI_ERR_REQUEST, N(MPI_Imrecv)(&in, 1, MPI_INT, &message, &request));
}

int main(int argc, char** argv) {
  every_begin(&argc, &argv);
  left = (every_rank + every_size - 1) % every_size;
  looks();
  takes();
  return every_end();
}
