/* Windows of all kinds: how they are made, what they say of themselves, their end. */
#include <stdint.h>
#include <string.h>

#include "check.h"

static int rank, size;

static long attribute(MPI_Win win, int key) {
  void* value = NULL;
  int flag = 0;
  CHECK(MPI_Win_get_attr(win, key, &value, &flag) == MPI_SUCCESS && flag);
  if (key == MPI_WIN_BASE) return (long)(intptr_t)value;
  return key == MPI_WIN_SIZE ? (long)*(MPI_Aint*)value : *(int*)value;
}

static void check_facts(MPI_Win win, void* base, long bytes, int unit, int flavor) {
  CHECK(attribute(win, MPI_WIN_BASE) == (long)(intptr_t)base);
  CHECK(attribute(win, MPI_WIN_SIZE) == bytes);
  CHECK(attribute(win, MPI_WIN_DISP_UNIT) == unit);
  CHECK(attribute(win, MPI_WIN_CREATE_FLAVOR) == flavor);
  CHECK(attribute(win, MPI_WIN_MODEL) == MPI_WIN_UNIFIED);
}

/* Each writes its rank to the next one's memory, at element `at`. */
static void pass_on(MPI_Win win, MPI_Aint at) {
  int next = (rank + 1) % size, value = rank + 1, got = -1;
  CHECK(MPI_Win_fence(MPI_MODE_NOPRECEDE, win) == MPI_SUCCESS);
  CHECK(MPI_Put(&value, 1, MPI_INT, next, at, 1, MPI_INT, win) == MPI_SUCCESS);
  CHECK(MPI_Win_fence(0, win) == MPI_SUCCESS);
  CHECK(MPI_Get(&got, 1, MPI_INT, rank, at, 1, MPI_INT, win) == MPI_SUCCESS);
  CHECK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win) == MPI_SUCCESS);
  CHECK(got == (rank + size - 1) % size + 1);
}

static void created(void) {
  int memory[4] = {0};
  MPI_Win win, large;
  MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                 &win);
  check_facts(win, memory, sizeof memory, sizeof(int), MPI_WIN_FLAVOR_CREATE);
  pass_on(win, 3);
  CHECK(memory[3] == (rank + size - 1) % size + 1 && memory[2] == 0);
  /* A second one over the same memory. */
  MPI_Win_create_c(memory, sizeof memory, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &large);
  check_facts(large, memory, sizeof memory, 8, MPI_WIN_FLAVOR_CREATE);
  pass_on(large, 1);
  CHECK(memory[2] == (rank + size - 1) % size + 1);
  MPI_Aint bytes = -1, unit = -1;
  int* base = NULL;
  CHECK(MPI_Win_shared_query_c(large, rank, &bytes, &unit, &base) == MPI_SUCCESS);
  CHECK(base == memory && bytes == sizeof memory && unit == 8);
  MPI_Win_free(&win);
  CHECK(win == MPI_WIN_NULL);
  MPI_Win_free(&large);
}

static void empty(void) {
  int nothing = 7;
  MPI_Win win;
  MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win);
  check_facts(win, NULL, 0, 1, MPI_WIN_FLAVOR_CREATE);
  MPI_Win_fence(0, win);
  CHECK(MPI_Put(&nothing, 0, MPI_INT, 0, 0, 0, MPI_INT, win) == MPI_SUCCESS);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
}

static void allocated(void) {
  int* base = NULL;
  MPI_Win win, large;
  MPI_Win_allocate(8 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base,
                   &win);
  CHECK(base != NULL && (intptr_t)base % 16 == 0);
  check_facts(win, base, 8 * sizeof(int), sizeof(int), MPI_WIN_FLAVOR_ALLOCATE);
  pass_on(win, 7);
  MPI_Win_free(&win);
  MPI_Win_allocate_c(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &large);
  pass_on(large, 15);
  MPI_Win_free(&large);
}

/* Everybody has rank + 1 ints, next to those of the rank before, or on pages of their own. */
static void shared(int is_apart) {
  int *base = NULL, *other = NULL, unit = 0, before = 0;
  MPI_Aint bytes = 0, mine = (MPI_Aint)((size_t)(rank + 1) * sizeof(int));
  MPI_Win win;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "alloc_shared_noncontig", is_apart ? "true" : "false");
  MPI_Win_allocate_shared(mine, sizeof(int), info, MPI_COMM_WORLD, &base, &win);
  MPI_Info_free(&info);
  check_facts(win, base, mine, sizeof(int), MPI_WIN_FLAVOR_SHARED);
  MPI_Win_lock_all(0, win);
  for (int i = 0; i <= rank; ++i) base[i] = 100 * rank + i;
  MPI_Win_sync(win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_sync(win);
  int* first = NULL;
  for (int r = 0; r < size; ++r) {
    CHECK(MPI_Win_shared_query(win, r, &bytes, &unit, &other) == MPI_SUCCESS);
    CHECK(bytes == (MPI_Aint)sizeof(int) * (r + 1) && unit == sizeof(int));
    if (r == 0) first = other;
    CHECK(is_apart ? (intptr_t)other % 4096 == 0 : other == first + before);
    CHECK(other[0] == 100 * r && other[r] == 100 * r + r);
    before += r + 1;
  }
  CHECK(MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &other) == MPI_SUCCESS);
  CHECK(other == first);
  MPI_Win_unlock_all(win);
  pass_on(win, 0);
  MPI_Win_free(&win);
}

static void large_shared(void) {
  int* base = NULL;
  MPI_Aint unit = 0, bytes = 0;
  MPI_Win win;
  MPI_Win_allocate_shared_c(rank == 0 ? 0 : 4096, 4, MPI_INFO_NULL, MPI_COMM_WORLD,
                            &base, &win);
  MPI_Win_shared_query_c(win, MPI_PROC_NULL, &bytes, &unit, &base);
  CHECK(size == 1 || (bytes == 4096 && unit == 4 && base != NULL));
  MPI_Win_free(&win);
}

static void dynamic(void) {
  int memory[4] = {0}, more[4] = {0}, value = rank + 1;
  MPI_Win win;
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  check_facts(win, MPI_BOTTOM, 0, 1, MPI_WIN_FLAVOR_DYNAMIC);
  CHECK(MPI_Win_attach(win, memory, sizeof memory) == MPI_SUCCESS);
  CHECK(MPI_Win_attach(win, more, sizeof more) == MPI_SUCCESS);
  MPI_Aint mine, theirs;
  int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  MPI_Get_address(&more[2], &mine);
  MPI_Sendrecv(&mine, 1, MPI_AINT, previous, 0, &theirs, 1, MPI_AINT, next, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win);
  CHECK(MPI_Put(&value, 1, MPI_INT, next, theirs, 1, MPI_INT, win) == MPI_SUCCESS);
  CHECK(MPI_Accumulate(&value, 1, MPI_INT, next, MPI_Aint_add(theirs, 4), 1, MPI_INT,
                       MPI_SUM, win) == MPI_SUCCESS);
  MPI_Win_unlock(next, win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
  CHECK(more[2] == previous + 1 && more[3] == previous + 1);
  MPI_Win_unlock(rank, win);
  CHECK(MPI_Win_detach(win, more) == MPI_SUCCESS);
  CHECK(MPI_Win_detach(win, memory) == MPI_SUCCESS);
  MPI_Win_free(&win);
}

static void names_groups_handles(void) {
  char name[MPI_MAX_OBJECT_NAME];
  int length = -1, value = 0, result = 0;
  MPI_Win win;
  MPI_Group ours, world;
  MPI_Win_create(&value, sizeof value, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_get_name(win, name, &length);
  CHECK(length == 0 && name[0] == '\0');
  MPI_Win_set_name(win, "mine");
  MPI_Win_get_name(win, name, &length);
  CHECK(length == 4 && strcmp(name, "mine") == 0);
  MPI_Win_get_name(MPI_WIN_NULL, name, &length);
  CHECK(strcmp(name, "MPI_WIN_NULL") == 0);
  MPI_Win_get_group(win, &ours);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_compare(ours, world, &result);
  CHECK(result == MPI_IDENT);
  MPI_Group_free(&ours);
  MPI_Group_free(&world);
  MPI_Fint number = MPI_Win_c2f(win);
  CHECK(MPI_Win_f2c(number) == win);
  CHECK(MPI_Win_c2f(MPI_WIN_NULL) == MPI_Win_toint(MPI_WIN_NULL));
  CHECK(MPI_Win_fromint(MPI_Win_toint(win)) == win);
  MPI_Win_free(&win);
}

/* The user's communicator may end before the window. */
static void outlives_its_communicator(void) {
  MPI_Comm comm;
  MPI_Win win;
  int memory[2] = {0};
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, comm, &win);
  MPI_Comm_free(&comm);
  pass_on(win, 1);
  MPI_Win_free(&win);
}

static void check_info(MPI_Win win, const char* key, const char* want) {
  char text[MPI_MAX_INFO_VAL] = "";
  int flag = 0;
  MPI_Info info;
  MPI_Win_get_info(win, &info);
  MPI_Info_get(info, key, MPI_MAX_INFO_VAL - 1, text, &flag);
  CHECK(flag == (want != NULL));
  CHECK(want == NULL || strcmp(text, want) == 0);
  MPI_Info_free(&info);
}

static void hints(void) {
  int value = 0;
  MPI_Win win;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "same_size", "true");
  MPI_Info_set(info, "nobody_knows_this", "true");
  MPI_Info_set(info, "no_locks", "perhaps");
  MPI_Win_create(&value, sizeof value, 1, info, MPI_COMM_WORLD, &win);
  check_info(win, "same_size", "true");
  check_info(win, "nobody_knows_this", NULL);
  check_info(win, "no_locks", "false");
  check_info(win, "accumulate_ordering", "rar,raw,war,waw");
  check_info(win, "accumulate_ops", "same_op_no_op");
  check_info(win, "alloc_shared_noncontig", NULL);
  MPI_Info_set(info, "accumulate_ordering", "none");
  CHECK(MPI_Win_set_info(win, info) == MPI_SUCCESS);
  CHECK(MPI_Win_set_info(win, MPI_INFO_NULL) == MPI_SUCCESS);
  check_info(win, "accumulate_ordering", "none");
  MPI_Info_free(&info);
  MPI_Win_free(&win);
}

static int deleted;
static int delete_attribute(MPI_Win win, int key, void* value, void* extra) {
  (void)key;
  CHECK(win != MPI_WIN_NULL && value == &rank && extra == &size);
  ++deleted;
  return MPI_SUCCESS;
}

static void attributes(void) {
  int key = 0, flag = -1, value = 0;
  void* got = NULL;
  MPI_Win win;
  MPI_Win_create(&value, sizeof value, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, delete_attribute, &key, &size);
  CHECK(MPI_Win_get_attr(win, key, &got, &flag) == MPI_SUCCESS && !flag);
  CHECK(MPI_Win_set_attr(win, key, &rank) == MPI_SUCCESS);
  CHECK(MPI_Win_get_attr(win, key, &got, &flag) == MPI_SUCCESS && flag);
  CHECK(got == &rank && deleted == 0);
  CHECK(MPI_Win_delete_attr(win, key) == MPI_SUCCESS && deleted == 1);
  CHECK(MPI_Win_set_attr(win, key, &rank) == MPI_SUCCESS);
  MPI_Win_free_keyval(&key);
  CHECK(key == MPI_KEYVAL_INVALID);
  MPI_Win_free(&win); /* deletes it */
  CHECK(deleted == 2);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  created();
  empty();
  allocated();
  shared(0);
  shared(1);
  large_shared();
  dynamic();
  names_groups_handles();
  outlives_its_communicator();
  hints();
  attributes();
  return finish();
}
