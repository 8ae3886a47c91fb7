/* Files: accesses that go on while the ranks do something else, by whoever does them.
   usage: file_async [uring | threads]: who must have done them; nothing: whoever may. */
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include "file_check.h"

enum { kInts = 700 * 1001 }; /* of each rank: 2.8 MB */

static int rank, size;

/* Counters of the process, from now on. */
static MPI_T_pvar_session session;
static MPI_T_pvar_handle uring, threads;

static MPI_T_pvar_handle begin_to_count(const char* name) {
  int index, count;
  MPI_T_pvar_handle handle;
  CHECK(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index) == MPI_SUCCESS);
  CHECK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count) == MPI_SUCCESS);
  CHECK(MPI_T_pvar_start(session, handle) == MPI_SUCCESS);
  return handle;
}
static unsigned long long count(MPI_T_pvar_handle handle) {
  unsigned long long value = 0;
  CHECK(MPI_T_pvar_read(session, handle, &value) == MPI_SUCCESS);
  return value;
}

static int value_of(int writer, int i) { return writer * 1000003 + i; }

static void fill(int* data) {
  for (int i = 0; i < kInts; ++i) data[i] = value_of(rank, i);
}
static void check(const int* data, int writer, int n) {
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += data[i] != value_of(writer, i);
  CHECK(wrong == 0);
}

/* Ways to wait. */
static void by_wait(MPI_Request* request, MPI_Status* status) {
  CHECK(MPI_Wait(request, status) == MPI_SUCCESS);
}
static void by_tests(MPI_Request* request, MPI_Status* status) {
  int is_over = 0;
  while (!is_over) CHECK(MPI_Test(request, &is_over, status) == MPI_SUCCESS);
}
static void by_messages(MPI_Request* request, MPI_Status* status) {
  int is_over = 0, one = 1, all;
  while (!is_over) {
    MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(MPI_Request_get_status(*request, &is_over, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    MPI_Allreduce(MPI_IN_PLACE, &is_over, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  }
  CHECK(MPI_Wait(request, status) == MPI_SUCCESS);
}
static void (*const ways[])(MPI_Request*, MPI_Status*) = {by_wait, by_tests,
                                                          by_messages};

static void write_and_read(MPI_File file, int* data, int* back) {
  const MPI_Offset mine = (MPI_Offset)sizeof(int) * kInts * rank;
  const int next = (rank + 1) % size;
  MPI_Request request;
  MPI_Status status;
  for (size_t way = 0; way < sizeof ways / sizeof *ways; ++way) {
    fill(data);
    CHECK(MPI_File_iwrite_at(file, mine, data, kInts, MPI_INT, &request) ==
          MPI_SUCCESS);
    ways[way](&request, &status);
    CHECK(count_of(&status, MPI_INT) == kInts);
    MPI_Barrier(MPI_COMM_WORLD);
    memset(back, 0, sizeof(int) * kInts);
    CHECK(MPI_File_iread_at(file, (MPI_Offset)sizeof(int) * kInts * next, back, kInts,
                            MPI_INT, &request) == MPI_SUCCESS);
    ways[way](&request, &status);
    CHECK(count_of(&status, MPI_INT) == kInts);
    check(back, next, kInts);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  /* The file ends within the access. */
  const MPI_Offset last = (MPI_Offset)sizeof(int) * kInts * (size - 1);
  CHECK(MPI_File_iread_at(file, last + 4000, back, kInts, MPI_INT, &request) ==
        MPI_SUCCESS);
  by_wait(&request, &status);
  CHECK(count_of(&status, MPI_INT) == kInts - 1000);
  CHECK(MPI_File_iread_at(file, 2 * last + 4 * kInts, back, 10000, MPI_INT, &request) ==
        MPI_SUCCESS);
  by_wait(&request, &status);
  CHECK(count_of(&status, MPI_INT) == 0);
}

/* Many at a time, more than any queue is long; the last one is completed first. */
static void many(MPI_File file, int* data, int* back) {
  enum { kParts = 70, kPart = kInts / kParts };
  MPI_Request requests[2 * kParts];
  const MPI_Offset mine = (MPI_Offset)sizeof(int) * kInts * rank;
  fill(data);
  for (int i = 0; i < kParts; ++i)
    MPI_File_iwrite_at(file, mine + 4 * kPart * i, data + kPart * i, kPart, MPI_INT,
                       &requests[i]);
  for (int i = kParts; i-- > 0;)
    CHECK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE) == MPI_SUCCESS);
  memset(back, 0, sizeof(int) * kInts);
  for (int i = 0; i < kParts; ++i)
    MPI_File_iread_at(file, mine + 4 * kPart * i, back + kPart * i, kPart, MPI_INT,
                      &requests[i]);
  CHECK(MPI_Waitall(kParts, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
  check(back, rank, kInts);
}

/* Large blocks of all ranks in turn; and with gaps in memory. */
static void views(MPI_File file, int* data, int* back) {
  enum { kBlock = 10010 };
  MPI_Datatype block, filetype, every_second;
  MPI_Request request;
  MPI_Status status;
  MPI_Type_contiguous(kBlock, MPI_INT, &block);
  MPI_Type_create_resized(block, 0, (MPI_Aint)sizeof(int) * kBlock * size, &filetype);
  MPI_Type_commit(&filetype);
  MPI_Type_vector(kInts / 2, 1, 2, MPI_INT, &every_second);
  MPI_Type_commit(&every_second);
  CHECK(MPI_File_set_view(file, (MPI_Offset)sizeof(int) * kBlock * rank, MPI_INT,
                          filetype, "native", MPI_INFO_NULL) == MPI_SUCCESS);
  fill(data);
  CHECK(MPI_File_iwrite(file, data, kInts, MPI_INT, &request) == MPI_SUCCESS);
  by_wait(&request, &status);
  CHECK(count_of(&status, MPI_INT) == kInts);
  memset(back, 0, sizeof(int) * kInts);
  CHECK(MPI_File_iread_at_all(file, 0, back, kInts, MPI_INT, &request) == MPI_SUCCESS);
  by_wait(&request, &status);
  CHECK(count_of(&status, MPI_INT) == kInts);
  check(back, rank, kInts);
  CHECK(MPI_File_iread_at(file, 0, back, 1, every_second, &request) == MPI_SUCCESS);
  by_wait(&request, &status);
  for (int i = 0; i < kInts / 2; ++i) back[i] = back[2 * i];
  check(back, rank, kInts / 2);
  CHECK(MPI_File_write_at_all_begin(file, 0, data, kInts, MPI_INT) == MPI_SUCCESS);
  CHECK(MPI_File_write_at_all_end(file, data, &status) == MPI_SUCCESS);
  CHECK(count_of(&status, MPI_INT) == kInts);
  CHECK(MPI_File_set_atomicity(file, 1) == MPI_SUCCESS);
  CHECK(MPI_File_iwrite_at(file, 0, data, kInts, MPI_INT, &request) == MPI_SUCCESS);
  by_tests(&request, &status);
  CHECK(count_of(&status, MPI_INT) == kInts);
  CHECK(MPI_File_set_atomicity(file, 0) == MPI_SUCCESS);
  MPI_Type_free(&block);
  MPI_Type_free(&filetype);
  MPI_Type_free(&every_second);
}

/* No rank calls MPI until the file has everything: more pieces than are given to the kernel at once. */
static void while_all_compute(MPI_File file, const char* name, int* data, int* back) {
  MPI_Request request;
  MPI_Offset length;
  CHECK(MPI_File_set_size(file, 0) == MPI_SUCCESS);
  fill(data);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_File_iwrite_at(file, 0, data, kInts, MPI_INT, &request) == MPI_SUCCESS);
  const int fd = open(name, O_RDONLY);
  const double end = MPI_Wtime() + 60;
  volatile double work = 0;
  do {
    for (int i = 0; i < 100000; ++i) work += i;
    length = lseek(fd, 0, SEEK_END);
  } while (length < (MPI_Offset)sizeof(int) * kInts * size && MPI_Wtime() < end);
  CHECK(MPI_Wtime() < end);
  close(fd);
  CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(MPI_File_read_at(file, 0, back, kInts, MPI_INT, MPI_STATUS_IGNORE) ==
        MPI_SUCCESS);
  check(back, rank, kInts);
}

/* The file may not become longer: a part is written, the rest is an error. */
static void no_room(MPI_File file, int* data) {
  struct rlimit before, limit;
  MPI_Request request;
  MPI_Status status;
  MPI_Offset length = 0;
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  CHECK(MPI_File_set_size(file, 0) == MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    limit.rlim_cur = 1000000;
    setrlimit(RLIMIT_FSIZE, &limit);
    CHECK(MPI_File_iwrite_at(file, 0, data, kInts, MPI_INT, &request) == MPI_SUCCESS);
    CHECK(class_of(MPI_Wait(&request, &status)) == MPI_ERR_IO);
    setrlimit(RLIMIT_FSIZE, &before);
    CHECK(count_of(&status, MPI_INT) == 250000);
    CHECK(request == MPI_REQUEST_NULL);
    MPI_File_get_size(file, &length);
    CHECK(length == 1000000);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Half of the members wait before the last one has come, which goes on and keeps the cores busy. */
static void late_members(MPI_File file, int* data, int* back) {
  const int n = 20000, is_late = rank % 2; /* too long to be put together */
  for (int round = 0; round < 10; ++round) {
    MPI_Request request;
    for (int i = 0; i < n; ++i) data[i] = rank * n + i + round;
    CHECK(MPI_File_write_at_all(file, (MPI_Offset)rank * n * 4, data, n, MPI_INT,
                                MPI_STATUS_IGNORE) == MPI_SUCCESS);
    const double begin = MPI_Wtime();
    while (is_late && MPI_Wtime() < begin + 0.001) {
    }
    CHECK(MPI_File_iread_at_all(file, (MPI_Offset)rank * n * 4, back, n, MPI_INT,
                                &request) == MPI_SUCCESS);
    while (is_late && MPI_Wtime() < begin + 0.004) {
    }
    MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
    CHECK(memcmp(data, back, sizeof(int) * (size_t)n) == 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static void check_who(const char* who) {
  if (who == NULL) return;
  CHECK((count(uring) > 0) == (strcmp(who, "uring") == 0));
  CHECK(count(threads) > 0); /* also those that are not for the kernel */
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int provided;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  CHECK(MPI_T_pvar_session_create(&session) == MPI_SUCCESS);
  uring = begin_to_count("io.uring_accesses");
  threads = begin_to_count("io.thread_accesses");
  MPI_Barrier(MPI_COMM_WORLD);
  int *data = malloc(sizeof(int) * kInts), *back = malloc(sizeof(int) * kInts);
  const char* name = new_file_name();
  MPI_File file = new_file(name);
  write_and_read(file, data, back);
  many(file, data, back);
  views(file, data, back);
  while_all_compute(file, name, data, back);
  CHECK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL) ==
        MPI_SUCCESS);
  late_members(file, data, back);
  no_room(file, data);
  check_who(argc > 1 ? argv[1] : NULL);
  MPI_Barrier(MPI_COMM_WORLD); /* all have counted */
  CHECK(MPI_File_close(&file) == MPI_SUCCESS);
  MPI_T_finalize();
  const int status = finish();
  free(data);
  free(back);
  return status;
}
