/* Every function on the error handlers of communicators, windows, files and sessions. */
#include "every.h"

static int calls, code_seen;
static MPI_Comm comm_seen;
static MPI_Win win_seen;
static MPI_File file_seen;
static MPI_Session session_seen;

static void comm_handler(MPI_Comm* comm, int* code, ...) {
  ++calls;
  comm_seen = *comm;
  code_seen = *code;
}
static void win_handler(MPI_Win* win, int* code, ...) {
  ++calls;
  win_seen = *win;
  code_seen = *code;
}
static void file_handler(MPI_File* file, int* code, ...) {
  ++calls;
  file_seen = *file;
  code_seen = *code;
}
static void session_handler(MPI_Session* session, int* code, ...) {
  ++calls;
  session_seen = *session;
  code_seen = *code;
}

static void of_communicators(void) {
  MPI_Comm comm, no = MPI_COMM_NULL;
  MPI_Errhandler handler, got, null = MPI_ERRHANDLER_NULL;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  RIGHT(MPI_Comm_create_errhandler(comm_handler, &handler));
  RIGHT(MPI_Comm_set_errhandler(comm, handler));
  RIGHT(MPI_Comm_get_errhandler(comm, &got));
  CHECK(got == handler);
  RIGHT(MPI_Errhandler_free(&got));
  CHECK(got == MPI_ERRHANDLER_NULL);
  RIGHT(MPI_Errhandler_free(&handler)); /* the communicator keeps it */
  calls = 0;
  RIGHT(MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER));
  CHECK(calls == 1 && comm_seen == comm && code_seen == MPI_ERR_OTHER);
  CHECK(MPI_Send(NULL, 0, MPI_INT, 0, -5, comm) != MPI_SUCCESS);
  CHECK(calls == 2 && comm_seen == comm);

  WRONG(MPI_ERR_ARG, MPI_Comm_create_errhandler(comm_handler, NULL));
  WRONG(MPI_ERR_COMM, MPI_Comm_set_errhandler(no, MPI_ERRORS_RETURN));
  WRONG(MPI_ERR_COMM, MPI_Comm_get_errhandler(no, &got));
  WRONG(MPI_ERR_COMM, MPI_Comm_call_errhandler(no, MPI_ERR_OTHER));
  WRONG(MPI_ERR_ERRHANDLER, MPI_Errhandler_free(&null));
  CHECK(calls == 2);
  WRONG(MPI_ERR_ERRHANDLER, MPI_Comm_set_errhandler(comm, null));
  CHECK(calls == 3);
  MPI_Comm_free(&comm);
}

/* The names of MPI 1. */
static void removed_names(void) {
  MPI_Comm comm;
  MPI_Errhandler handler, got;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  RIGHT(MPI_Errhandler_create(comm_handler, &handler));
  RIGHT(MPI_Errhandler_set(comm, handler));
  RIGHT(MPI_Errhandler_get(comm, &got));
  CHECK(got == handler);
  calls = 0;
  CHECK(MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER) == MPI_SUCCESS && calls == 1);
  MPI_Errhandler_free(&got);
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&comm);
  WRONG(MPI_ERR_ARG, MPI_Errhandler_create(comm_handler, NULL));
  WRONG(MPI_ERR_COMM, MPI_Errhandler_set(comm, MPI_ERRORS_RETURN));
  WRONG(MPI_ERR_COMM, MPI_Errhandler_get(comm, &got));
}

static void of_windows(void) {
  int memory[2] = {0};
  MPI_Win win, no = MPI_WIN_NULL;
  MPI_Errhandler handler, got;
  MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  RIGHT(MPI_Win_create_errhandler(win_handler, &handler));
  RIGHT(MPI_Win_set_errhandler(win, handler));
  RIGHT(MPI_Win_get_errhandler(win, &got));
  CHECK(got == handler);
  MPI_Errhandler_free(&got);
  calls = 0;
  RIGHT(MPI_Win_call_errhandler(win, MPI_ERR_RMA_SYNC));
  CHECK(calls == 1 && win_seen == win && code_seen == MPI_ERR_RMA_SYNC);

  WRONG(MPI_ERR_ARG, MPI_Win_create_errhandler(win_handler, NULL));
  WRONG(MPI_ERR_WIN, MPI_Win_set_errhandler(no, handler));
  WRONG(MPI_ERR_WIN, MPI_Win_get_errhandler(no, &got));
  WRONG(MPI_ERR_WIN, MPI_Win_call_errhandler(no, MPI_ERR_OTHER));
  WRONG(MPI_ERR_ARG, MPI_Comm_set_errhandler(MPI_COMM_SELF, handler));
  MPI_Errhandler_free(&handler);
  MPI_Win_free(&win);
}

/* A null file stands for the handler of the files that will be opened. */
static void of_files(void) {
  const MPI_File no = (MPI_File)MPI_COMM_WORLD;
  MPI_File file = MPI_FILE_NULL;
  MPI_Errhandler handler, got;
  RIGHT(MPI_File_create_errhandler(file_handler, &handler));
  RIGHT(MPI_File_get_errhandler(MPI_FILE_NULL, &got));
  CHECK(got == MPI_ERRORS_RETURN);
  RIGHT(MPI_File_set_errhandler(MPI_FILE_NULL, handler));
  calls = 0;
  CHECK(MPI_File_open(MPI_COMM_SELF, "/there/is/no/such/folder", MPI_MODE_RDONLY,
                      MPI_INFO_NULL, &file) != MPI_SUCCESS);
  CHECK(calls == 1 && file_seen == MPI_FILE_NULL);
  RIGHT(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
  CHECK(MPI_File_open(MPI_COMM_SELF, "/dev/null", MPI_MODE_RDONLY, MPI_INFO_NULL,
                      &file) == MPI_SUCCESS);
  RIGHT(MPI_File_set_errhandler(file, handler));
  RIGHT(MPI_File_get_errhandler(file, &got));
  CHECK(got == handler);
  MPI_Errhandler_free(&got);
  RIGHT(MPI_File_call_errhandler(file, MPI_ERR_IO));
  CHECK(calls == 2 && file_seen == file && code_seen == MPI_ERR_IO);
  MPI_File_close(&file);

  WRONG(MPI_ERR_ARG, MPI_File_create_errhandler(file_handler, NULL));
  WRONG(MPI_ERR_FILE, MPI_File_set_errhandler(no, handler));
  WRONG(MPI_ERR_FILE, MPI_File_get_errhandler(no, &got));
  WRONG(MPI_ERR_FILE, MPI_File_call_errhandler(no, MPI_ERR_IO));
  WRONG(MPI_ERR_ERRHANDLER,
        MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRHANDLER_NULL));
  MPI_Errhandler_free(&handler);
}

static void of_sessions(void) {
  MPI_Session session, no = MPI_SESSION_NULL;
  MPI_Errhandler handler, got;
  RIGHT(MPI_Session_create_errhandler(session_handler, &handler));
  CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS);
  RIGHT(MPI_Session_get_errhandler(session, &got));
  CHECK(got == MPI_ERRORS_RETURN);
  RIGHT(MPI_Session_set_errhandler(session, handler));
  RIGHT(MPI_Session_get_errhandler(session, &got));
  CHECK(got == handler);
  MPI_Errhandler_free(&got);
  calls = 0;
  RIGHT(MPI_Session_call_errhandler(session, MPI_ERR_OTHER));
  CHECK(calls == 1 && session_seen == session && code_seen == MPI_ERR_OTHER);
  MPI_Session_finalize(&session);

  WRONG(MPI_ERR_ARG, MPI_Session_create_errhandler(session_handler, NULL));
  WRONG(MPI_ERR_SESSION, MPI_Session_set_errhandler(no, handler));
  WRONG(MPI_ERR_SESSION, MPI_Session_get_errhandler(no, &got));
  WRONG(MPI_ERR_SESSION, MPI_Session_call_errhandler(no, MPI_ERR_OTHER));
  MPI_Errhandler_free(&handler);
}

int main(int argc, char** argv) {
  every_begin(&argc, &argv);
  of_communicators();
  removed_names();
  of_windows();
  of_files();
  of_sessions();
  return every_end();
}
