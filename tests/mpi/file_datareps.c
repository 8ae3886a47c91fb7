/* Files in other representations: external32, and one of the user. */
#include <arpa/inet.h>
#include <stdint.h>

#include "file_check.h"

static int rank, size;

static void external32(const char* name) {
  MPI_File file = new_file(name);
  MPI_Status status;
  MPI_Aint extent;
  MPI_Datatype pairs;
  long data[2] = {rank + 1, -rank}, back[2] = {0, 0};
  int32_t raw[2];
  /* Every rank has two longs in a row, of four bytes each in the file; the view is of longs. */
  MPI_Type_vector(1, 2, 2, MPI_LONG, &pairs);
  MPI_Type_commit(&pairs);
  CHECK(MPI_File_set_view(file, 8 * rank, MPI_LONG, pairs, "external32",
                          MPI_INFO_NULL) == MPI_SUCCESS);
  CHECK(MPI_File_get_type_extent(file, MPI_LONG, &extent) == MPI_SUCCESS &&
        extent == 4);
  CHECK(MPI_File_get_type_extent(file, pairs, &extent) == MPI_SUCCESS && extent == 8);
  CHECK(MPI_File_write_at_all(file, 0, data, 2, MPI_LONG, &status) == MPI_SUCCESS);
  CHECK(count_of(&status, MPI_LONG) == 2);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_File_read_at(file, 0, back, 2, MPI_LONG, &status) == MPI_SUCCESS);
  CHECK(count_of(&status, MPI_LONG) == 2 && back[0] == data[0] && back[1] == data[1]);
  back[0] = back[1] = 77;
  CHECK(MPI_File_read_all(file, back, 1, pairs, &status) == MPI_SUCCESS);
  CHECK(back[0] == data[0] && back[1] == data[1]);
  CHECK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL) ==
        MPI_SUCCESS);
  CHECK(MPI_File_read_at(file, 8 * rank, raw, 8, MPI_BYTE, &status) == MPI_SUCCESS);
  CHECK((int32_t)ntohl((uint32_t)raw[0]) == rank + 1);
  CHECK((int32_t)ntohl((uint32_t)raw[1]) == -rank);
  long large = 1L << 40;
  CHECK(MPI_File_set_view(file, 0, MPI_LONG, MPI_LONG, "external32", MPI_INFO_NULL) ==
        MPI_SUCCESS);
  CHECK(class_of(MPI_File_write(file, &large, 1, MPI_LONG, &status)) ==
        MPI_ERR_CONVERSION);
  MPI_File_close(&file);
  MPI_Type_free(&pairs);
}

/* Ints as decimal text of 12 characters. */
static int calls;
static int text_extent(MPI_Datatype type, MPI_Aint* extent, void* state) {
  (void)state;
  *extent = type == MPI_INT ? 12 : 0;
  return type == MPI_INT ? MPI_SUCCESS : MPI_ERR_TYPE;
}
static int write_text(void* user, MPI_Datatype type, int count, void* file,
                      MPI_Offset position, void* state) {
  (void)type;
  ++*(int*)state;
  for (int i = 0; i < count; ++i) {
    char text[13];
    snprintf(text, sizeof text, "%12d", ((int*)user)[position + i]);
    memcpy((char*)file + 12 * i, text, 12);
  }
  return MPI_SUCCESS;
}
static int read_text(void* user, MPI_Datatype type, int count, void* file,
                     MPI_Offset position, void* state) {
  (void)type;
  ++*(int*)state;
  for (int i = 0; i < count; ++i) {
    char text[13] = "";
    memcpy(text, (char*)file + 12 * i, 12);
    ((int*)user)[position + i] = atoi(text);
  }
  return MPI_SUCCESS;
}

static void of_the_user(const char* name) {
  MPI_File file = new_file(name);
  MPI_Status status;
  MPI_Request request;
  char text[13] = "";
  int data[3] = {rank, -5, 1000000}, back[3] = {0, 0, 0};
  CHECK(MPI_Register_datarep("text", read_text, write_text, text_extent, &calls) ==
        MPI_SUCCESS);
  CHECK(class_of(MPI_Register_datarep("text", read_text, write_text, text_extent,
                                      &calls)) == MPI_ERR_DUP_DATAREP);
  CHECK(class_of(MPI_Register_datarep("native", read_text, write_text, text_extent,
                                      &calls)) == MPI_ERR_DUP_DATAREP);
  CHECK(MPI_File_set_view(file, 36 * rank, MPI_INT, MPI_INT, "text", MPI_INFO_NULL) ==
        MPI_SUCCESS);
  CHECK(MPI_File_write_all(file, data, 3, MPI_INT, &status) == MPI_SUCCESS);
  CHECK(count_of(&status, MPI_INT) == 3 && calls == 1);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_File_iread_at(file, 0, back, 3, MPI_INT, &request) == MPI_SUCCESS);
  CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
  CHECK(count_of(&status, MPI_INT) == 3 && calls == 2 &&
        memcmp(data, back, sizeof data) == 0);
  CHECK(MPI_File_set_view(file, 0, MPI_CHAR, MPI_CHAR, "native", MPI_INFO_NULL) ==
        MPI_SUCCESS);
  CHECK(MPI_File_read_at(file, 36 * rank + 24, text, 12, MPI_CHAR, &status) ==
        MPI_SUCCESS);
  CHECK(strcmp(text, "     1000000") == 0);
  MPI_File_close(&file);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char* name = new_file_name();
  external32(name);
  of_the_user(name);
  return finish();
}
