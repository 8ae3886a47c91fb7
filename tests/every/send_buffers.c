/* Every function that gives buffered sends their room. */
#include "every.h"

enum { kSize = 1000 + 2 * MPI_BSEND_OVERHEAD };
static char room[kSize];

/* A message through the buffer: its sender goes on before there is a receive. */
static void through(MPI_Comm comm) {
  int rank, size, out, in = -1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  out = rank;
  CHECK(MPI_Bsend(&out, 1, MPI_INT, (rank + 1) % size, 0, comm) == MPI_SUCCESS);
  out = -2;
  MPI_Barrier(comm);
  MPI_Recv(&in, 1, MPI_INT, (rank + size - 1) % size, 0, comm, MPI_STATUS_IGNORE);
  CHECK(in == (rank + size - 1) % size);
}

static void finish(MPI_Request* request) {
  CHECK(MPI_Wait(request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

static void of_process(void) {
  void* address = NULL;
  count_t size = 0;
  MPI_Request request;
  RIGHT(N(MPI_Buffer_attach)(room, kSize));
  WRONG(MPI_ERR_BUFFER, N(MPI_Buffer_attach)(room, kSize));
  through(MPI_COMM_WORLD);
  RIGHT(MPI_Buffer_flush());
  NO_WRONG(MPI_Buffer_flush,
           "no arguments, and without a buffer there is nothing to do");
  RIGHT(MPI_Buffer_iflush(&request));
  finish(&request);
  WRONG(MPI_ERR_ARG, MPI_Buffer_iflush(NULL));
  WRONG(MPI_ERR_ARG, N(MPI_Buffer_detach)(&address, NULL));
  RIGHT(N(MPI_Buffer_detach)(&address, &size));
  CHECK(address == room && size == kSize);
  WRONG(MPI_ERR_COUNT, N(MPI_Buffer_attach)(room, -1));
  RIGHT(N(MPI_Buffer_attach)(MPI_BUFFER_AUTOMATIC, 0));
  through(MPI_COMM_WORLD);
  RIGHT(N(MPI_Buffer_detach)(&address, &size));
  CHECK(address == MPI_BUFFER_AUTOMATIC && size == 0);
}

static void of_communicator(void) {
  void* address = NULL;
  count_t size = 0;
  MPI_Comm comm;
  MPI_Request request;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  RIGHT(N(MPI_Comm_attach_buffer)(comm, room, kSize));
  WRONG(MPI_ERR_BUFFER, N(MPI_Comm_attach_buffer)(comm, room, kSize));
  through(comm);
  RIGHT(MPI_Comm_flush_buffer(comm));
  RIGHT(MPI_Comm_iflush_buffer(comm, &request));
  finish(&request);
  RIGHT(N(MPI_Comm_detach_buffer)(comm, &address, &size));
  CHECK(address == room && size == kSize);
  MPI_Comm_free(&comm);
  WRONG(MPI_ERR_COMM, N(MPI_Comm_attach_buffer)(comm, room, kSize));
  WRONG(MPI_ERR_COMM, MPI_Comm_flush_buffer(comm));
  WRONG(MPI_ERR_COMM, MPI_Comm_iflush_buffer(comm, &request));
  WRONG(MPI_ERR_COMM, N(MPI_Comm_detach_buffer)(comm, &address, &size));
}

static void of_session(void) {
  void* address = NULL;
  count_t size = 0;
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  MPI_Request request;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "buffers", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
  RIGHT(N(MPI_Session_attach_buffer)(session, room, kSize));
  WRONG(MPI_ERR_BUFFER, N(MPI_Session_attach_buffer)(session, room, kSize));
  through(comm);
  RIGHT(MPI_Session_flush_buffer(session));
  RIGHT(MPI_Session_iflush_buffer(session, &request));
  finish(&request);
  RIGHT(N(MPI_Session_detach_buffer)(session, &address, &size));
  CHECK(address == room && size == kSize);
  MPI_Comm_free(&comm);
  MPI_Group_free(&group);
  MPI_Session_finalize(&session);
  WRONG(MPI_ERR_SESSION, N(MPI_Session_attach_buffer)(MPI_SESSION_NULL, room, kSize));
  WRONG(MPI_ERR_SESSION, MPI_Session_flush_buffer(MPI_SESSION_NULL));
  WRONG(MPI_ERR_SESSION, MPI_Session_iflush_buffer(MPI_SESSION_NULL, &request));
  WRONG(MPI_ERR_SESSION,
        N(MPI_Session_detach_buffer)(MPI_SESSION_NULL, &address, &size));
}

int main(int argc, char** argv) {
  every_begin(&argc, &argv);
  of_process();
  of_communicator();
  of_session();
  return every_end();
}
