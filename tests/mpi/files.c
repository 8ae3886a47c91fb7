/* Files: views, the three kinds of pointers, blocking, non-blocking, collective and split accesses. */
#include "file_check.h"

static int rank, size;

static void explicit_and_individual(const char* name) {
  MPI_File file = new_file(name);
  int mine[4], other[4], next = (rank + 1) % size;
  MPI_Status status;
  MPI_Offset place;
  for (int i = 0; i < 4; ++i) mine[i] = 100 * rank + i;
  CHECK(MPI_File_write_at(file, 16 * rank, mine, 4, MPI_INT, &status) == MPI_SUCCESS);
  CHECK(count_of(&status, MPI_INT) == 4);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_File_read_at(file, 16 * next, other, 4, MPI_INT, &status) == MPI_SUCCESS);
  for (int i = 0; i < 4; ++i) CHECK(other[i] == 100 * next + i);

  CHECK(MPI_File_seek(file, 16 * next, MPI_SEEK_SET) == MPI_SUCCESS);
  CHECK(MPI_File_read(file, other, 2, MPI_INT, &status) == MPI_SUCCESS);
  MPI_File_get_position(file, &place);
  CHECK(place == 16 * next + 8);
  CHECK(MPI_File_seek(file, -4, MPI_SEEK_CUR) == MPI_SUCCESS);
  CHECK(MPI_File_read(file, other, 1, MPI_INT, &status) == MPI_SUCCESS);
  CHECK(other[0] == 100 * next + 1);
  CHECK(MPI_File_seek(file, -4, MPI_SEEK_END) == MPI_SUCCESS);
  CHECK(MPI_File_read(file, other, 4, MPI_INT, &status) == MPI_SUCCESS);
  CHECK(count_of(&status, MPI_INT) == 1); /* the file ends */
  CHECK(other[0] == 100 * (size - 1) + 3);
  CHECK(MPI_File_read(file, other, 4, MPI_INT, &status) == MPI_SUCCESS);
  CHECK(count_of(&status, MPI_INT) == 0);
  CHECK(MPI_File_close(&file) == MPI_SUCCESS);
  CHECK(file == MPI_FILE_NULL);
  if (rank == 0) CHECK(access(name, F_OK) != 0); /* delete on close */
}

/* Each rank sees every size-th block of `block` ints. */
static MPI_Datatype blocks_of_rank(int block) {
  MPI_Datatype blocks, type;
  MPI_Type_vector(1, block, block, MPI_INT, &blocks);
  MPI_Type_create_resized(blocks, 0, (MPI_Aint)sizeof(int) * block * size, &type);
  MPI_Type_commit(&type);
  MPI_Type_free(&blocks);
  return type;
}

static void set_blocks(MPI_File file, int block, MPI_Offset displacement) {
  MPI_Datatype type = blocks_of_rank(block);
  CHECK(MPI_File_set_view(file, displacement + (MPI_Offset)sizeof(int) * block * rank,
                          MPI_INT, type, "native", MPI_INFO_NULL) == MPI_SUCCESS);
  MPI_Type_free(&type);
}

/* What rank writes as its i-th int, in blocks. */
static int value_of(int writer, int i) { return writer * 100000 + i; }

static void check_whole_file(MPI_File file, int block, int blocks, int header) {
  const int total = block * blocks * size;
  int* all = malloc(sizeof(int) * (size_t)(total + header));
  MPI_Status status;
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) ==
        MPI_SUCCESS);
  CHECK(MPI_File_read_at(file, 0, all, total + header, MPI_INT, &status) ==
        MPI_SUCCESS);
  CHECK(count_of(&status, MPI_INT) == total + header);
  int wrong = 0;
  for (int i = 0; i < total; ++i) {
    const int writer = i / block % size, own = i / (block * size) * block + i % block;
    wrong += all[header + i] != value_of(writer, own);
  }
  CHECK(wrong == 0);
  free(all);
}

typedef void Writer(MPI_File file, int* data, int n);

static void write_alone(MPI_File file, int* data, int n) {
  MPI_Status status;
  CHECK(MPI_File_write(file, data, n / 2, MPI_INT, &status) == MPI_SUCCESS);
  CHECK(MPI_File_write(file, data + n / 2, n - n / 2, MPI_INT, &status) == MPI_SUCCESS);
}
static void write_together(MPI_File file, int* data, int n) {
  MPI_Status status;
  CHECK(MPI_File_write_all(file, data, n / 3, MPI_INT, &status) == MPI_SUCCESS);
  CHECK(count_of(&status, MPI_INT) == n / 3);
  CHECK(MPI_File_write_at_all(file, n / 3, data + n / 3, n - n / 3, MPI_INT, &status) ==
        MPI_SUCCESS);
  CHECK(count_of(&status, MPI_INT) == n - n / 3);
}
static void write_from_gaps(MPI_File file, int* data, int n) {
  int* spread = malloc(sizeof(int) * 2 * (size_t)n);
  MPI_Datatype every_second;
  MPI_Status status;
  MPI_Type_vector(n, 1, 2, MPI_INT, &every_second);
  MPI_Type_commit(&every_second);
  for (int i = 0; i < n; ++i) spread[2 * i] = data[i], spread[2 * i + 1] = -1;
  CHECK(MPI_File_write_all(file, spread, 1, every_second, &status) == MPI_SUCCESS);
  CHECK(count_of(&status, MPI_INT) == n);
  MPI_Type_free(&every_second);
  free(spread);
}
static void write_in_background(MPI_File file, int* data, int n) {
  MPI_Request requests[3];
  MPI_Status statuses[3];
  const int third = n / 3;
  CHECK(MPI_File_iwrite_at(file, 0, data, third, MPI_INT, &requests[0]) == MPI_SUCCESS);
  MPI_File_seek(file, third, MPI_SEEK_SET);
  CHECK(MPI_File_iwrite(file, data + third, third, MPI_INT, &requests[1]) ==
        MPI_SUCCESS);
  CHECK(MPI_File_iwrite_all(file, data + 2 * third, n - 2 * third, MPI_INT,
                            &requests[2]) == MPI_SUCCESS);
  CHECK(MPI_Waitall(3, requests, statuses) == MPI_SUCCESS);
  CHECK(count_of(&statuses[0], MPI_INT) == third);
  CHECK(count_of(&statuses[2], MPI_INT) == n - 2 * third);
}
static void write_split(MPI_File file, int* data, int n) {
  MPI_Status status;
  CHECK(MPI_File_write_all_begin(file, data, n / 2, MPI_INT) == MPI_SUCCESS);
  CHECK(MPI_File_write_all_begin(file, data, 1, MPI_INT) !=
        MPI_SUCCESS); /* one at a time */
  CHECK(MPI_File_write_all_end(file, data, &status) == MPI_SUCCESS);
  CHECK(count_of(&status, MPI_INT) == n / 2);
  CHECK(MPI_File_write_at_all_begin(file, n / 2, data + n / 2, n - n / 2, MPI_INT) ==
        MPI_SUCCESS);
  CHECK(MPI_File_write_at_all_end(file, data + n / 2, &status) == MPI_SUCCESS);
}

static void strided(const char* name, Writer* writer, int block, int blocks,
                    int header) {
  MPI_File file = new_file(name);
  const int n = block * blocks;
  int* data = malloc(sizeof(int) * (size_t)n);
  int* back = malloc(sizeof(int) * (size_t)n);
  MPI_Status status;
  MPI_Request request;
  for (int i = 0; i < n; ++i) data[i] = value_of(rank, i);
  set_blocks(file, block, (MPI_Offset)sizeof(int) * header);
  writer(file, data, n);
  check_whole_file(file, block, blocks, header);

  set_blocks(file, block, (MPI_Offset)sizeof(int) * header);
  CHECK(MPI_File_read_all(file, back, n, MPI_INT, &status) == MPI_SUCCESS);
  CHECK(count_of(&status, MPI_INT) == n &&
        memcmp(data, back, sizeof(int) * (size_t)n) == 0);
  memset(back, 0, sizeof(int) * (size_t)n);
  CHECK(MPI_File_read_at(file, 0, back, n, MPI_INT, &status) == MPI_SUCCESS);
  CHECK(count_of(&status, MPI_INT) == n &&
        memcmp(data, back, sizeof(int) * (size_t)n) == 0);
  memset(back, 0, sizeof(int) * (size_t)n);
  CHECK(MPI_File_iread_at_all(file, 0, back, n, MPI_INT, &request) == MPI_SUCCESS);
  CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
  CHECK(count_of(&status, MPI_INT) == n &&
        memcmp(data, back, sizeof(int) * (size_t)n) == 0);
  memset(back, 0, sizeof(int) * (size_t)n);
  CHECK(MPI_File_iread_at(file, 0, back, n, MPI_INT, &request) == MPI_SUCCESS);
  CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
  CHECK(count_of(&status, MPI_INT) == n &&
        memcmp(data, back, sizeof(int) * (size_t)n) == 0);
  CHECK(MPI_File_close(&file) == MPI_SUCCESS);
  free(data);
  free(back);
}

static void shared_pointers(const char* name) {
  MPI_File file = new_file(name);
  MPI_Status status;
  MPI_Offset place;
  MPI_Request request;
  int value = rank + 1, seen = 0, sum = 0;
  CHECK(MPI_File_set_view(file, 8, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) ==
        MPI_SUCCESS);
  for (int i = 0; i < 3; ++i)
    CHECK(MPI_File_write_shared(file, &value, 1, MPI_INT, &status) == MPI_SUCCESS);
  CHECK(MPI_File_iwrite_shared(file, &value, 1, MPI_INT, &request) == MPI_SUCCESS);
  CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_File_get_position_shared(file, &place) == MPI_SUCCESS);
  CHECK(place == 4 * size);
  CHECK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET) == MPI_SUCCESS);
  for (int i = 0; i < 4; ++i) {
    CHECK(MPI_File_read_shared(file, &seen, 1, MPI_INT, &status) == MPI_SUCCESS);
    CHECK(count_of(&status, MPI_INT) == 1);
    sum += seen;
  }
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sum == 4 * size * (size + 1) / 2); /* each int once */

  /* In the order of ranks; rank has rank + 1 ints. */
  int* mine = malloc(sizeof(int) * (size_t)(rank + 1));
  for (int i = 0; i <= rank; ++i) mine[i] = 1000 * rank + i;
  CHECK(MPI_File_seek_shared(file, 1, MPI_SEEK_SET) == MPI_SUCCESS);
  CHECK(MPI_File_write_ordered(file, mine, rank + 1, MPI_INT, &status) == MPI_SUCCESS);
  CHECK(count_of(&status, MPI_INT) == rank + 1);
  CHECK(MPI_File_write_ordered_begin(file, mine, rank + 1, MPI_INT) == MPI_SUCCESS);
  CHECK(MPI_File_write_ordered_end(file, mine, &status) == MPI_SUCCESS);
  MPI_File_get_position_shared(file, &place);
  CHECK(place == 1 + size * (size + 1));
  MPI_Barrier(MPI_COMM_WORLD);
  int* back = calloc((size_t)rank + 1, sizeof(int));
  for (int turn = 0; turn < 2; ++turn) {
    const MPI_Offset at = 1 + turn * (size * (size + 1) / 2) + rank * (rank + 1) / 2;
    CHECK(MPI_File_read_at(file, at, back, rank + 1, MPI_INT, &status) == MPI_SUCCESS);
    CHECK(memcmp(mine, back, sizeof(int) * (size_t)(rank + 1)) == 0);
  }
  CHECK(MPI_File_seek_shared(file, 1, MPI_SEEK_SET) == MPI_SUCCESS);
  memset(back, 0, sizeof(int) * (size_t)(rank + 1));
  CHECK(MPI_File_read_ordered(file, back, rank + 1, MPI_INT, &status) == MPI_SUCCESS);
  CHECK(memcmp(mine, back, sizeof(int) * (size_t)(rank + 1)) == 0);
  CHECK(MPI_File_close(&file) == MPI_SUCCESS);
  free(mine);
  free(back);
}

/* A member that comes last to an ordered access has moved the pointer before, by calls of its own. */
static void late_to_order(const char* name) {
  MPI_File file = new_file(name);
  MPI_Offset place = -1;
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  if (rank == size - 1) {
    const int value = -1;
    usleep(20000);
    for (int i = 0; i < 3; ++i)
      MPI_File_write_shared(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
  }
  CHECK(MPI_File_write_ordered(file, &rank, 1, MPI_INT, MPI_STATUS_IGNORE) ==
        MPI_SUCCESS);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_File_get_position_shared(file, &place) == MPI_SUCCESS);
  CHECK(place == 3 + size);
  for (int i = 0; i < size; ++i) {
    int found = -1;
    MPI_File_read_at(file, 3 + i, &found, 1, MPI_INT, MPI_STATUS_IGNORE);
    CHECK(found == i);
  }
  MPI_File_close(&file);
}

/* Atomic mode: overlapping writes leave the data of one rank, not a mixture. */
static void atomic_mode(const char* name) {
  enum { kBlocks = 400 };
  MPI_File file = new_file(name);
  MPI_Datatype comb;
  MPI_Status status;
  int flag = 0;
  char data[kBlocks], back[kBlocks];
  MPI_Type_vector(kBlocks, 1, 3, MPI_CHAR, &comb);
  MPI_Type_commit(&comb);
  CHECK(MPI_File_set_view(file, 0, MPI_CHAR, comb, "native", MPI_INFO_NULL) ==
        MPI_SUCCESS);
  CHECK(MPI_File_set_atomicity(file, 1) == MPI_SUCCESS);
  CHECK(MPI_File_get_atomicity(file, &flag) == MPI_SUCCESS && flag);
  memset(data, 'A' + rank % 26, sizeof data);
  CHECK(MPI_File_write_at_all(file, 0, data, kBlocks, MPI_CHAR, &status) ==
        MPI_SUCCESS);
  for (int i = 0; i < 5; ++i) {
    CHECK(MPI_File_write_at(file, 0, data, kBlocks, MPI_CHAR, &status) == MPI_SUCCESS);
    CHECK(MPI_File_read_at(file, 0, back, kBlocks, MPI_CHAR, &status) == MPI_SUCCESS);
    for (int k = 1; k < kBlocks; ++k)
      if (back[k] != back[0]) {
        CHECK(!"a mixture");
        break;
      }
  }
  CHECK(MPI_File_close(&file) == MPI_SUCCESS);
  MPI_Type_free(&comb);
}

static void sizes(const char* name) {
  MPI_File file = new_file(name);
  MPI_Offset bytes = -1;
  CHECK(MPI_File_get_size(file, &bytes) == MPI_SUCCESS && bytes == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_File_set_size(file, 1000) == MPI_SUCCESS);
  CHECK(MPI_File_get_size(file, &bytes) == MPI_SUCCESS && bytes == 1000);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_File_preallocate(file, 5000) == MPI_SUCCESS);
  CHECK(MPI_File_get_size(file, &bytes) == MPI_SUCCESS && bytes == 5000);
  CHECK(MPI_File_sync(file) == MPI_SUCCESS);
  CHECK(MPI_File_close(&file) == MPI_SUCCESS);

  char text[] = "begin";
  MPI_Status status;
  file = open_file(name, MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_EXCL);
  if (rank == 0) CHECK(MPI_File_write(file, text, 5, MPI_CHAR, &status) == MPI_SUCCESS);
  CHECK(MPI_File_close(&file) == MPI_SUCCESS);
  file = open_file(name, MPI_MODE_WRONLY | MPI_MODE_APPEND | MPI_MODE_DELETE_ON_CLOSE);
  MPI_File_get_position(file, &bytes);
  CHECK(bytes == 5);
  MPI_File_get_position_shared(file, &bytes);
  CHECK(bytes == 5);
  CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

/* Rank 0 writes a header before its part of an array, all in one type: the array's lower bound is the whole type's, so
   its extent is shorter than it is, and a second tile would begin inside of the first. (PnetCDF has such views.) */
static void header_and_array(const char* name, int is_atomic) {
  enum { kHeader = 512, kRows = 4, kColumns = 3 };
  MPI_File file = new_file(name);
  MPI_Datatype array, type;
  MPI_Status status;
  const int sizes[] = {kRows, kColumns * size}, part[] = {kRows, kColumns},
            starts[] = {0, kColumns * rank};
  const int bytes = kRows * kColumns * (int)sizeof(int),
            mine = (rank == 0 ? kHeader : 0) + bytes;
  char data[kHeader + kRows * kColumns * sizeof(int)],
      *all = calloc(1, (size_t)(kHeader + bytes * size));
  MPI_Type_create_subarray(2, sizes, part, starts, MPI_ORDER_C, MPI_INT, &array);
  MPI_Type_create_struct(2, (int[]){rank == 0 ? kHeader : 0, 1},
                         (MPI_Aint[]){0, kHeader}, (MPI_Datatype[]){MPI_BYTE, array},
                         &type);
  MPI_Type_commit(&type);
  memset(data, 1 + rank, sizeof data);
  CHECK(MPI_File_set_atomicity(file, is_atomic) == MPI_SUCCESS);
  CHECK(MPI_File_set_view(file, 0, MPI_BYTE, type, "native", MPI_INFO_NULL) ==
        MPI_SUCCESS);
  CHECK(MPI_File_write_at_all(file, 0, data, mine, MPI_BYTE, &status) == MPI_SUCCESS);
  CHECK(count_of(&status, MPI_BYTE) == mine);
  memset(data, 0, sizeof data);
  CHECK(MPI_File_read_at_all(file, 0, data, mine, MPI_BYTE, &status) == MPI_SUCCESS);
  CHECK(count_of(&status, MPI_BYTE) == mine);
  for (int i = 0; i < mine; ++i) CHECK(data[i] == 1 + rank);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL) ==
        MPI_SUCCESS);
  CHECK(MPI_File_read_at(file, 0, all, kHeader + bytes * size, MPI_BYTE, &status) ==
        MPI_SUCCESS);
  for (int i = 0; i < kHeader; ++i) CHECK(all[i] == 1);
  for (int i = 0; i < kRows * kColumns * size; ++i)
    CHECK(all[kHeader + i * (int)sizeof(int)] == 1 + i / kColumns % size);
  MPI_Type_free(&array);
  MPI_Type_free(&type);
  free(all);
  CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char* name = new_file_name();
  Writer* const writers[] = {write_alone, write_together, write_from_gaps,
                             write_in_background, write_split};
  explicit_and_individual(name);
  for (size_t w = 0; w < sizeof writers / sizeof *writers; ++w) {
    strided(name, writers[w], 1, 300, 0);
    strided(name, writers[w], 5, 60, 3);
    strided(name, writers[w], 3000, 8, 1);
  }
  shared_pointers(name);
  late_to_order(name);
  atomic_mode(name);
  header_and_array(name, 0);
  header_and_array(name, 1);
  sizes(name);
  return finish();
}
