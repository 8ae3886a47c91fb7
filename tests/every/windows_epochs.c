/* Functions on windows that have no large-count variants: any number of ranks. */
#include "every.h"

static int right, left;

static void names_and_groups(MPI_Win win) {
  char name[MPI_MAX_OBJECT_NAME] = "";
  int length = -1, result = -1, flag = 0;
  MPI_Group group, world;
  MPI_Info info, used;
  RIGHT(MPI_Win_set_name(win, "every"));
  RIGHT(MPI_Win_get_name(win, name, &length));
  CHECK(length == 5 && strcmp(name, "every") == 0);
  WRONG(MPI_ERR_WIN, MPI_Win_set_name(MPI_WIN_NULL, "every"));
  WRONG(MPI_ERR_ARG, MPI_Win_set_name(win, NULL));
  WRONG(MPI_ERR_ARG, MPI_Win_get_name(win, NULL, &length));
  WRONG(MPI_ERR_WIN, MPI_Win_get_name((MPI_Win)MPI_COMM_WORLD, name, &length));
  RIGHT(MPI_Win_get_group(win, &group));
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_compare(group, world, &result);
  CHECK(result == MPI_IDENT);
  WRONG(MPI_ERR_WIN, MPI_Win_get_group(MPI_WIN_NULL, &group));
  WRONG(MPI_ERR_ARG, MPI_Win_get_group(win, NULL));
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  MPI_Info_create(&info);
  MPI_Info_set(info, "accumulate_ops", "same_op");
  RIGHT(MPI_Win_set_info(win, info));
  RIGHT(MPI_Win_get_info(win, &used));
  length = sizeof name;
  MPI_Info_get_string(used, "accumulate_ops", &length, name, &flag);
  CHECK(flag && strcmp(name, "same_op") == 0);
  MPI_Info_free(&used);
  WRONG(MPI_ERR_WIN, MPI_Win_get_info(MPI_WIN_NULL, &used));
  WRONG(MPI_ERR_ARG, MPI_Win_get_info(win, NULL));
  WRONG(MPI_ERR_WIN, MPI_Win_set_info(MPI_WIN_NULL, info));
  MPI_Info_free(&info);
  WRONG(MPI_ERR_INFO, MPI_Win_set_info(win, (MPI_Info)MPI_INT));
}

static void fences(MPI_Win win, int* memory) {
  *memory = -1;
  RIGHT(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
  MPI_Put(&every_rank, 1, MPI_INT, right, 0, 1, MPI_INT, win);
  RIGHT(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
  CHECK(*memory == left);
  WRONG(MPI_ERR_WIN, MPI_Win_fence(0, MPI_WIN_NULL));
  WRONG(MPI_ERR_ASSERT, MPI_Win_fence(MPI_MODE_NOCHECK, win));
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Each rank is written to by its left neighbour and writes to its right one. */
static void posts(MPI_Win win, int* memory) {
  MPI_Group all, to, from;
  int flag = 0, value = every_rank + 50;
  MPI_Win_get_group(win, &all);
  MPI_Group_incl(all, 1, &right, &to);
  MPI_Group_incl(all, 1, &left, &from);
  *memory = -1;
  WRONG(MPI_ERR_RMA_SYNC, MPI_Win_complete(win));
  WRONG(MPI_ERR_RMA_SYNC, MPI_Win_wait(win));
  WRONG(MPI_ERR_RMA_SYNC, MPI_Win_test(win, &flag));
  RIGHT(MPI_Win_post(from, 0, win));
  WRONG(MPI_ERR_RMA_SYNC, MPI_Win_post(from, 0, win));
  RIGHT(MPI_Win_start(to, 0, win));
  WRONG(MPI_ERR_RMA_SYNC, MPI_Win_start(to, 0, win));
  MPI_Put(&value, 1, MPI_INT, right, 0, 1, MPI_INT, win);
  RIGHT(MPI_Win_complete(win));
  RIGHT(MPI_Win_wait(win));
  CHECK(*memory == left + 50);
  MPI_Barrier(MPI_COMM_WORLD);
  RIGHT(MPI_Win_post(from, 0, win));
  RIGHT(MPI_Win_start(to, 0, win));
  ++value;
  MPI_Put(&value, 1, MPI_INT, right, 0, 1, MPI_INT, win);
  RIGHT(MPI_Win_complete(win));
  while (!flag) RIGHT(MPI_Win_test(win, &flag));
  CHECK(*memory == left + 51);
  WRONG(MPI_ERR_GROUP, MPI_Win_post(MPI_GROUP_NULL, 0, win));
  WRONG(MPI_ERR_GROUP, MPI_Win_start(MPI_GROUP_NULL, 0, win));
  WRONG(MPI_ERR_WIN, MPI_Win_post(from, 0, MPI_WIN_NULL));
  WRONG(MPI_ERR_WIN, MPI_Win_start(to, 0, MPI_WIN_NULL));
  WRONG(MPI_ERR_WIN, MPI_Win_complete(MPI_WIN_NULL));
  WRONG(MPI_ERR_WIN, MPI_Win_wait(MPI_WIN_NULL));
  WRONG(MPI_ERR_WIN, MPI_Win_test(MPI_WIN_NULL, &flag));
  MPI_Group_free(&all);
  MPI_Group_free(&to);
  MPI_Group_free(&from);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void locks(MPI_Win win, int* memory) {
  int value = every_rank + 7, got = -1, sent;
  WRONG(MPI_ERR_RMA_SYNC, MPI_Win_unlock(right, win));
  WRONG(MPI_ERR_RMA_SYNC, MPI_Win_flush(right, win));
  RIGHT(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win));
  MPI_Put(&value, 1, MPI_INT, right, 0, 1, MPI_INT, win);
  RIGHT(MPI_Win_flush(right, win));
  MPI_Get(&got, 1, MPI_INT, right, 0, 1, MPI_INT, win);
  RIGHT(MPI_Win_flush_local(right, win));
  CHECK(got == value);
  sent = value + 1;
  MPI_Put(&sent, 1, MPI_INT, right, 0, 1, MPI_INT, win);
  RIGHT(MPI_Win_flush_local(right, win));
  sent = -1; /* it may be used again */
  WRONG(MPI_ERR_RANK, MPI_Win_flush(every_size, win));
  WRONG(MPI_ERR_RANK, MPI_Win_flush_local(-77, win));
  WRONG(MPI_ERR_RANK, MPI_Win_unlock(every_size, win));
  WRONG(MPI_ERR_WIN, MPI_Win_flush(right, MPI_WIN_NULL));
  WRONG(MPI_ERR_WIN, MPI_Win_flush_local(right, MPI_WIN_NULL));
  WRONG(MPI_ERR_WIN, MPI_Win_unlock(right, MPI_WIN_NULL));
  RIGHT(MPI_Win_unlock(right, win));
  MPI_Barrier(MPI_COMM_WORLD);
  RIGHT(MPI_Win_sync(win));
  CHECK(*memory == left + 8);
  WRONG(MPI_ERR_WIN, MPI_Win_sync(MPI_WIN_NULL));
  WRONG(MPI_ERR_LOCKTYPE, MPI_Win_lock(17, 0, 0, win));
  WRONG(MPI_ERR_RANK, MPI_Win_lock(MPI_LOCK_SHARED, every_size, 0, win));
  WRONG(MPI_ERR_ASSERT, MPI_Win_lock(MPI_LOCK_SHARED, 0, MPI_MODE_NOPUT, win));
  WRONG(MPI_ERR_WIN, MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, MPI_WIN_NULL));
  MPI_Barrier(MPI_COMM_WORLD);
}

static void locks_of_all(MPI_Win win, int* memory) {
  int value = every_rank + 70, sent = value;
  WRONG(MPI_ERR_RMA_SYNC, MPI_Win_flush_all(win));
  WRONG(MPI_ERR_RMA_SYNC, MPI_Win_flush_local_all(win));
  WRONG(MPI_ERR_RMA_SYNC, MPI_Win_unlock_all(win));
  WRONG(MPI_ERR_ASSERT, MPI_Win_lock_all(MPI_MODE_NOSTORE, win));
  WRONG(MPI_ERR_WIN, MPI_Win_lock_all(0, MPI_WIN_NULL));
  RIGHT(MPI_Win_lock_all(0, win));
  WRONG(MPI_ERR_RMA_SYNC, MPI_Win_lock_all(0, win));
  MPI_Put(&sent, 1, MPI_INT, right, 0, 1, MPI_INT, win);
  RIGHT(MPI_Win_flush_local_all(win));
  sent = -1;
  RIGHT(MPI_Win_flush_all(win));
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_sync(win);
  CHECK(*memory == left + 70);
  WRONG(MPI_ERR_WIN, MPI_Win_flush_all(MPI_WIN_NULL));
  WRONG(MPI_ERR_WIN, MPI_Win_flush_local_all(MPI_WIN_NULL));
  WRONG(MPI_ERR_WIN, MPI_Win_unlock_all(MPI_WIN_NULL));
  RIGHT(MPI_Win_unlock_all(win));
  MPI_Barrier(MPI_COMM_WORLD);
}

/* All count with rank 0's memory. */
static void one_value(MPI_Win win, int* memory) {
  int one = 1, before = -1, zero = 0, found = -1;
  double real = 0;
  *memory = 0;
  MPI_Win_fence(0, win);
  RIGHT(MPI_Fetch_and_op(&one, &before, MPI_INT, 0, 0, MPI_SUM, win));
  MPI_Win_fence(0, win);
  CHECK(before >= 0 && before < every_size);
  if (every_rank == 0) CHECK(*memory == every_size);
  MPI_Barrier(MPI_COMM_WORLD);
  RIGHT(MPI_Compare_and_swap(&zero, &every_size, &found, MPI_INT, 0, 0, win));
  MPI_Win_fence(0, win);
  CHECK(found == every_size || found == 0);
  if (every_rank == 0) CHECK(*memory == 0);
  WRONG(MPI_ERR_OP, MPI_Fetch_and_op(&one, &before, MPI_INT, 0, 0, MPI_OP_NULL, win));
  WRONG(MPI_ERR_RANK,
        MPI_Fetch_and_op(&one, &before, MPI_INT, every_size, 0, MPI_SUM, win));
  WRONG(MPI_ERR_TYPE,
        MPI_Fetch_and_op(&one, &before, MPI_DATATYPE_NULL, 0, 0, MPI_SUM, win));
  WRONG(MPI_ERR_WIN,
        MPI_Fetch_and_op(&one, &before, MPI_INT, 0, 0, MPI_SUM, MPI_WIN_NULL));
  WRONG(MPI_ERR_TYPE, MPI_Compare_and_swap(&real, &real, &real, MPI_DOUBLE, 0, 0, win));
  WRONG(MPI_ERR_RANK, MPI_Compare_and_swap(&one, &one, &found, MPI_INT, -77, 0, win));
  WRONG(MPI_ERR_DISP, MPI_Compare_and_swap(&one, &one, &found, MPI_INT, 0, -1, win));
  WRONG(MPI_ERR_WIN,
        MPI_Compare_and_swap(&one, &one, &found, MPI_INT, 0, 0, MPI_WIN_NULL));
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
}

static void dynamic(MPI_Win other) {
  int memory[4] = {-1, -1, -1, -1};
  MPI_Win win = MPI_WIN_NULL;
  MPI_Aint mine, theirs;
  RIGHT(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  RIGHT(MPI_Win_attach(win, memory, sizeof memory));
  MPI_Get_address(&memory[2], &mine);
  MPI_Sendrecv(&mine, 1, MPI_AINT, left, 0, &theirs, 1, MPI_AINT, right, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Win_fence(0, win);
  MPI_Put(&every_rank, 1, MPI_INT, right, theirs, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  CHECK(memory[2] == left && memory[1] == -1 && memory[3] == -1);
  WRONG(MPI_ERR_RMA_ATTACH, MPI_Win_attach(win, memory + 1, 8)); /* is attached */
  WRONG(MPI_ERR_SIZE, MPI_Win_attach(win, memory, -1));
  WRONG(MPI_ERR_WIN, MPI_Win_attach(MPI_WIN_NULL, memory, 8));
  WRONG(MPI_ERR_RMA_FLAVOR, MPI_Win_attach(other, memory, 8));
  RIGHT(MPI_Win_detach(win, memory));
  WRONG(MPI_ERR_RMA_ATTACH, MPI_Win_detach(win, memory));
  WRONG(MPI_ERR_WIN, MPI_Win_detach(MPI_WIN_NULL, memory));
  WRONG(MPI_ERR_RMA_FLAVOR, MPI_Win_detach(other, memory));
  MPI_Win_free(&win);
  WRONG(MPI_ERR_COMM, MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_NULL, &win));
  WRONG(MPI_ERR_ARG, MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, NULL));
}

int main(int argc, char** argv) {
  int* memory;
  MPI_Win win = MPI_WIN_NULL;
  every_begin(&argc, &argv);
  right = (every_rank + 1) % every_size;
  left = (every_rank + every_size - 1) % every_size;
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                   &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  names_and_groups(win);
  fences(win, memory);
  posts(win, memory);
  locks(win, memory);
  locks_of_all(win, memory);
  one_value(win, memory);
  dynamic(win);
  RIGHT(MPI_Win_free(&win));
  CHECK(win == MPI_WIN_NULL);
  WRONG(MPI_ERR_WIN, MPI_Win_free(&win));
  WRONG(MPI_ERR_ARG, MPI_Win_free(NULL));
  return every_end();
}
