/* Small non-blocking collectives, many under way at once, on several communicators, completed by all kinds of calls in
 * any order; between ranks with a core each they go without messages. */
#include <pthread.h>
#include <string.h>

#include "check.h"

enum { kCalls = 300, kKinds = 10 };

static int rank, size;

struct call {
  int in[64], out[64], expected[64];
};
static struct call calls[kCalls];
static MPI_Request requests[kCalls];

static int value(int number, int from, int block) {
  return number * 1009 + from * 31 + block;
}

/* The `number`-th collective: what it gives and what it must become. */
static void start(MPI_Comm comm, int number, struct call* c, MPI_Request* request) {
  const int root = number % size;
  memset(c, 0, sizeof *c);
  for (int b = 0; b < size; ++b) c->in[b] = value(number, rank, b);
  int sum = 0, before = 0;
  for (int r = 0; r < size; ++r) {
    sum += value(number, r, 0);
    if (r < rank) before += value(number, r, 0);
  }
  switch (number % kKinds) {
    case 0:
      MPI_Ibarrier(comm, request);
      break;
    case 1:
      if (rank == root) c->out[0] = c->in[0];
      c->expected[0] = value(number, root, 0);
      MPI_Ibcast(c->out, 1, MPI_INT, root, comm, request);
      break;
    case 2:
      c->expected[0] = sum;
      MPI_Iallreduce(c->in, c->out, 1, MPI_INT, MPI_SUM, comm, request);
      break;
    case 3:
      c->expected[0] = rank == root ? sum : 0;
      MPI_Ireduce(c->in, c->out, 1, MPI_INT, MPI_SUM, root, comm, request);
      break;
    case 4:
      c->expected[0] = before + c->in[0];
      c->out[0] = c->in[0];
      MPI_Iscan(MPI_IN_PLACE, c->out, 1, MPI_INT, MPI_SUM, comm, request);
      break;
    case 5:
      c->expected[0] = before;
      MPI_Iexscan(c->in, c->out, 1, MPI_INT, MPI_SUM, comm, request);
      break;
    case 6:
      for (int r = 0; r < size; ++r) c->expected[r] = value(number, r, 0);
      c->out[rank] = c->in[0];
      MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, c->out, 1, MPI_INT, comm,
                     request);
      break;
    case 7:
      for (int r = 0; r < size; ++r) c->expected[r] = value(number, r, rank);
      MPI_Ialltoall(c->in, 1, MPI_INT, c->out, 1, MPI_INT, comm, request);
      break;
    case 8:
      if (rank == root)
        for (int r = 0; r < size; ++r) c->expected[r] = value(number, r, 0);
      MPI_Igather(c->in, 1, MPI_INT, c->out, 1, MPI_INT, root, comm, request);
      break;
    default:
      c->expected[0] = value(number, root, rank);
      MPI_Iscatter(c->in, 1, MPI_INT, c->out, 1, MPI_INT, root, comm, request);
  }
}

static void check(int number) {
  CHECK(requests[number] == MPI_REQUEST_NULL);
  CHECK(memcmp(calls[number].out, calls[number].expected, sizeof calls[number].out) ==
        0);
}

static void start_all(MPI_Comm a, MPI_Comm b) {
  for (int n = 0; n < kCalls; ++n)
    start(n % 3 == 0 ? b : a, n, &calls[n], &requests[n]);
}

static void check_all(void) {
  for (int n = 0; n < kCalls; ++n) check(n);
}

static void in_any_order(MPI_Comm a, MPI_Comm b) {
  start_all(a, b);
  MPI_Waitall(kCalls, requests, MPI_STATUSES_IGNORE);
  check_all();

  start_all(a, b); /* from the last one to the first; half of them by tests */
  for (int n = kCalls - 1; n >= 0; --n) {
    int flag = n % 2;
    if (n % 2 == 0)
      while (!flag) MPI_Test(&requests[n], &flag, MPI_STATUS_IGNORE);
    else
      MPI_Wait(&requests[n], MPI_STATUS_IGNORE);
    check(n);
  }

  start_all(a, b);
  for (int left = kCalls, index; left > 0; --left) {
    MPI_Waitany(kCalls, requests, &index, MPI_STATUS_IGNORE);
    CHECK(index != MPI_UNDEFINED);
    check(index);
  }

  start_all(a, b);
  for (int left = kCalls; left > 0;) {
    int count, indices[kCalls], flag;
    MPI_Request_get_status(requests[kCalls - 1], &flag, MPI_STATUS_IGNORE);
    MPI_Waitsome(kCalls, requests, &count, indices, MPI_STATUSES_IGNORE);
    left -= count;
  }
  check_all();
}

/* One that waits for a message has not begun what others wait for; they do not need it before that. */
static void among_messages(MPI_Comm comm) {
  int token = 0;
  if (rank == 0) {
    start_all(comm, comm);
    for (int r = 1; r < size; ++r) MPI_Send(&token, 1, MPI_INT, r, 0, comm);
  } else {
    MPI_Recv(&token, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE);
    start_all(comm, comm);
  }
  MPI_Waitall(kCalls, requests, MPI_STATUSES_IGNORE);
  check_all();
  /* Rank 0 has completed its own part before the others look at theirs. */
  if (rank == 0) {
    start_all(comm, comm);
    MPI_Waitall(kCalls, requests, MPI_STATUSES_IGNORE);
    for (int r = 1; r < size; ++r) MPI_Send(&token, 1, MPI_INT, r, 0, comm);
  } else {
    start_all(comm, comm);
    MPI_Recv(&token, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE);
    MPI_Waitall(kCalls, requests, MPI_STATUSES_IGNORE);
  }
  check_all();
}

/* A free of the communicator does not end what is under way; a type is needed until then. */
static void after_frees(void) {
  MPI_Comm comm;
  MPI_Datatype type;
  MPI_Request request;
  int data[4] = {-1, -1, -1, -1};
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Type_vector(2, 1, 2, MPI_INT, &type);
  MPI_Type_commit(&type);
  if (rank == 0) data[0] = 5, data[2] = 6;
  MPI_Ibcast(data, 1, type, 0, comm, &request);
  MPI_Type_free(&type);
  MPI_Comm_free(&comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(data[0] == 5 && data[1] == -1 && data[2] == 6 && data[3] == -1);
}

static void errors(MPI_Comm comm) {
  MPI_Request request;
  int data = rank, all[64];
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Iallreduce(&data, all, 1, MPI_INT, MPI_SUM, comm, &request);
  CHECK(MPI_Cancel(&request) != MPI_SUCCESS);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(all[0] == size * (size - 1) / 2);
  MPI_Barrier(comm);
}

/* Two threads of each rank complete the other's collectives. */
static void* complete_odd(void* unused) {
  (void)unused;
  for (int n = 1; n < kCalls; n += 2) MPI_Wait(&requests[n], MPI_STATUS_IGNORE);
  return NULL;
}

static void by_two_threads(MPI_Comm comm) {
  pthread_t thread;
  start_all(comm, comm);
  CHECK(pthread_create(&thread, NULL, complete_odd, NULL) == 0);
  for (int n = 0; n < kCalls; n += 2) MPI_Wait(&requests[n], MPI_STATUS_IGNORE);
  pthread_join(thread, NULL);
  check_all();
}

int main(int argc, char** argv) {
  int provided;
  MPI_Comm other;
  MPI_Init_thread(&argc, &argv, argc > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                  &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  for (int round = 0; round < 3; ++round) {
    in_any_order(MPI_COMM_WORLD, other);
    among_messages(other);
    if (provided == MPI_THREAD_MULTIPLE) by_two_threads(other);
  }
  after_frees();
  errors(other);
  MPI_Comm_free(&other);
  return finish();
}
