/* Every function on the environment, and MPI_Pcontrol. */
#include "every.h"

static void about(void) {
  char text[MPI_MAX_LIBRARY_VERSION_STRING], name[MPI_MAX_PROCESSOR_NAME];
  int version = 0, subversion = -1, length = -1;
  RIGHT(MPI_Get_version(&version, &subversion));
  CHECK(version == MPI_VERSION && subversion == MPI_SUBVERSION);
  WRONG(MPI_ERR_ARG, MPI_Get_version(NULL, &subversion));
  RIGHT(MPI_Get_library_version(text, &length));
  CHECK(length > 0 && length == (int)strlen(text));
  WRONG(MPI_ERR_ARG, MPI_Get_library_version(NULL, &length));
  RIGHT(MPI_Get_processor_name(name, &length));
  CHECK(length > 0 && length == (int)strlen(name));
  WRONG(MPI_ERR_ARG, MPI_Get_processor_name(name, NULL));
}

static void resources(void) {
  int n = -1;
  MPI_Info info = MPI_INFO_NULL;
  RIGHT(MPI_Get_hw_resource_info(&info));
  CHECK(MPI_Info_get_nkeys(info, &n) == MPI_SUCCESS && n >= 0);
  for (int i = 0; i < n; ++i) {
    char key[MPI_MAX_INFO_KEY], value[8];
    int length = sizeof value, flag = 0;
    CHECK(MPI_Info_get_nthkey(info, i, key) == MPI_SUCCESS &&
          strstr(key, "://") != NULL);
    CHECK(MPI_Info_get_string(info, key, &length, value, &flag) == MPI_SUCCESS && flag);
    CHECK(strcmp(value, "true") == 0 || strcmp(value, "false") == 0);
  }
  MPI_Info_free(&info);
  WRONG(MPI_ERR_ARG, MPI_Get_hw_resource_info(NULL));
}

static void memory(void) {
  int* ints = NULL;
  RIGHT(MPI_Alloc_mem(100 * sizeof(int), MPI_INFO_NULL, &ints));
  CHECK(ints != NULL);
  for (int i = 0; i < 100; ++i) ints[i] = i;
  RIGHT(MPI_Free_mem(ints));
  WRONG(MPI_ERR_ARG, MPI_Alloc_mem(-1, MPI_INFO_NULL, &ints));
  WRONG(MPI_ERR_ARG, MPI_Alloc_mem(100, MPI_INFO_NULL, NULL));
  WRONG(MPI_ERR_BASE, MPI_Free_mem(&ints));
}

static void times(void) {
  const double begin = MPI_Wtime();
  VALUE(MPI_Wtime() >= begin);
  VALUE(MPI_Wtick() > 0 && MPI_Wtick() < 1);
  NO_WRONG(MPI_Wtime, "no arguments");
  NO_WRONG(MPI_Wtick, "no arguments");
}

static void threads(void) {
  int provided = -1, flag = 0;
  RIGHT(MPI_Query_thread(&provided));
  CHECK(provided >= MPI_THREAD_SINGLE && provided <= MPI_THREAD_MULTIPLE);
  WRONG(MPI_ERR_ARG, MPI_Query_thread(NULL));
  RIGHT(MPI_Is_thread_main(&flag));
  CHECK(flag);
  WRONG(MPI_ERR_ARG, MPI_Is_thread_main(NULL));
  RIGHT(MPI_Initialized(&flag));
  CHECK(flag);
  WRONG(MPI_ERR_ARG, MPI_Initialized(NULL));
  RIGHT(MPI_Finalized(&flag));
  CHECK(!flag);
  WRONG(MPI_ERR_ARG, MPI_Finalized(NULL));
}

/* A second beginning. */
static void begin_again(int argc, char** argv) {
  int provided = -1;
  WRONG(MPI_ERR_OTHER, MPI_Init(&argc, &argv));
  WRONG(MPI_ERR_OTHER, MPI_Init_thread(&argc, &argv, MPI_THREAD_SINGLE, &provided));
}

static void control(void) {
  RIGHT(MPI_Pcontrol(0));
  RIGHT(MPI_Pcontrol(1));
  RIGHT(MPI_Pcontrol(2, "anything", 7));
  NO_WRONG(MPI_Pcontrol, "any level and any arguments are allowed");
}

int main(int argc, char** argv) {
  every_lists = argc > 1 && strcmp(argv[1], "--list") == 0;
  RIGHT(MPI_Init(&argc, &argv));
  MPI_Comm_rank(MPI_COMM_WORLD, &every_rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  about();
  resources();
  memory();
  times();
  threads();
  begin_again(argc, argv);
  control();
  return every_end();
}
