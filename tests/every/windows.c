/* Functions on windows that have large-count variants: any number of ranks. */
#include "every.h"

enum { kInts = 8 };
static int* memory; /* of this rank in the window, kInts */
static int right, left;

static void fill(MPI_Win win) {
  MPI_Win_fence(0, win);
  for (int i = 0; i < kInts; ++i) memory[i] = 100 * every_rank + i;
  MPI_Win_fence(0, win);
}

static void making(void) {
  int data[2] = {0, 0};
  void* base;
  MPI_Win win = MPI_WIN_NULL;
  const MPI_Comm comm = MPI_COMM_WORLD;
  RIGHT(N(MPI_Win_create)(data, sizeof data, sizeof(int), MPI_INFO_NULL, comm, &win));
  MPI_Win_fence(0, win);
  N(MPI_Put)(&every_rank, 1, MPI_INT, right, 1, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  CHECK(data[0] == 0 && data[1] == left);
  MPI_Win_free(&win);
  WRONG(MPI_ERR_SIZE, N(MPI_Win_create)(data, -1, 1, MPI_INFO_NULL, comm, &win));
  WRONG(MPI_ERR_DISP, N(MPI_Win_create)(data, 8, 0, MPI_INFO_NULL, comm, &win));
  WRONG(MPI_ERR_COMM,
        N(MPI_Win_create)(data, 8, 1, MPI_INFO_NULL, MPI_COMM_NULL, &win));
  WRONG(MPI_ERR_ARG, N(MPI_Win_create)(data, 8, 1, MPI_INFO_NULL, comm, NULL));
  WRONG(MPI_ERR_INFO, N(MPI_Win_create)(data, 8, 1, (MPI_Info)MPI_INT, comm, &win));
  WRONG(MPI_ERR_SIZE, N(MPI_Win_allocate)(-1, 1, MPI_INFO_NULL, comm, &base, &win));
  WRONG(MPI_ERR_DISP, N(MPI_Win_allocate)(8, -4, MPI_INFO_NULL, comm, &base, &win));
  WRONG(MPI_ERR_COMM,
        N(MPI_Win_allocate)(8, 1, MPI_INFO_NULL, MPI_COMM_NULL, &base, &win));
  CHECK(win == MPI_WIN_NULL);
}

static void shared(void) {
  MPI_Win win = MPI_WIN_NULL;
  int *mine = NULL, *theirs = NULL;
  MPI_Aint bytes = -1;
  disp_t unit = -1;
  const MPI_Comm comm = MPI_COMM_WORLD;
  RIGHT(N(MPI_Win_allocate_shared)(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, comm,
                                   &mine, &win));
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  RIGHT(N(MPI_Win_shared_query)(win, right, &bytes, &unit, &theirs));
  CHECK(bytes == 2 * sizeof(int) && unit == sizeof(int) && theirs != NULL);
  MPI_Win_fence(0, win);
  theirs[1] = every_rank + 1000;
  MPI_Win_fence(0, win);
  CHECK(mine[1] == left + 1000);
  RIGHT(N(MPI_Win_shared_query)(win, MPI_PROC_NULL, &bytes, &unit, &theirs));
  CHECK(bytes == 2 * sizeof(int) && unit == sizeof(int) && theirs != NULL);
  WRONG(MPI_ERR_RANK, N(MPI_Win_shared_query)(win, every_size, &bytes, &unit, &theirs));
  WRONG(MPI_ERR_WIN, N(MPI_Win_shared_query)(MPI_WIN_NULL, 0, &bytes, &unit, &theirs));
  MPI_Win_free(&win);
  WRONG(MPI_ERR_SIZE,
        N(MPI_Win_allocate_shared)(-1, 1, MPI_INFO_NULL, comm, &mine, &win));
  WRONG(MPI_ERR_DISP,
        N(MPI_Win_allocate_shared)(8, 0, MPI_INFO_NULL, comm, &mine, &win));
  WRONG(MPI_ERR_COMM,
        N(MPI_Win_allocate_shared)(8, 1, MPI_INFO_NULL, MPI_COMM_NULL, &mine, &win));
  MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  WRONG(MPI_ERR_RMA_FLAVOR, N(MPI_Win_shared_query)(win, 0, &bytes, &unit, &theirs));
  MPI_Win_free(&win);
}

static void put_and_get(MPI_Win win) {
  int out[2] = {every_rank, every_rank + 1}, in[2] = {-1, -1};
  fill(win);
  RIGHT(N(MPI_Put)(out, 2, MPI_INT, right, 2, 2, MPI_INT, win));
  RIGHT(N(MPI_Put)(out, 2, MPI_INT, MPI_PROC_NULL, 2, 2, MPI_INT, win));
  MPI_Win_fence(0, win);
  CHECK(memory[1] == 100 * every_rank + 1 && memory[2] == left &&
        memory[3] == left + 1);
  RIGHT(N(MPI_Get)(in, 2, MPI_INT, right, 4, 2, MPI_INT, win));
  MPI_Win_fence(0, win);
  CHECK(in[0] == 100 * right + 4 && in[1] == 100 * right + 5);
  WRONG(MPI_ERR_RANK, N(MPI_Put)(out, 1, MPI_INT, every_size, 0, 1, MPI_INT, win));
  WRONG(MPI_ERR_COUNT, N(MPI_Put)(out, -1, MPI_INT, 0, 0, 1, MPI_INT, win));
  WRONG(MPI_ERR_COUNT, N(MPI_Put)(out, 1, MPI_INT, 0, 0, -1, MPI_INT, win));
  WRONG(MPI_ERR_TYPE, N(MPI_Put)(out, 1, MPI_DATATYPE_NULL, 0, 0, 1, MPI_INT, win));
  WRONG(MPI_ERR_DISP, N(MPI_Put)(out, 1, MPI_INT, 0, -1, 1, MPI_INT, win));
  WRONG(MPI_ERR_RMA_RANGE, N(MPI_Put)(out, 1, MPI_INT, 0, kInts, 1, MPI_INT, win));
  WRONG(MPI_ERR_WIN, N(MPI_Put)(out, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_WIN_NULL));
  WRONG(MPI_ERR_RANK, N(MPI_Get)(in, 1, MPI_INT, -77, 0, 1, MPI_INT, win));
  WRONG(MPI_ERR_COUNT, N(MPI_Get)(in, -1, MPI_INT, 0, 0, 1, MPI_INT, win));
  WRONG(MPI_ERR_TYPE, N(MPI_Get)(in, 1, MPI_INT, 0, 0, 1, MPI_DATATYPE_NULL, win));
  WRONG(MPI_ERR_RMA_RANGE, N(MPI_Get)(in, 2, MPI_INT, 0, kInts - 1, 2, MPI_INT, win));
  WRONG(MPI_ERR_WIN, N(MPI_Get)(in, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_WIN_NULL));
  MPI_Win_fence(0, win);
}

static void accumulate(MPI_Win win) {
  int out[2] = {1, 2}, got[2] = {-1, -1};
  fill(win);
  RIGHT(N(MPI_Accumulate)(out, 2, MPI_INT, right, 0, 2, MPI_INT, MPI_SUM, win));
  MPI_Win_fence(0, win);
  CHECK(memory[0] == 100 * every_rank + 1 && memory[1] == 100 * every_rank + 3);
  RIGHT(N(MPI_Get_accumulate)(out, 2, MPI_INT, got, 2, MPI_INT, right, 2, 2, MPI_INT,
                              MPI_REPLACE, win));
  MPI_Win_fence(0, win);
  CHECK(got[0] == 100 * right + 2 && got[1] == 100 * right + 3);
  CHECK(memory[2] == 1 && memory[3] == 2);
  RIGHT(N(MPI_Get_accumulate)(NULL, 0, MPI_INT, got, 1, MPI_INT, right, 3, 1, MPI_INT,
                              MPI_NO_OP, win));
  MPI_Win_fence(0, win);
  CHECK(got[0] == 2);
  WRONG(MPI_ERR_OP,
        N(MPI_Accumulate)(out, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_OP_NULL, win));
  WRONG(MPI_ERR_COUNT,
        N(MPI_Accumulate)(out, -1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win));
  WRONG(MPI_ERR_RANK,
        N(MPI_Accumulate)(out, 1, MPI_INT, every_size, 0, 1, MPI_INT, MPI_SUM, win));
  WRONG(MPI_ERR_TYPE,
        N(MPI_Accumulate)(out, 1, MPI_DATATYPE_NULL, 0, 0, 1, MPI_INT, MPI_SUM, win));
  WRONG(MPI_ERR_WIN,
        N(MPI_Accumulate)(out, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, MPI_WIN_NULL));
  WRONG(MPI_ERR_OP, N(MPI_Get_accumulate)(out, 1, MPI_INT, got, 1, MPI_INT, 0, 0, 1,
                                          MPI_INT, MPI_OP_NULL, win));
  WRONG(MPI_ERR_COUNT, N(MPI_Get_accumulate)(out, 1, MPI_INT, got, -1, MPI_INT, 0, 0, 1,
                                             MPI_INT, MPI_SUM, win));
  WRONG(MPI_ERR_RANK, N(MPI_Get_accumulate)(out, 1, MPI_INT, got, 1, MPI_INT, -77, 0, 1,
                                            MPI_INT, MPI_SUM, win));
  WRONG(MPI_ERR_TYPE, N(MPI_Get_accumulate)(out, 1, MPI_INT, got, 1, MPI_DATATYPE_NULL,
                                            0, 0, 1, MPI_INT, MPI_SUM, win));
  WRONG(MPI_ERR_WIN, N(MPI_Get_accumulate)(out, 1, MPI_INT, got, 1, MPI_INT, 0, 0, 1,
                                           MPI_INT, MPI_SUM, MPI_WIN_NULL));
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
}

/* Wrong calls before an epoch has begun, too. */
static void with_requests(MPI_Win win) {
  int out[2] = {7, 9}, in[2] = {-1, -1}, got[2] = {-1, -1};
  MPI_Request request = MPI_REQUEST_NULL, none = MPI_REQUEST_NULL;
  for (int i = 0; i < kInts; ++i) memory[i] = 100 * every_rank + i;
  MPI_Barrier(MPI_COMM_WORLD);
  WRONG(MPI_ERR_RMA_SYNC,
        N(MPI_Rput)(out, 2, MPI_INT, right, 0, 2, MPI_INT, win, &none));
  MPI_Win_lock_all(0, win);
  RIGHT(N(MPI_Rput)(out, 2, MPI_INT, right, 0, 2, MPI_INT, win, &request));
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Win_flush(right, win);
  RIGHT(N(MPI_Rget)(in, 2, MPI_INT, right, 0, 2, MPI_INT, win, &request));
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(in[0] == 7 && in[1] == 9);
  RIGHT(N(MPI_Raccumulate)(out, 2, MPI_INT, right, 2, 2, MPI_INT, MPI_SUM, win,
                           &request));
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Win_flush(right, win);
  RIGHT(N(MPI_Rget_accumulate)(out, 2, MPI_INT, got, 2, MPI_INT, right, 2, 2, MPI_INT,
                               MPI_REPLACE, win, &request));
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(got[0] == 100 * right + 2 + 7 && got[1] == 100 * right + 3 + 9);
  WRONG(MPI_ERR_RANK,
        N(MPI_Rput)(out, 1, MPI_INT, every_size, 0, 1, MPI_INT, win, &none));
  WRONG(MPI_ERR_COUNT, N(MPI_Rput)(out, -1, MPI_INT, 0, 0, 1, MPI_INT, win, &none));
  WRONG(MPI_ERR_ARG, N(MPI_Rput)(out, 1, MPI_INT, 0, 0, 1, MPI_INT, win, NULL));
  WRONG(MPI_ERR_WIN,
        N(MPI_Rput)(out, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_WIN_NULL, &none));
  WRONG(MPI_ERR_RMA_RANGE,
        N(MPI_Rget)(in, 1, MPI_INT, 0, kInts, 1, MPI_INT, win, &none));
  WRONG(MPI_ERR_COUNT, N(MPI_Rget)(in, 1, MPI_INT, 0, 0, -1, MPI_INT, win, &none));
  WRONG(MPI_ERR_WIN,
        N(MPI_Rget)(in, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_WIN_NULL, &none));
  WRONG(MPI_ERR_OP,
        N(MPI_Raccumulate)(out, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_OP_NULL, win, &none));
  WRONG(MPI_ERR_TYPE, N(MPI_Raccumulate)(out, 1, MPI_INT, 0, 0, 1, MPI_DATATYPE_NULL,
                                         MPI_SUM, win, &none));
  WRONG(MPI_ERR_DISP,
        N(MPI_Raccumulate)(out, 1, MPI_INT, 0, -1, 1, MPI_INT, MPI_SUM, win, &none));
  WRONG(MPI_ERR_RANK, N(MPI_Rget_accumulate)(out, 1, MPI_INT, got, 1, MPI_INT, -77, 0,
                                             1, MPI_INT, MPI_SUM, win, &none));
  WRONG(MPI_ERR_OP, N(MPI_Rget_accumulate)(out, 1, MPI_INT, got, 1, MPI_INT, 0, 0, 1,
                                           MPI_INT, MPI_OP_NULL, win, &none));
  CHECK(none == MPI_REQUEST_NULL);
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(memory[0] == 7 && memory[1] == 9 && memory[2] == 7 && memory[3] == 9);
  CHECK(memory[4] == 100 * every_rank + 4);
}

int main(int argc, char** argv) {
  MPI_Win win = MPI_WIN_NULL;
  every_begin(&argc, &argv);
  right = (every_rank + 1) % every_size;
  left = (every_rank + every_size - 1) % every_size;
  making();
  shared();
  RIGHT(N(MPI_Win_allocate)(kInts * sizeof(int), sizeof(int), MPI_INFO_NULL,
                            MPI_COMM_WORLD, &memory, &win));
  CHECK(memory != NULL && win != MPI_WIN_NULL);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  put_and_get(win);
  accumulate(win);
  with_requests(win);
  MPI_Win_free(&win);
  return every_end();
}
