/* Wrong use of windows: each function of the chapter, and the class of its error. */
#include <stdint.h>
#include <string.h>

#include "check.h"

static int rank, size;

static int class_of(int code) {
  int class = MPI_SUCCESS;
  MPI_Error_class(code, &class);
  return class;
}
#define FAILS(call, class) CHECK(class_of(call) == (class))
#define SYNC(call) FAILS(call, MPI_ERR_RMA_SYNC)

static void making(void) {
  int memory[2];
  void* base;
  MPI_Win win = MPI_WIN_NULL;
  MPI_Comm comm = MPI_COMM_WORLD;
  FAILS(MPI_Win_create(memory, -1, 1, MPI_INFO_NULL, comm, &win), MPI_ERR_SIZE);
  FAILS(MPI_Win_create(memory, 8, 0, MPI_INFO_NULL, comm, &win), MPI_ERR_DISP);
  FAILS(MPI_Win_create_c(memory, 8, -4, MPI_INFO_NULL, comm, &win), MPI_ERR_DISP);
  FAILS(MPI_Win_create(memory, 8, 1, MPI_INFO_NULL, MPI_COMM_NULL, &win), MPI_ERR_COMM);
  FAILS(MPI_Win_create(memory, 8, 1, MPI_INFO_NULL, comm, NULL), MPI_ERR_ARG);
  FAILS(MPI_Win_allocate(-1, 1, MPI_INFO_NULL, comm, &base, &win), MPI_ERR_SIZE);
  FAILS(MPI_Win_allocate_c(8, 0, MPI_INFO_NULL, comm, &base, &win), MPI_ERR_DISP);
  FAILS(MPI_Win_allocate(INTPTR_MAX, 1, MPI_INFO_NULL, comm, &base, &win),
        MPI_ERR_NO_MEM);
  FAILS(MPI_Win_allocate_shared(-1, 1, MPI_INFO_NULL, comm, &base, &win), MPI_ERR_SIZE);
  FAILS(MPI_Win_allocate_shared_c(8, 0, MPI_INFO_NULL, comm, &base, &win),
        MPI_ERR_DISP);
  FAILS(MPI_Win_allocate_shared(INTPTR_MAX, 1, MPI_INFO_NULL, comm, &base, &win),
        MPI_ERR_NO_MEM);
  FAILS(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_NULL, &win), MPI_ERR_COMM);
  CHECK(win == MPI_WIN_NULL);
}

static void null_handles(void) {
  int value = 0, flag;
  char name[MPI_MAX_OBJECT_NAME] = "x";
  MPI_Win none = MPI_WIN_NULL;
  MPI_Group group;
  MPI_Info info;
  MPI_Aint bytes;
  void* base;
  MPI_Errhandler handler;
  FAILS(MPI_Win_free(&none), MPI_ERR_WIN);
  FAILS(MPI_Win_fence(0, none), MPI_ERR_WIN);
  FAILS(MPI_Win_get_group(none, &group), MPI_ERR_WIN);
  FAILS(MPI_Win_get_info(none, &info), MPI_ERR_WIN);
  FAILS(MPI_Win_set_info(none, MPI_INFO_NULL), MPI_ERR_WIN);
  FAILS(MPI_Win_set_name(none, name), MPI_ERR_WIN);
  FAILS(MPI_Win_shared_query(none, 0, &bytes, &value, &base), MPI_ERR_WIN);
  FAILS(MPI_Win_sync(none), MPI_ERR_WIN);
  FAILS(MPI_Win_test(none, &flag), MPI_ERR_WIN);
  FAILS(MPI_Win_attach(none, &value, 4), MPI_ERR_WIN);
  FAILS(MPI_Win_get_errhandler(none, &handler), MPI_ERR_WIN);
  FAILS(MPI_Win_call_errhandler(none, MPI_ERR_ARG), MPI_ERR_WIN);
  FAILS(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, (MPI_Win)MPI_COMM_WORLD),
        MPI_ERR_WIN);
}

/* No epoch is open; in `win` nothing but the group is used. */
static void without_epoch(MPI_Win win, MPI_Group all) {
  int value = 0, got = 0;
  MPI_Request request;
  SYNC(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
  SYNC(MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
  SYNC(MPI_Accumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win));
  SYNC(MPI_Get_accumulate(&value, 1, MPI_INT, &got, 1, MPI_INT, 0, 0, 1, MPI_INT,
                          MPI_SUM, win));
  SYNC(MPI_Fetch_and_op(&value, &got, MPI_INT, 0, 0, MPI_SUM, win));
  SYNC(MPI_Compare_and_swap(&value, &value, &got, MPI_INT, 0, 0, win));
  SYNC(MPI_Rput(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win, &request));
  SYNC(MPI_Rget(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win, &request));
  SYNC(MPI_Raccumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win, &request));
  SYNC(MPI_Rget_accumulate(&value, 1, MPI_INT, &got, 1, MPI_INT, 0, 0, 1, MPI_INT,
                           MPI_SUM, win, &request));
  SYNC(MPI_Win_complete(win));
  SYNC(MPI_Win_wait(win));
  SYNC(MPI_Win_test(win, &got));
  SYNC(MPI_Win_unlock(0, win));
  SYNC(MPI_Win_unlock_all(win));
  SYNC(MPI_Win_flush(0, win));
  SYNC(MPI_Win_flush_all(win));
  SYNC(MPI_Win_flush_local(0, win));
  SYNC(MPI_Win_flush_local_all(win));
  (void)all;
}

static void inside_others(MPI_Win win, MPI_Group all) {
  int got = 0;
  MPI_Request request;
  SYNC((MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win),
        MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win)));
  SYNC(MPI_Win_lock_all(0, win));
  SYNC(MPI_Win_fence(0, win));
  SYNC(MPI_Win_start(all, 0, win));
  SYNC(MPI_Win_free(&win));
  if (size > 1) {
    SYNC(MPI_Get(&got, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win));
    SYNC(MPI_Win_unlock((rank + 1) % size, win));
    SYNC(MPI_Win_flush((rank + 1) % size, win));
  }
  MPI_Win_unlock(rank, win);
  MPI_Win_lock_all(0, win);
  SYNC(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
  SYNC(MPI_Win_unlock(rank, win));
  SYNC(MPI_Win_fence(0, win));
  MPI_Win_unlock_all(win);
  MPI_Win_post(all, 0, win);
  SYNC(MPI_Win_post(all, 0, win));
  SYNC(MPI_Win_fence(0, win));
  MPI_Win_start(all, 0, win);
  SYNC(MPI_Win_start(all, 0, win));
  SYNC(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
  SYNC(MPI_Win_free(&win));
  SYNC(MPI_Rget(&got, 1, MPI_INT, 0, 0, 1, MPI_INT, win, &request));
  MPI_Win_complete(win);
  MPI_Win_wait(win);
}

static void outside_group(MPI_Win win, MPI_Group all) {
  int got = 0, other = (rank + 1) % size;
  MPI_Group self;
  MPI_Group_incl(all, 1, &rank, &self);
  MPI_Win_post(self, 0, win);
  MPI_Win_start(self, 0, win);
  if (size > 1) SYNC(MPI_Get(&got, 1, MPI_INT, other, 0, 1, MPI_INT, win));
  MPI_Win_complete(win);
  MPI_Win_wait(win);
  MPI_Win mine;
  MPI_Win_create(&got, sizeof got, 1, MPI_INFO_NULL, MPI_COMM_SELF, &mine);
  MPI_Win_set_errhandler(mine, MPI_ERRORS_RETURN);
  if (size > 1) {
    FAILS(MPI_Win_post(all, 0, mine), MPI_ERR_GROUP);
    FAILS(MPI_Win_start(all, 0, mine), MPI_ERR_GROUP);
  }
  MPI_Win_free(&mine);
  MPI_Group_free(&self);
}

/* `win` has 4 ints for each rank. */
static void arguments(MPI_Win win) {
  int value = 0, got = 0;
  double real = 0;
  MPI_Aint bytes;
  void* base;
  MPI_Win_fence(0, win);
  FAILS(MPI_Put(&value, 1, MPI_INT, size, 0, 1, MPI_INT, win), MPI_ERR_RANK);
  FAILS(MPI_Put(&value, 1, MPI_INT, -5, 0, 1, MPI_INT, win), MPI_ERR_RANK);
  FAILS(MPI_Put(&value, -1, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_COUNT);
  FAILS(MPI_Put(&value, 1, MPI_DATATYPE_NULL, 0, 0, 1, MPI_INT, win), MPI_ERR_TYPE);
  FAILS(MPI_Put(NULL, 1, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_BUFFER);
  FAILS(MPI_Put(&value, 1, MPI_INT, 0, -1, 1, MPI_INT, win), MPI_ERR_DISP);
  FAILS(MPI_Put(&value, 1, MPI_INT, 0, 4, 1, MPI_INT, win), MPI_ERR_RMA_RANGE);
  FAILS(MPI_Get(&value, 1, MPI_INT, 0, 3, 2, MPI_INT, win), MPI_ERR_RMA_RANGE);
  FAILS(MPI_Put(&value, 2, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_TRUNCATE);
  FAILS(MPI_Get(&value, 1, MPI_INT, 0, 0, 2, MPI_INT, win), MPI_ERR_TRUNCATE);
  FAILS(MPI_Accumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_OP_NULL, win),
        MPI_ERR_OP);
  FAILS(MPI_Accumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_MAXLOC, win),
        MPI_ERR_OP);
  FAILS(MPI_Accumulate(&real, 1, MPI_DOUBLE, 0, 0, 2, MPI_INT, MPI_SUM, win),
        MPI_ERR_TYPE);
  FAILS(MPI_Get_accumulate(&value, 1, MPI_INT, &got, 0, MPI_INT, 0, 0, 1, MPI_INT,
                           MPI_SUM, win),
        MPI_ERR_TRUNCATE);
  FAILS(MPI_Fetch_and_op(&value, NULL, MPI_INT, 0, 0, MPI_SUM, win), MPI_ERR_BUFFER);
  FAILS(MPI_Compare_and_swap(&real, &real, &real, MPI_DOUBLE, 0, 0, win), MPI_ERR_TYPE);
  FAILS(MPI_Win_shared_query(win, size, &bytes, &got, &base), MPI_ERR_RANK);
  FAILS(MPI_Win_attach(win, &value, 4), MPI_ERR_RMA_FLAVOR);
  FAILS(MPI_Win_detach(win, &value), MPI_ERR_RMA_FLAVOR);
  FAILS(MPI_Win_fence(MPI_MODE_NOCHECK, win), MPI_ERR_ASSERT);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  FAILS(MPI_Win_lock(MPI_LOCK_SHARED, 0, MPI_MODE_NOPUT, win), MPI_ERR_ASSERT);
  FAILS(MPI_Win_lock_all(MPI_MODE_NOSTORE, win), MPI_ERR_ASSERT);
  FAILS(MPI_Win_lock(17, 0, 0, win), MPI_ERR_LOCKTYPE);
  FAILS(MPI_Win_lock(MPI_LOCK_SHARED, size, 0, win), MPI_ERR_RANK);
  FAILS(MPI_Win_unlock(-7, win), MPI_ERR_RANK);
  FAILS(MPI_Win_flush(size, win), MPI_ERR_RANK);
}

static void own_function(void* in, void* inout, int* n, MPI_Datatype* type) {
  (void)in, (void)inout, (void)n, (void)type;
}

static void types_and_operations(MPI_Win win) {
  int value = 0, got = 0;
  MPI_Op own;
  MPI_Datatype one_int;
  MPI_Op_create(own_function, 1, &own);
  MPI_Type_contiguous(1, MPI_INT, &one_int);
  MPI_Win_fence(0, win);
  FAILS(MPI_Accumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, own, win), MPI_ERR_OP);
  FAILS(MPI_Put(&value, 1, one_int, 0, 0, 1, MPI_INT, win), MPI_ERR_TYPE);
  MPI_Type_commit(&one_int);
  FAILS(MPI_Fetch_and_op(&value, &got, one_int, 0, 0, MPI_SUM, win), MPI_ERR_TYPE);
  FAILS(MPI_Compare_and_swap(&value, &value, &got, one_int, 0, 0, win), MPI_ERR_TYPE);
  MPI_Win_fence(0, win);
  MPI_Op_free(&own);
  MPI_Type_free(&one_int);
}

static void attached(void) {
  int memory[8], value = 0;
  MPI_Aint address;
  MPI_Win win;
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Get_address(memory, &address);
  FAILS(MPI_Win_detach(win, memory), MPI_ERR_RMA_ATTACH);
  FAILS(MPI_Win_attach(win, memory, -1), MPI_ERR_SIZE);
  FAILS(MPI_Win_attach(win, NULL, 8), MPI_ERR_BASE);
  MPI_Win_attach(win, memory, 16);
  FAILS(MPI_Win_attach(win, memory + 2, 16), MPI_ERR_RMA_ATTACH);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
  FAILS(MPI_Put(&value, 1, MPI_INT, rank, address + 16, 1, MPI_INT, win),
        MPI_ERR_RMA_RANGE);
  MPI_Win_unlock(rank, win);
  MPI_Aint bytes;
  void* base;
  FAILS(MPI_Win_shared_query(win, 0, &bytes, &value, &base), MPI_ERR_RMA_FLAVOR);
  MPI_Win_detach(win, memory);
  MPI_Win_free(&win);
}

static void no_locks(void) {
  int value;
  MPI_Win win;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "no_locks", "true");
  MPI_Win_create(&value, sizeof value, 1, info, MPI_COMM_WORLD, &win);
  MPI_Info_free(&info);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  SYNC(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
  SYNC(MPI_Win_lock_all(0, win));
  MPI_Win_free(&win);
}

/* Where an epoch is for loads and stores only, locks are granted all the same. */
static void no_locks_of_shared_memory(void) {
  int* memory;
  MPI_Comm node;
  MPI_Win win;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "no_locks", "true");
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Win_allocate_shared(sizeof(int), sizeof(int), info, node, &memory, &win);
  MPI_Info_free(&info);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  CHECK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win) == MPI_SUCCESS);
  *memory = 1;
  CHECK(MPI_Win_sync(win) == MPI_SUCCESS && MPI_Win_unlock_all(win) == MPI_SUCCESS);
  CHECK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win) == MPI_SUCCESS);
  CHECK(MPI_Win_unlock(0, win) == MPI_SUCCESS);
  MPI_Win_free(&win);
  MPI_Comm_free(&node);
}

static MPI_Win seen_win;
static int seen_code;
static void handler(MPI_Win* win, int* code, ...) {
  seen_win = *win;
  seen_code = *code;
}

static void handlers(MPI_Win win) {
  MPI_Errhandler own, now;
  int flag, value = 1;
  void* got;
  MPI_Win_create_errhandler(handler, &own);
  MPI_Win_set_errhandler(win, own);
  MPI_Win_get_errhandler(win, &now);
  CHECK(now == own);
  MPI_Errhandler_free(&now);
  MPI_Errhandler_free(&own);
  CHECK(MPI_Win_unlock(0, win) != MPI_SUCCESS);
  CHECK(seen_win == win && class_of(seen_code) == MPI_ERR_RMA_SYNC);
  MPI_Win_call_errhandler(win, MPI_ERR_BASE);
  CHECK(seen_code == MPI_ERR_BASE);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Comm_create_errhandler((MPI_Comm_errhandler_function*)handler, &own);
  FAILS(MPI_Win_set_errhandler(win, own), MPI_ERR_ARG);
  MPI_Errhandler_free(&own);
  FAILS(MPI_Win_set_attr(win, MPI_WIN_SIZE, &value), MPI_ERR_KEYVAL);
  FAILS(MPI_Win_delete_attr(win, MPI_WIN_BASE), MPI_ERR_KEYVAL);
  FAILS(MPI_Win_get_attr(win, 123456, &got, &flag), MPI_ERR_KEYVAL);
}

int main(int argc, char** argv) {
  int memory[4] = {0};
  MPI_Win win;
  MPI_Errhandler first;
  MPI_Group all;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  making();
  null_handles();
  MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                 &win);
  MPI_Win_get_errhandler(win, &first);
  CHECK(first == MPI_ERRORS_ARE_FATAL);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Win_get_group(win, &all);
  without_epoch(win, all);
  inside_others(win, all);
  MPI_Barrier(MPI_COMM_WORLD);
  outside_group(win, all);
  arguments(win);
  types_and_operations(win);
  attached();
  no_locks();
  no_locks_of_shared_memory();
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  handlers(win);
  MPI_Group_free(&all);
  MPI_Win_free(&win);
  return finish();
}
