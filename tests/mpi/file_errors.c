/* Files: what is wrong, and which error that is; the handlers of files. */
#include <fcntl.h>

#include "file_check.h"

static int rank, size;
static int handled, handled_class;

static void note(MPI_File* file, int* code, ...) {
  (void)file;
  ++handled;
  handled_class = class_of(*code);
}

static int open_class(const char* name, int amode) {
  MPI_File file = MPI_FILE_NULL;
  const int code = MPI_File_open(MPI_COMM_WORLD, name, amode, MPI_INFO_NULL, &file);
  if (code == MPI_SUCCESS) MPI_File_close(&file);
  return class_of(code);
}

static void opening(const char* name) {
  CHECK(open_class("/no/such/folder/file", MPI_MODE_RDONLY) == MPI_ERR_NO_SUCH_FILE);
  CHECK(open_class("/no/such/folder/file", MPI_MODE_RDWR | MPI_MODE_CREATE) ==
        MPI_ERR_NO_SUCH_FILE);
  CHECK(open_class("/tmp", MPI_MODE_RDONLY) == MPI_ERR_BAD_FILE);
  CHECK(open_class("/proc/version", MPI_MODE_RDONLY) == MPI_SUCCESS);
  CHECK(open_class(name, MPI_MODE_RDONLY | MPI_MODE_RDWR) == MPI_ERR_AMODE);
  CHECK(open_class(name, 0) == MPI_ERR_AMODE);
  CHECK(open_class(name, MPI_MODE_RDONLY | MPI_MODE_CREATE) == MPI_ERR_AMODE);
  CHECK(open_class(name, MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL) == MPI_ERR_AMODE);
  if (size > 1)
    CHECK(open_class(name, rank == 0 ? MPI_MODE_RDONLY : MPI_MODE_WRONLY) ==
          MPI_ERR_NOT_SAME);
  MPI_File file = open_file(name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL);
  CHECK(open_class(name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL) ==
        MPI_ERR_FILE_EXISTS);
  MPI_File_close(&file);
  if (rank == 0) {
    CHECK(MPI_File_delete(name, MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(class_of(MPI_File_delete(name, MPI_INFO_NULL)) == MPI_ERR_NO_SUCH_FILE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static void wrong_use(const char* name) {
  MPI_File file = new_file(name);
  MPI_Status status;
  MPI_Datatype type;
  char byte = 0, datarep[MPI_MAX_DATAREP_STRING];
  CHECK(class_of(MPI_File_read_at(file, -1, &byte, 1, MPI_CHAR, &status)) ==
        MPI_ERR_ARG);
  CHECK(class_of(MPI_File_read(file, &byte, -1, MPI_CHAR, &status)) == MPI_ERR_COUNT);
  CHECK(class_of(MPI_File_seek(file, -1, MPI_SEEK_SET)) == MPI_ERR_ARG);
  CHECK(class_of(MPI_File_seek(file, 0, 77)) == MPI_ERR_ARG);
  CHECK(class_of(MPI_File_seek_shared(file, -1, MPI_SEEK_SET)) == MPI_ERR_ARG);
  CHECK(class_of(MPI_File_set_size(file, -1)) == MPI_ERR_ARG);
  CHECK(class_of(MPI_File_read_all_end(file, &byte, &status)) == MPI_ERR_OTHER);
  CHECK(class_of(MPI_File_set_view(file, 0, MPI_INT, MPI_CHAR, "native",
                                   MPI_INFO_NULL)) == MPI_ERR_ARG);
  CHECK(class_of(MPI_File_set_view(file, -5, MPI_INT, MPI_INT, "native",
                                   MPI_INFO_NULL)) == MPI_ERR_ARG);
  CHECK(class_of(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "nobody's",
                                   MPI_INFO_NULL)) == MPI_ERR_UNSUPPORTED_DATAREP);
  MPI_Type_vector(2, 1, -3, MPI_INT, &type);
  MPI_Type_commit(&type);
  CHECK(MPI_File_set_view(file, 0, MPI_INT, type, "native", MPI_INFO_NULL) !=
        MPI_SUCCESS);
  MPI_Type_free(&type);
  if (size > 1)
    CHECK(class_of(MPI_File_set_size(file, rank == 0 ? 5 : 6)) == MPI_ERR_NOT_SAME);
  CHECK(MPI_File_set_view(file, 4, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) ==
        MPI_SUCCESS);
  CHECK(class_of(MPI_File_write(file, &byte, 1, MPI_CHAR, &status)) == MPI_ERR_TYPE);
  MPI_Offset displacement;
  MPI_Datatype etype, filetype;
  CHECK(MPI_File_get_view(file, &displacement, &etype, &filetype, datarep) ==
        MPI_SUCCESS);
  CHECK(displacement == 4 && etype == MPI_INT && filetype == MPI_INT);
  CHECK(strcmp(datarep, "native") == 0);
  MPI_File_close(&file);
}

static void modes(const char* name) {
  MPI_Status status;
  char byte = 'x';
  MPI_File file =
      open_file(name, MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_SEQUENTIAL);
  CHECK(class_of(MPI_File_read_shared(file, &byte, 1, MPI_CHAR, &status)) ==
        MPI_ERR_ACCESS);
  CHECK(class_of(MPI_File_write_at(file, 0, &byte, 1, MPI_CHAR, &status)) ==
        MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK(MPI_File_write_shared(file, &byte, 1, MPI_CHAR, &status) == MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_CHAR, MPI_CHAR, "native",
                          MPI_INFO_NULL) == MPI_SUCCESS);
  MPI_File_close(&file);
  file = open_file(name, MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE);
  MPI_Offset bytes = 0;
  CHECK(MPI_File_get_size(file, &bytes) == MPI_SUCCESS && bytes == size);
  CHECK(class_of(MPI_File_write(file, &byte, 1, MPI_CHAR, &status)) ==
        MPI_ERR_READ_ONLY);
  CHECK(class_of(MPI_File_write_all(file, &byte, 1, MPI_CHAR, &status)) ==
        MPI_ERR_READ_ONLY);
  CHECK(class_of(MPI_File_set_size(file, 1)) == MPI_ERR_READ_ONLY);
  CHECK(class_of(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_CHAR, MPI_CHAR,
                                   "native", MPI_INFO_NULL)) == MPI_ERR_ARG);
  MPI_File_close(&file);
}

/* A device that is always full. */
static void no_space(void) {
  MPI_File file = open_file("/dev/full", MPI_MODE_RDWR);
  enum { kInts = 20000 };
  int* data = calloc(kInts, sizeof(int));
  MPI_Status status;
  MPI_Request request;
  CHECK(class_of(MPI_File_write_at(file, 0, data, 1, MPI_INT, &status)) ==
        MPI_ERR_NO_SPACE);
  CHECK(count_of(&status, MPI_INT) == 0);
  CHECK(class_of(MPI_File_write_at_all(file, 4 * rank, data, 1, MPI_INT, &status)) ==
        MPI_ERR_NO_SPACE);
  CHECK(MPI_File_iwrite_at(file, 0, data, kInts, MPI_INT, &request) == MPI_SUCCESS);
  CHECK(class_of(MPI_Wait(&request, &status)) == MPI_ERR_NO_SPACE);
  CHECK(request == MPI_REQUEST_NULL);
  CHECK(MPI_File_iwrite_at_all(file, 4 * rank, data, 1, MPI_INT, &request) ==
        MPI_SUCCESS);
  CHECK(class_of(MPI_Wait(&request, &status)) == MPI_ERR_NO_SPACE);
  MPI_File_close(&file);
  free(data);
}

static void handlers(const char* name) {
  MPI_Errhandler mine, seen;
  MPI_File file = new_file(name);
  char byte;
  MPI_Status status;
  MPI_File_get_errhandler(file, &seen);
  CHECK(seen == MPI_ERRORS_RETURN);
  MPI_Errhandler_free(&seen);
  MPI_File_create_errhandler(note, &mine);
  CHECK(MPI_File_set_errhandler(file, mine) == MPI_SUCCESS);
  CHECK(class_of(MPI_File_read_at(file, -1, &byte, 1, MPI_CHAR, &status)) ==
        MPI_ERR_ARG);
  CHECK(handled == 1 && handled_class == MPI_ERR_ARG);
  CHECK(MPI_File_call_errhandler(file, MPI_ERR_IO) == MPI_SUCCESS);
  CHECK(handled == 2 && handled_class == MPI_ERR_IO);
  MPI_File_close(&file);

  MPI_Request request;
  file = open_file("/dev/full", MPI_MODE_RDWR);
  MPI_File_set_errhandler(file, mine);
  CHECK(MPI_File_iwrite_at(file, 0, &byte, 1, MPI_CHAR, &request) == MPI_SUCCESS);
  MPI_Wait(&request, &status); /* the file's handler, not that of a communicator */
  CHECK(handled == 3 && handled_class == MPI_ERR_NO_SPACE);
  MPI_File_close(&file);

  CHECK(MPI_File_set_errhandler(MPI_FILE_NULL, mine) == MPI_SUCCESS);
  CHECK(open_class("/no/such/folder/file", MPI_MODE_RDONLY) == MPI_ERR_NO_SUCH_FILE);
  CHECK(handled == 4);
  file = new_file(name);
  MPI_File_get_errhandler(file, &seen);
  CHECK(seen == mine);
  MPI_Errhandler_free(&seen);
  MPI_File_close(&file);
  MPI_File_close(&file); /* MPI_FILE_NULL */
  CHECK(handled == 5 && handled_class == MPI_ERR_FILE);
  MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
  MPI_Errhandler_free(&mine);
}

static void hints(const char* name) {
  MPI_Info info, used;
  MPI_File file;
  char value[64];
  int flag;
  MPI_Info_create(&info);
  MPI_Info_set(info, "cb_buffer_size", "65536");
  MPI_Info_set(info, "romio_ds_write", "disable");
  MPI_Info_set(info, "romio_cb_read", "perhaps"); /* no value that it has */
  MPI_Info_set(info, "file_perm", "0640");
  MPI_Info_set(info, "unheard_of", "1");
  CHECK(MPI_File_open(MPI_COMM_WORLD, name,
                      MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, info,
                      &file) == MPI_SUCCESS);
  MPI_File_get_info(file, &used);
  MPI_Info_get(used, "cb_buffer_size", 63, value, &flag);
  CHECK(flag && strcmp(value, "65536") == 0);
  MPI_Info_get(used, "romio_ds_write", 63, value, &flag);
  CHECK(flag && strcmp(value, "disable") == 0);
  MPI_Info_get(used, "romio_cb_read", 63, value, &flag);
  CHECK(flag && strcmp(value, "automatic") == 0);
  MPI_Info_get(used, "unheard_of", 63, value, &flag);
  CHECK(!flag);
  MPI_Info_free(&used);
  MPI_Info_free(&info);
  MPI_File_close(&file);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  const char* name = new_file_name();
  opening(name);
  wrong_use(name);
  modes(name);
  no_space();
  handlers(name);
  hints(name);
  return finish();
}
