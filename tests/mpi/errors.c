/* Error handlers, classes, codes, strings; wrong handles. */
#include <string.h>

#include "check.h"

static int calls, seen;
static MPI_Comm seen_comm;
static void handler(MPI_Comm* comm, int* code, ...) {
  ++calls;
  seen = *code;
  seen_comm = *comm;
}

/* A non-blocking broadcast in which the last rank has room for half of it: the error is its
   request's, and the others do not notice. */
static void truncated(int rank, int size) {
  int data[200] = {0}, class, len, code;
  char text[MPI_MAX_ERROR_STRING];
  MPI_Comm comm;
  MPI_Request request;
  const int is_short = size > 1 && rank == size - 1;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  CHECK(MPI_Ibcast(data, is_short ? 100 : 200, MPI_INT, 0, comm, &request) ==
        MPI_SUCCESS);
  code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Error_class(code, &class);
  CHECK(class == (is_short ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
  CHECK(request == MPI_REQUEST_NULL);
  if (is_short) {
    MPI_Error_string(code, text, &len);
    CHECK(strstr(text, "MPI_Ibcast") != NULL &&
          strstr(text, "counts or types differ") != NULL);
  }
  MPI_Comm_free(&comm);
}

/* How many ranks say that calls were not the same; others say nothing. */
static int complaints(int code) {
  int class, mine, all;
  MPI_Error_class(code, &class);
  CHECK(class == MPI_SUCCESS || class == MPI_ERR_NOT_SAME);
  mine = class == MPI_ERR_NOT_SAME;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

/* The root sends less than the others expect (who gets it from the root notices, and sends on what
   it has); calls that are not the same call. */
static void not_the_same(int rank, int size) {
  int data[200], sum[200], class, len, code;
  char text[MPI_MAX_ERROR_STRING];
  MPI_Comm comm;
  MPI_Request request;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  for (int i = 0; i < 200; ++i) data[i] = i;
  const int count = rank == 0 ? 10 : 100;
  code = MPI_Bcast(data, count, MPI_INT, 0, comm);
  CHECK((complaints(code) > 0) == (size > 1));
  if (code != MPI_SUCCESS) {
    CHECK(rank != 0);
    MPI_Error_string(code, text, &len);
    CHECK(strstr(text, "MPI_Bcast") != NULL && strstr(text, "shorter") != NULL);
    CHECK(strstr(text, "counts or types differ") != NULL);
  }
  MPI_Ibcast(data, count, MPI_INT, 0, comm, &request);
  CHECK((complaints(MPI_Wait(&request, MPI_STATUS_IGNORE)) > 0) == (size > 1));
  if (size > 1 && calls_are_compared()) {
    code = rank == size - 1 ? MPI_Allreduce(data, sum, 10, MPI_INT, MPI_SUM, comm)
                            : MPI_Allreduce(data, sum, 10, MPI_INT, MPI_MAX, comm);
    MPI_Error_class(code, &class);
    CHECK(class == MPI_ERR_NOT_SAME);
    MPI_Error_string(code, text, &len);
    CHECK(strstr(text, "MPI_SUM") != NULL && strstr(text, "MPI_MAX") != NULL);
    CHECK(strstr(text, "receive buffer") == NULL);
  }
  if (size > 1 && size <= 32 &&
      calls_are_compared()) { /* more meet elsewhere, and wait */
    MPI_Comm part = comm;
    code = rank == size - 1 ? MPI_Barrier(comm) : MPI_Comm_split(comm, 0, 0, &part);
    MPI_Error_class(code, &class);
    CHECK(class == MPI_ERR_NOT_SAME);
    CHECK(rank == size - 1 || part == MPI_COMM_NULL);
    MPI_Error_string(code, text, &len);
    CHECK(strstr(text, "MPI_Barrier") != NULL &&
          strstr(text, "MPI_Comm_split") != NULL);
  }
  MPI_Comm_free(&comm);
}

/* A null datatype stands for no data where there is none, as programs and other MPIs have it. */
static void nothing_of_no_type(int rank) {
  MPI_Comm comm;
  MPI_Request request;
  int value = rank, class;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  const MPI_Datatype none = MPI_DATATYPE_NULL;
  CHECK(MPI_Send(NULL, 0, none, MPI_PROC_NULL, 0, comm) == MPI_SUCCESS);
  CHECK(MPI_Recv(NULL, 0, none, MPI_PROC_NULL, 0, comm, MPI_STATUS_IGNORE) ==
        MPI_SUCCESS);
  CHECK(MPI_Sendrecv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, NULL, 0, none, MPI_PROC_NULL,
                     0, comm, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(MPI_Isend(NULL, 0, none, MPI_PROC_NULL, 0, comm, &request) == MPI_SUCCESS);
  CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(MPI_Bcast(NULL, 0, none, 0, comm) == MPI_SUCCESS);
  MPI_Error_class(MPI_Send(&value, 1, none, MPI_PROC_NULL, 0, comm), &class);
  CHECK(class == MPI_ERR_TYPE);
  MPI_Comm_free(&comm);
}

/* Long: checks in a row; each stands on what those before it have made. */
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, len, class, code, other;
  char text[MPI_MAX_ERROR_STRING];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  truncated(rank, size);
  not_the_same(rank, size);
  nothing_of_no_type(rank);

  MPI_Comm comm, copy;
  MPI_Errhandler mine, got;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_create_errhandler(handler, &mine);
  MPI_Comm_set_errhandler(comm, mine);
  MPI_Comm_get_errhandler(comm, &got);
  CHECK(got == mine);
  MPI_Errhandler_free(&got);
  MPI_Errhandler_free(&mine);
  CHECK(mine == MPI_ERRHANDLER_NULL);
  CHECK(MPI_Send(NULL, 0, MPI_INT, size, 0, comm) == MPI_ERR_RANK);
  CHECK(calls == 1 && seen == MPI_ERR_RANK && seen_comm == comm);
  MPI_Comm_dup(comm, &copy); /* inherits the handler */
  CHECK(MPI_Send(NULL, 0, MPI_INT, 0, -5, copy) == MPI_ERR_TAG);
  CHECK(calls == 2 && seen_comm == copy);
  CHECK(MPI_Comm_call_errhandler(copy, MPI_ERR_OTHER) == MPI_SUCCESS);
  CHECK(calls == 3 && seen == MPI_ERR_OTHER);
  MPI_Comm_free(&copy);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  CHECK(MPI_Send(NULL, -1, MPI_INT, 0, 0, comm) == MPI_ERR_COUNT);
  CHECK(MPI_Send(NULL, 1, MPI_DATATYPE_NULL, 0, 0, comm) == MPI_ERR_TYPE);
  CHECK(MPI_Bcast(NULL, 0, MPI_INT, size, comm) == MPI_ERR_ROOT);
  CHECK(calls == 3);

  /* Errors without a communicator, and handles of another kind. */
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Group group;
  MPI_Comm_group(comm, &group);
  int n;
  CHECK(MPI_Comm_size(MPI_COMM_NULL, &n) == MPI_ERR_COMM);
  CHECK(MPI_Comm_size((MPI_Comm)group, &n) == MPI_ERR_COMM);
  CHECK(MPI_Group_size((MPI_Group)comm, &n) == MPI_ERR_GROUP);
  CHECK(MPI_Comm_size((MPI_Comm)0, &n) == MPI_ERR_COMM);
  MPI_Error_string(MPI_ERR_COMM, text, &len);
  CHECK(strstr(text, "never set") != NULL);
  MPI_Group_free(&group);
  MPI_Comm_free(&comm);

  MPI_Add_error_class(&class);
  MPI_Add_error_code(class, &code);
  MPI_Add_error_string(code, "all is lost");
  MPI_Error_class(code, &other);
  CHECK(other == class && class > MPI_ERR_LASTCODE);
  MPI_Error_string(code, text, &len);
  CHECK(strcmp(text, "all is lost") == 0 && len == 11);
  MPI_Error_string(class, text, &len);
  CHECK(len == 0);
  int *last, flag;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag);
  CHECK(flag && *last >= code);
  CHECK(MPI_Add_error_string(MPI_ERR_COMM, "no") == MPI_ERR_ARG);
  CHECK(MPI_Remove_error_class(class) == MPI_ERR_ARG); /* has a code */
  MPI_Remove_error_string(code);
  MPI_Remove_error_code(code);
  MPI_Remove_error_class(class);
  CHECK(MPI_Error_class(class, &other) == MPI_ERR_ARG);
  return finish();
}
