/* Functions on files that have no large-count variants: any number of ranks. */
#include "every.h"

static char name[200];

/* A name of its own for each job; rank 0 makes it. */
static void make_name(void) {
  const char* folder = getenv("TMPDIR");
  snprintf(name, sizeof name, "%s/every_files.%ld", folder != NULL ? folder : "/tmp",
           (long)(MPI_Wtime() * 1e6));
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
}

static void opening(void) {
  MPI_File file = MPI_FILE_NULL;
  int amode = 0;
  const int create = MPI_MODE_RDWR | MPI_MODE_CREATE;
  RIGHT(MPI_File_open(MPI_COMM_WORLD, name, create, MPI_INFO_NULL, &file));
  CHECK(file != MPI_FILE_NULL);
  RIGHT(MPI_File_get_amode(file, &amode));
  CHECK(amode == create);
  WRONG(MPI_ERR_FILE, MPI_File_get_amode(MPI_FILE_NULL, &amode));
  WRONG(MPI_ERR_ARG, MPI_File_get_amode(file, NULL));
  RIGHT(MPI_File_close(&file));
  CHECK(file == MPI_FILE_NULL);
  WRONG(MPI_ERR_FILE, MPI_File_close(&file));
  WRONG(MPI_ERR_FILE_EXISTS, MPI_File_open(MPI_COMM_WORLD, name, create | MPI_MODE_EXCL,
                                           MPI_INFO_NULL, &file));
  WRONG(MPI_ERR_NO_SUCH_FILE, MPI_File_open(MPI_COMM_WORLD, "/no/such/folder/file",
                                            create, MPI_INFO_NULL, &file));
  WRONG(MPI_ERR_AMODE,
        MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY | MPI_MODE_RDWR,
                      MPI_INFO_NULL, &file));
  WRONG(MPI_ERR_COMM, MPI_File_open(MPI_COMM_NULL, name, create, MPI_INFO_NULL, &file));
  WRONG(MPI_ERR_ARG, MPI_File_open(MPI_COMM_WORLD, name, create, MPI_INFO_NULL, NULL));
  CHECK(file == MPI_FILE_NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  if (every_rank == 0) RIGHT(MPI_File_delete(name, MPI_INFO_NULL));
  MPI_Barrier(MPI_COMM_WORLD);
  WRONG(MPI_ERR_NO_SUCH_FILE, MPI_File_delete(name, MPI_INFO_NULL));
  WRONG(MPI_ERR_ARG, MPI_File_delete(NULL, MPI_INFO_NULL));
  MPI_Barrier(MPI_COMM_WORLD);
}

static void sizes(MPI_File file) {
  MPI_Offset bytes = -1;
  RIGHT(MPI_File_set_size(file, 1000));
  RIGHT(MPI_File_get_size(file, &bytes));
  CHECK(bytes == 1000);
  MPI_Barrier(MPI_COMM_WORLD);
  RIGHT(MPI_File_preallocate(file, 3000));
  RIGHT(MPI_File_get_size(file, &bytes));
  CHECK(bytes == 3000);
  RIGHT(MPI_File_preallocate(file, 10));
  RIGHT(MPI_File_get_size(file, &bytes));
  CHECK(bytes == 3000);
  MPI_Barrier(MPI_COMM_WORLD);
  WRONG(MPI_ERR_ARG, MPI_File_set_size(file, -1));
  WRONG(MPI_ERR_FILE, MPI_File_set_size(MPI_FILE_NULL, 10));
  WRONG(MPI_ERR_ARG, MPI_File_preallocate(file, -1));
  WRONG(MPI_ERR_FILE, MPI_File_preallocate(MPI_FILE_NULL, 10));
  WRONG(MPI_ERR_FILE, MPI_File_get_size(MPI_FILE_NULL, &bytes));
  WRONG(MPI_ERR_ARG, MPI_File_get_size(file, NULL));
}

static void about(MPI_File file) {
  MPI_Group group, world;
  MPI_Info info, used;
  int result = -1, flag = 0, length;
  char value[20] = "";
  RIGHT(MPI_File_get_group(file, &group));
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_compare(group, world, &result);
  CHECK(result == MPI_IDENT);
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  WRONG(MPI_ERR_FILE, MPI_File_get_group(MPI_FILE_NULL, &group));
  WRONG(MPI_ERR_ARG, MPI_File_get_group(file, NULL));
  MPI_Info_create(&info);
  MPI_Info_set(info, "cb_buffer_size", "65536");
  RIGHT(MPI_File_set_info(file, info));
  RIGHT(MPI_File_get_info(file, &used));
  length = sizeof value;
  MPI_Info_get_string(used, "cb_buffer_size", &length, value, &flag);
  CHECK(flag && strcmp(value, "65536") == 0);
  MPI_Info_free(&used);
  WRONG(MPI_ERR_FILE, MPI_File_set_info(MPI_FILE_NULL, info));
  WRONG(MPI_ERR_INFO, MPI_File_set_info(file, (MPI_Info)MPI_INT));
  WRONG(MPI_ERR_FILE, MPI_File_get_info(MPI_FILE_NULL, &used));
  WRONG(MPI_ERR_ARG, MPI_File_get_info(file, NULL));
  MPI_Info_free(&info);
  RIGHT(MPI_File_get_atomicity(file, &flag));
  CHECK(!flag);
  RIGHT(MPI_File_set_atomicity(file, 1));
  RIGHT(MPI_File_get_atomicity(file, &flag));
  CHECK(flag);
  MPI_File_set_atomicity(file, 0);
  WRONG(MPI_ERR_FILE, MPI_File_get_atomicity(MPI_FILE_NULL, &flag));
  WRONG(MPI_ERR_FILE, MPI_File_set_atomicity(MPI_FILE_NULL, 1));
  if (every_size > 1) /* the members do not say the same */
    WRONG(MPI_ERR_NOT_SAME, MPI_File_set_atomicity(file, every_rank == 0));
}

static void views(MPI_File file) {
  MPI_Datatype pairs, etype = MPI_DATATYPE_NULL, filetype = MPI_DATATYPE_NULL;
  MPI_Offset disp = -1;
  char datarep[MPI_MAX_DATAREP_STRING] = "";
  MPI_Type_vector(2, 1, 2, MPI_INT, &pairs); /* one int, a gap, one int */
  MPI_Type_commit(&pairs);
  RIGHT(MPI_File_set_view(file, 40, MPI_INT, pairs, "native", MPI_INFO_NULL));
  RIGHT(MPI_File_get_view(file, &disp, &etype, &filetype, datarep));
  CHECK(disp == 40 && etype == MPI_INT && strcmp(datarep, "native") == 0);
  CHECK(filetype != MPI_DATATYPE_NULL && filetype != MPI_INT);
  MPI_Type_free(&filetype);
  RIGHT(MPI_File_get_byte_offset(file, 1, &disp));
  CHECK(disp == 48);
  RIGHT(MPI_File_get_byte_offset(file, 3, &disp));
  CHECK(disp == 40 + 12 + 8);
  WRONG(MPI_ERR_FILE, MPI_File_get_byte_offset(MPI_FILE_NULL, 1, &disp));
  WRONG(MPI_ERR_ARG, MPI_File_get_byte_offset(file, -1, &disp));
  WRONG(MPI_ERR_ARG, MPI_File_get_byte_offset(file, 1, NULL));
  WRONG(MPI_ERR_FILE,
        MPI_File_get_view(MPI_FILE_NULL, &disp, &etype, &filetype, datarep));
  WRONG(MPI_ERR_ARG, MPI_File_get_view(file, NULL, &etype, &filetype, datarep));
  WRONG(MPI_ERR_FILE,
        MPI_File_set_view(MPI_FILE_NULL, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  WRONG(MPI_ERR_TYPE, MPI_File_set_view(file, 0, MPI_DATATYPE_NULL, MPI_INT, "native",
                                        MPI_INFO_NULL));
  WRONG(MPI_ERR_UNSUPPORTED_DATAREP,
        MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "nobody's", MPI_INFO_NULL));
  MPI_Type_free(&pairs);
  RIGHT(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
}

/* The file has 3000 bytes. */
static void pointers(MPI_File file) {
  MPI_Offset at = -1;
  RIGHT(MPI_File_seek(file, 20 + every_rank, MPI_SEEK_SET));
  RIGHT(MPI_File_seek(file, 5, MPI_SEEK_CUR));
  RIGHT(MPI_File_get_position(file, &at));
  CHECK(at == 25 + every_rank);
  RIGHT(MPI_File_seek(file, -100, MPI_SEEK_END));
  RIGHT(MPI_File_get_position(file, &at));
  CHECK(at == 2900);
  WRONG(MPI_ERR_FILE, MPI_File_get_position(MPI_FILE_NULL, &at));
  WRONG(MPI_ERR_ARG, MPI_File_get_position(file, NULL));
  WRONG(MPI_ERR_FILE, MPI_File_seek(MPI_FILE_NULL, 0, MPI_SEEK_SET));
  WRONG(MPI_ERR_ARG, MPI_File_seek(file, 0, 77));
  WRONG(MPI_ERR_ARG, MPI_File_seek(file, -1, MPI_SEEK_SET));
  RIGHT(MPI_File_seek_shared(file, 30, MPI_SEEK_SET));
  RIGHT(MPI_File_get_position_shared(file, &at));
  CHECK(at == 30);
  WRONG(MPI_ERR_FILE, MPI_File_get_position_shared(MPI_FILE_NULL, &at));
  WRONG(MPI_ERR_ARG, MPI_File_get_position_shared(file, NULL));
  WRONG(MPI_ERR_FILE, MPI_File_seek_shared(MPI_FILE_NULL, 0, MPI_SEEK_SET));
  WRONG(MPI_ERR_ARG, MPI_File_seek_shared(file, 0, 77));
  if (every_size > 1)
    WRONG(MPI_ERR_NOT_SAME, MPI_File_seek_shared(file, every_rank, MPI_SEEK_SET));
  RIGHT(MPI_File_sync(file));
  WRONG(MPI_ERR_FILE, MPI_File_sync(MPI_FILE_NULL));
}

/* The ends of split accesses have no variant with large counts, so they are here. */
static void split_accesses(MPI_File file) {
  int out[2] = {every_rank, every_rank + 10}, in[2] = {-1, -1}, n = -1;
  const MPI_Offset at = 8 * every_rank;
  MPI_Status status;
  MPI_File_write_at_all_begin(file, at, out, 2, MPI_INT);
  RIGHT(MPI_File_write_at_all_end(file, out, &status));
  MPI_Get_count(&status, MPI_INT, &n);
  CHECK(n == 2);
  WRONG(MPI_ERR_OTHER, MPI_File_write_at_all_end(file, out, &status));
  WRONG(MPI_ERR_FILE, MPI_File_write_at_all_end(MPI_FILE_NULL, out, &status));
  MPI_File_read_at_all_begin(file, at, in, 2, MPI_INT);
  RIGHT(MPI_File_read_at_all_end(file, in, &status));
  MPI_Get_count(&status, MPI_INT, &n);
  CHECK(n == 2 && in[0] == every_rank && in[1] == every_rank + 10);
  WRONG(MPI_ERR_OTHER, MPI_File_read_at_all_end(file, in, &status));
  WRONG(MPI_ERR_FILE, MPI_File_read_at_all_end(MPI_FILE_NULL, in, &status));
  out[0] += 100, in[0] = in[1] = -1;
  MPI_File_seek(file, at, MPI_SEEK_SET);
  MPI_File_write_all_begin(file, out, 2, MPI_INT);
  RIGHT(MPI_File_write_all_end(file, out, &status));
  WRONG(MPI_ERR_OTHER, MPI_File_write_all_end(file, out, &status));
  WRONG(MPI_ERR_FILE, MPI_File_write_all_end(MPI_FILE_NULL, out, &status));
  MPI_File_seek(file, at, MPI_SEEK_SET);
  MPI_File_read_all_begin(file, in, 2, MPI_INT);
  RIGHT(MPI_File_read_all_end(file, in, &status));
  CHECK(in[0] == every_rank + 100 && in[1] == every_rank + 10);
  WRONG(MPI_ERR_OTHER, MPI_File_read_all_end(file, in, &status));
  WRONG(MPI_ERR_FILE, MPI_File_read_all_end(MPI_FILE_NULL, in, &status));
  out[0] += 100, in[0] = in[1] = -1;
  MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
  MPI_File_write_ordered_begin(file, out, 2, MPI_INT);
  RIGHT(MPI_File_write_ordered_end(file, out, &status));
  WRONG(MPI_ERR_OTHER, MPI_File_write_ordered_end(file, out, &status));
  WRONG(MPI_ERR_FILE, MPI_File_write_ordered_end(MPI_FILE_NULL, out, &status));
  MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
  MPI_File_read_ordered_begin(file, in, 2, MPI_INT);
  RIGHT(MPI_File_read_ordered_end(file, in, &status));
  CHECK(in[0] == every_rank + 200 && in[1] == every_rank + 10);
  WRONG(MPI_ERR_OTHER, MPI_File_read_ordered_end(file, in, &status));
  WRONG(MPI_ERR_FILE, MPI_File_read_ordered_end(MPI_FILE_NULL, in, &status));
}

int main(int argc, char** argv) {
  MPI_File file = MPI_FILE_NULL;
  every_begin(&argc, &argv);
  make_name();
  opening();
  MPI_File_open(MPI_COMM_WORLD, name,
                MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE,
                MPI_INFO_NULL, &file);
  sizes(file);
  about(file);
  views(file);
  pointers(file);
  split_accesses(file);
  MPI_File_close(&file);
  return every_end();
}
