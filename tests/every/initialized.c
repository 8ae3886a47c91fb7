/* What may be called before MPI begins, and after it has ended. */
#include "every.h"

static void always(int is_initialized, int is_finalized) {
  int flag = -1, version = 0, subversion = 0, length = 0, class_of_error = -1;
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  RIGHT(MPI_Initialized(&flag));
  CHECK(flag == is_initialized);
  RIGHT(MPI_Finalized(&flag));
  CHECK(flag == is_finalized);
  RIGHT(MPI_Get_version(&version, &subversion));
  CHECK(version == MPI_VERSION);
  RIGHT(MPI_Get_library_version(text, &length));
  RIGHT(MPI_Error_class(MPI_ERR_TAG, &class_of_error));
  CHECK(class_of_error == MPI_ERR_TAG);
}

int main(int argc, char** argv) {
  int provided = -1, level = -1, flag = 0, all = 0, is_first;
  every_lists = argc > 1 && strcmp(argv[1], "--list") == 0;
  always(0, 0);
  RIGHT(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  CHECK(provided >= MPI_THREAD_SINGLE && provided <= MPI_THREAD_MULTIPLE);
  CHECK(MPI_Query_thread(&level) == MPI_SUCCESS && level == provided);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &every_rank);
  always(1, 0);
  WRONG(MPI_ERR_OTHER, MPI_Init_thread(&argc, &argv, MPI_THREAD_SINGLE, &provided));
  MPI_Allreduce(&every_failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  is_first = every_rank == 0;
  every_failures = 0;
  RIGHT(MPI_Finalize());
  NO_WRONG(MPI_Finalize, "no arguments; a second one ends the job");
  always(1, 1);
  CHECK(MPI_Finalized(&flag) == MPI_SUCCESS && flag);
  if (is_first && all == 0 && every_failures == 0) printf("No Errors\n");
  return all + every_failures != 0;
}
