/* Functions on files that have large-count variants: any number of ranks. */
#include "every.h"

static char name[200];
static MPI_File file;
static int data[2];        /* for wrong calls: they leave it alone */
static MPI_Request unused; /* the same */
static MPI_Offset place;   /* of this rank's two ints */

#define WRONGLY(f, ...)                                                      \
  do {                                                                       \
    WRONG(MPI_ERR_FILE, f(MPI_FILE_NULL, data, 1, MPI_INT, ##__VA_ARGS__));  \
    WRONG(MPI_ERR_COUNT, f(file, data, -1, MPI_INT, ##__VA_ARGS__));         \
    WRONG(MPI_ERR_TYPE, f(file, data, 1, MPI_DATATYPE_NULL, ##__VA_ARGS__)); \
    CHECK(data[0] == -1 && unused == MPI_REQUEST_NULL);                      \
  } while (0)
#define WRONGLY_AT(f, ...)                                                      \
  do {                                                                          \
    WRONG(MPI_ERR_FILE, f(MPI_FILE_NULL, 0, data, 1, MPI_INT, ##__VA_ARGS__));  \
    WRONG(MPI_ERR_ARG, f(file, -1, data, 1, MPI_INT, ##__VA_ARGS__));           \
    WRONG(MPI_ERR_COUNT, f(file, 0, data, -1, MPI_INT, ##__VA_ARGS__));         \
    WRONG(MPI_ERR_TYPE, f(file, 0, data, 1, MPI_DATATYPE_NULL, ##__VA_ARGS__)); \
    CHECK(data[0] == -1 && unused == MPI_REQUEST_NULL);                         \
  } while (0)

static int count_of(const MPI_Status* status) {
  int n = -1;
  MPI_Get_count(status, MPI_INT, &n);
  return n;
}

static int count_after(MPI_Request* request) {
  MPI_Status status;
  CHECK(MPI_Wait(request, &status) == MPI_SUCCESS);
  CHECK(*request == MPI_REQUEST_NULL);
  return count_of(&status);
}

/* What is written for the `n`th time: two ints that no other rank has. */
static const int* value(int n) {
  static int two[2];
  two[0] = 1000 * n + every_rank;
  two[1] = -two[0];
  return two;
}
static int* nothing(void) {
  static int two[2];
  two[0] = two[1] = 0;
  return two;
}
static int is_value(const int* two, int n) {
  return two[0] == 1000 * n + every_rank && two[1] == -two[0];
}

static void go_back(void) { MPI_File_seek(file, place, MPI_SEEK_SET); }

/* Everybody's data are in the file. */
static void settle(void) {
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_sync(file);
}

static void explicit_offsets(void) {
  MPI_Status status;
  MPI_Request request = MPI_REQUEST_NULL;
  int* in;
  RIGHT(N(MPI_File_write_at)(file, place, value(1), 2, MPI_INT, &status));
  CHECK(count_of(&status) == 2);
  RIGHT(N(MPI_File_read_at)(file, place, in = nothing(), 2, MPI_INT, &status));
  CHECK(count_of(&status) == 2 && is_value(in, 1));
  RIGHT(N(MPI_File_write_at_all)(file, place, value(2), 2, MPI_INT, &status));
  CHECK(count_of(&status) == 2);
  RIGHT(N(MPI_File_read_at_all)(file, place, in = nothing(), 2, MPI_INT, &status));
  CHECK(count_of(&status) == 2 && is_value(in, 2));
  RIGHT(N(MPI_File_iwrite_at)(file, place, value(3), 2, MPI_INT, &request));
  CHECK(count_after(&request) == 2);
  RIGHT(N(MPI_File_iread_at)(file, place, in = nothing(), 2, MPI_INT, &request));
  CHECK(count_after(&request) == 2 && is_value(in, 3));
  RIGHT(N(MPI_File_iwrite_at_all)(file, place, value(4), 2, MPI_INT, &request));
  CHECK(count_after(&request) == 2);
  RIGHT(N(MPI_File_iread_at_all)(file, place, in = nothing(), 2, MPI_INT, &request));
  CHECK(count_after(&request) == 2 && is_value(in, 4));
  RIGHT(N(MPI_File_write_at_all_begin)(file, place, value(5), 2, MPI_INT));
  MPI_File_write_at_all_end(file, value(5), &status);
  CHECK(count_of(&status) == 2);
  RIGHT(N(MPI_File_read_at_all_begin)(file, place, in = nothing(), 2, MPI_INT));
  MPI_File_read_at_all_end(file, in, &status);
  CHECK(count_of(&status) == 2 && is_value(in, 5));
  WRONGLY_AT(N(MPI_File_write_at), &status);
  WRONGLY_AT(N(MPI_File_read_at), &status);
  WRONGLY_AT(N(MPI_File_write_at_all), &status);
  WRONGLY_AT(N(MPI_File_read_at_all), &status);
  WRONGLY_AT(N(MPI_File_iwrite_at), &unused);
  WRONGLY_AT(N(MPI_File_iread_at), &unused);
  WRONGLY_AT(N(MPI_File_iwrite_at_all), &unused);
  WRONGLY_AT(N(MPI_File_iread_at_all), &unused);
  WRONGLY_AT(N(MPI_File_write_at_all_begin));
  WRONGLY_AT(N(MPI_File_read_at_all_begin));
}

static void own_pointers(void) {
  MPI_Status status;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Offset at = -1;
  int* in;
  go_back();
  RIGHT(N(MPI_File_write)(file, value(11), 2, MPI_INT, &status));
  CHECK(count_of(&status) == 2);
  MPI_File_get_position(file, &at);
  CHECK(at == place + 8);
  go_back();
  RIGHT(N(MPI_File_read)(file, in = nothing(), 2, MPI_INT, &status));
  CHECK(count_of(&status) == 2 && is_value(in, 11));
  go_back();
  RIGHT(N(MPI_File_write_all)(file, value(12), 2, MPI_INT, &status));
  CHECK(count_of(&status) == 2);
  go_back();
  RIGHT(N(MPI_File_read_all)(file, in = nothing(), 2, MPI_INT, &status));
  CHECK(count_of(&status) == 2 && is_value(in, 12));
  go_back();
  RIGHT(N(MPI_File_iwrite)(file, value(13), 2, MPI_INT, &request));
  CHECK(count_after(&request) == 2);
  go_back();
  RIGHT(N(MPI_File_iread)(file, in = nothing(), 2, MPI_INT, &request));
  CHECK(count_after(&request) == 2 && is_value(in, 13));
  go_back();
  RIGHT(N(MPI_File_iwrite_all)(file, value(14), 2, MPI_INT, &request));
  CHECK(count_after(&request) == 2);
  go_back();
  RIGHT(N(MPI_File_iread_all)(file, in = nothing(), 2, MPI_INT, &request));
  CHECK(count_after(&request) == 2 && is_value(in, 14));
  go_back();
  RIGHT(N(MPI_File_write_all_begin)(file, value(15), 2, MPI_INT));
  MPI_File_write_all_end(file, value(15), &status);
  CHECK(count_of(&status) == 2);
  go_back();
  RIGHT(N(MPI_File_read_all_begin)(file, in = nothing(), 2, MPI_INT));
  MPI_File_read_all_end(file, in, &status);
  CHECK(count_of(&status) == 2 && is_value(in, 15));
  go_back();
  WRONGLY(N(MPI_File_write), &status);
  WRONGLY(N(MPI_File_read), &status);
  WRONGLY(N(MPI_File_write_all), &status);
  WRONGLY(N(MPI_File_read_all), &status);
  WRONGLY(N(MPI_File_iwrite), &unused);
  WRONGLY(N(MPI_File_iread), &unused);
  WRONGLY(N(MPI_File_iwrite_all), &unused);
  WRONGLY(N(MPI_File_iread_all), &unused);
  WRONGLY(N(MPI_File_write_all_begin));
  WRONGLY(N(MPI_File_read_all_begin));
  MPI_File_get_position(file, &at);
  CHECK(at == place); /* wrong calls have not moved it */
}

static void start_of_file(void) {
  settle();
  MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Everybody has taken one of what all have given, 1 to the number of ranks. */
static int are_all(int one) {
  int sum = 0, squares = 0, square = one * one;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(&square, &squares, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return sum == every_size * (every_size + 1) / 2 &&
         squares == every_size * (every_size + 1) * (2 * every_size + 1) / 6;
}

static void shared_pointer(void) {
  MPI_Status status;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Offset at = -1;
  int mine = every_rank + 1, got = -1;
  start_of_file();
  RIGHT(N(MPI_File_write_shared)(file, &mine, 1, MPI_INT, &status));
  CHECK(count_of(&status) == 1);
  start_of_file();
  RIGHT(N(MPI_File_read_shared)(file, &got, 1, MPI_INT, &status));
  CHECK(count_of(&status) == 1 && are_all(got));
  start_of_file();
  RIGHT(N(MPI_File_iwrite_shared)(file, &mine, 1, MPI_INT, &request));
  CHECK(count_after(&request) == 1);
  start_of_file();
  got = -1;
  RIGHT(N(MPI_File_iread_shared)(file, &got, 1, MPI_INT, &request));
  CHECK(count_after(&request) == 1 && are_all(got));
  start_of_file();
  mine += 100;
  RIGHT(N(MPI_File_write_ordered)(file, &mine, 1, MPI_INT, &status));
  CHECK(count_of(&status) == 1);
  start_of_file();
  RIGHT(N(MPI_File_read_ordered)(file, &got, 1, MPI_INT, &status));
  CHECK(count_of(&status) == 1 && got == every_rank + 101);
  start_of_file();
  mine += 100;
  RIGHT(N(MPI_File_write_ordered_begin)(file, &mine, 1, MPI_INT));
  MPI_File_write_ordered_end(file, &mine, &status);
  CHECK(count_of(&status) == 1);
  start_of_file();
  RIGHT(N(MPI_File_read_ordered_begin)(file, &got, 1, MPI_INT));
  MPI_File_read_ordered_end(file, &got, &status);
  CHECK(count_of(&status) == 1 && got == every_rank + 201);
  start_of_file();
  WRONGLY(N(MPI_File_write_shared), &status);
  WRONGLY(N(MPI_File_read_shared), &status);
  WRONGLY(N(MPI_File_iwrite_shared), &unused);
  WRONGLY(N(MPI_File_iread_shared), &unused);
  WRONGLY(N(MPI_File_write_ordered), &status);
  WRONGLY(N(MPI_File_read_ordered), &status);
  WRONGLY(N(MPI_File_write_ordered_begin));
  WRONGLY(N(MPI_File_read_ordered_begin));
  MPI_File_get_position_shared(file, &at);
  CHECK(at == 0);
}

/* A representation that has all bits of an int turned over. */
static int to_file(void* user, MPI_Datatype type, count_t n, void* out,
                   MPI_Offset place, void* extra) {
  CHECK(type == MPI_INT && extra == (void*)data);
  for (int i = 0; i < (int)n; ++i) ((int*)out)[i] = ~((int*)user)[place + i];
  return MPI_SUCCESS;
}
static int from_file(void* user, MPI_Datatype type, count_t n, void* in,
                     MPI_Offset place, void* extra) {
  CHECK(type == MPI_INT && extra == (void*)data);
  for (int i = 0; i < (int)n; ++i) ((int*)user)[place + i] = ~((int*)in)[i];
  return MPI_SUCCESS;
}
static int extent(MPI_Datatype type, MPI_Aint* bytes, void* extra) {
  int size;
  (void)extra;
  MPI_Type_size(type, &size);
  *bytes = size;
  return MPI_SUCCESS;
}

/* For large counts the extent is an MPI_Count. */
#ifdef EVERY_LARGE
#define EXTENT MPI_Count
#else
#define EXTENT MPI_Aint
#endif

static void representations(void) {
  MPI_Datatype type;
  EXTENT bytes = -1;
  int in = 0, out = every_rank;
  RIGHT(N(MPI_Register_datarep)("turned over", from_file, to_file, extent, data));
  WRONG(MPI_ERR_DUP_DATAREP,
        N(MPI_Register_datarep)("turned over", from_file, to_file, extent, data));
  WRONG(MPI_ERR_DUP_DATAREP,
        N(MPI_Register_datarep)("native", from_file, to_file, extent, data));
  WRONG(MPI_ERR_ARG, N(MPI_Register_datarep)(NULL, from_file, to_file, extent, data));
  WRONG(MPI_ERR_ARG, N(MPI_Register_datarep)("other", from_file, to_file, NULL, data));
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "turned over", MPI_INFO_NULL);
  N(MPI_File_write_at)(file, every_rank, &out, 1, MPI_INT, MPI_STATUS_IGNORE);
  N(MPI_File_read_at)(file, every_rank, &in, 1, MPI_INT, MPI_STATUS_IGNORE);
  CHECK(in == every_rank);
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  N(MPI_File_read_at)(file, every_rank, &in, 1, MPI_INT, MPI_STATUS_IGNORE);
  CHECK(in == ~every_rank);
  MPI_Type_create_resized(MPI_INT, 0, 12, &type);
  RIGHT(N(MPI_File_get_type_extent)(file, type, &bytes));
  CHECK(bytes == 12);
  MPI_Type_free(&type);
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL);
  RIGHT(N(MPI_File_get_type_extent)(file, MPI_LONG, &bytes));
  CHECK(bytes == 4); /* MPI-4.1 section 14.5.2 */
  WRONG(MPI_ERR_FILE, N(MPI_File_get_type_extent)(MPI_FILE_NULL, MPI_INT, &bytes));
  WRONG(MPI_ERR_TYPE, N(MPI_File_get_type_extent)(file, MPI_DATATYPE_NULL, &bytes));
  WRONG(MPI_ERR_ARG, N(MPI_File_get_type_extent)(file, MPI_INT, NULL));
}

/* Reads where only writes are allowed, and the reverse. */
static void modes(void) {
  MPI_Status status;
  MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_WRONLY | MPI_MODE_CREATE, MPI_INFO_NULL,
                &file);
  WRONG(MPI_ERR_ACCESS, N(MPI_File_read)(file, data, 1, MPI_INT, &status));
  WRONG(MPI_ERR_ACCESS, N(MPI_File_read_at_all)(file, 0, data, 1, MPI_INT, &status));
  WRONG(MPI_ERR_ACCESS, N(MPI_File_iread_shared)(file, data, 1, MPI_INT, &unused));
  MPI_File_close(&file);
  MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE,
                MPI_INFO_NULL, &file);
  WRONG(MPI_ERR_READ_ONLY, N(MPI_File_write)(file, data, 1, MPI_INT, &status));
  WRONG(MPI_ERR_READ_ONLY, N(MPI_File_write_all)(file, data, 1, MPI_INT, &status));
  WRONG(MPI_ERR_READ_ONLY, N(MPI_File_iwrite_at)(file, 0, data, 1, MPI_INT, &unused));
  MPI_File_close(&file);
}

int main(int argc, char** argv) {
  every_begin(&argc, &argv);
  const char* folder = getenv("TMPDIR");
  snprintf(name, sizeof name, "%s/every_accesses.%ld", folder != NULL ? folder : "/tmp",
           (long)(MPI_Wtime() * 1e6));
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  data[0] = data[1] = -1;
  unused = MPI_REQUEST_NULL;
  place = 8 * every_rank;
  MPI_File_open(MPI_COMM_WORLD, name,
                MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE,
                MPI_INFO_NULL, &file);
  explicit_offsets();
  own_pointers();
  shared_pointer();
  representations();
  MPI_File_close(&file);
  modes();
  return every_end();
}
