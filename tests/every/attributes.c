/* Every function on attributes of communicators, datatypes and windows. */
#include "every.h"

static int copies, deletes;
static int extra = 7;
static void* state_seen;

static int comm_copy(MPI_Comm comm, int key, void* state, void* in, void* out,
                     int* flag) {
  (void)comm, (void)key;
  ++copies;
  state_seen = state;
  *(void**)out = in;
  *flag = 1;
  return MPI_SUCCESS;
}
static int comm_delete(MPI_Comm comm, int key, void* value, void* state) {
  (void)comm, (void)key, (void)value;
  ++deletes;
  state_seen = state;
  return MPI_SUCCESS;
}
static int type_copy(MPI_Datatype type, int key, void* state, void* in, void* out,
                     int* flag) {
  (void)type, (void)key, (void)state;
  ++copies;
  *(void**)out = in;
  *flag = 1;
  return MPI_SUCCESS;
}
static int type_delete(MPI_Datatype type, int key, void* value, void* state) {
  (void)type, (void)key, (void)value, (void)state;
  ++deletes;
  return MPI_SUCCESS;
}
static int win_delete(MPI_Win win, int key, void* value, void* state) {
  (void)win, (void)key, (void)value, (void)state;
  ++deletes;
  return MPI_SUCCESS;
}

static void of_communicators(void) {
  int key = MPI_KEYVAL_INVALID, none, flag = 0, value = 1;
  void* got = NULL;
  MPI_Comm comm, copy;
  copies = deletes = 0;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  RIGHT(MPI_Comm_create_keyval(comm_copy, comm_delete, &key, &extra));
  CHECK(key != MPI_KEYVAL_INVALID);
  RIGHT(MPI_Comm_get_attr(comm, key, &got, &flag));
  CHECK(!flag);
  RIGHT(MPI_Comm_set_attr(comm, key, &value));
  RIGHT(MPI_Comm_get_attr(comm, key, &got, &flag));
  CHECK(flag && got == &value);
  MPI_Comm_dup(comm, &copy);
  CHECK(copies == 1 && state_seen == &extra);
  CHECK(MPI_Comm_get_attr(copy, key, &got, &flag) == MPI_SUCCESS && flag);
  CHECK(got == &value);
  MPI_Comm_free(&copy);
  CHECK(deletes == 1);
  RIGHT(MPI_Comm_delete_attr(comm, key));
  CHECK(deletes == 2);
  RIGHT(MPI_Comm_get_attr(comm, key, &got, &flag));
  CHECK(!flag);
  RIGHT(MPI_Comm_free_keyval(&key));
  CHECK(key == MPI_KEYVAL_INVALID);

  none = MPI_KEYVAL_INVALID;
  WRONG(MPI_ERR_ARG, MPI_Comm_create_keyval(comm_copy, comm_delete, NULL, NULL));
  WRONG(MPI_ERR_KEYVAL, MPI_Comm_set_attr(comm, none, &value));
  WRONG(MPI_ERR_KEYVAL, MPI_Comm_get_attr(comm, none, &got, &flag));
  WRONG(MPI_ERR_COMM, MPI_Comm_get_attr(MPI_COMM_NULL, MPI_TAG_UB, &got, &flag));
  WRONG(MPI_ERR_KEYVAL, MPI_Comm_delete_attr(comm, none));
  WRONG(MPI_ERR_KEYVAL, MPI_Comm_free_keyval(&none));
  none = MPI_TAG_UB;
  WRONG(MPI_ERR_KEYVAL, MPI_Comm_free_keyval(&none));
  MPI_Comm_free(&comm);
}

/* The names of MPI 1. */
static void older_names(void) {
  int key = MPI_KEYVAL_INVALID, none = MPI_KEYVAL_INVALID, flag = 0, value = 1;
  void* got = NULL;
  MPI_Comm comm;
  copies = deletes = 0;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  RIGHT(MPI_Keyval_create(comm_copy, comm_delete, &key, &extra));
  RIGHT(MPI_Attr_put(comm, key, &value));
  RIGHT(MPI_Attr_get(comm, key, &got, &flag));
  CHECK(flag && got == &value);
  RIGHT(MPI_Attr_delete(comm, key));
  CHECK(deletes == 1 && state_seen == &extra);
  RIGHT(MPI_Attr_get(comm, key, &got, &flag));
  CHECK(!flag);
  RIGHT(MPI_Keyval_free(&key));
  CHECK(key == MPI_KEYVAL_INVALID);
  WRONG(MPI_ERR_ARG, MPI_Keyval_create(comm_copy, comm_delete, NULL, NULL));
  WRONG(MPI_ERR_KEYVAL, MPI_Attr_put(comm, none, &value));
  WRONG(MPI_ERR_KEYVAL, MPI_Attr_get(comm, none, &got, &flag));
  WRONG(MPI_ERR_KEYVAL, MPI_Attr_delete(comm, none));
  WRONG(MPI_ERR_KEYVAL, MPI_Keyval_free(&none));
  MPI_Comm_free(&comm);
}

static void of_datatypes(void) {
  int key = MPI_KEYVAL_INVALID, none = MPI_KEYVAL_INVALID, flag = 0, value = 1;
  void* got = NULL;
  MPI_Datatype type, copy;
  copies = deletes = 0;
  MPI_Type_contiguous(2, MPI_INT, &type);
  RIGHT(MPI_Type_create_keyval(type_copy, type_delete, &key, &extra));
  RIGHT(MPI_Type_set_attr(type, key, &value));
  RIGHT(MPI_Type_get_attr(type, key, &got, &flag));
  CHECK(flag && got == &value);
  MPI_Type_dup(type, &copy);
  CHECK(copies == 1);
  got = NULL;
  RIGHT(MPI_Type_get_attr(copy, key, &got, &flag));
  CHECK(flag && got == &value);
  MPI_Type_free(&copy);
  CHECK(deletes == 1);
  RIGHT(MPI_Type_delete_attr(type, key));
  CHECK(deletes == 2);
  RIGHT(MPI_Type_get_attr(type, key, &got, &flag));
  CHECK(!flag);
  RIGHT(MPI_Type_free_keyval(&key));
  CHECK(key == MPI_KEYVAL_INVALID);
  WRONG(MPI_ERR_ARG, MPI_Type_create_keyval(type_copy, type_delete, NULL, NULL));
  WRONG(MPI_ERR_TYPE, MPI_Type_set_attr(MPI_DATATYPE_NULL, none, &value));
  WRONG(MPI_ERR_KEYVAL, MPI_Type_get_attr(type, none, &got, &flag));
  WRONG(MPI_ERR_KEYVAL, MPI_Type_delete_attr(type, none));
  WRONG(MPI_ERR_KEYVAL, MPI_Type_free_keyval(&none));
  MPI_Type_free(&type);
}

static void of_windows(void) {
  int key = MPI_KEYVAL_INVALID, none = MPI_KEYVAL_INVALID, flag = 0, value = 1;
  int memory[4] = {0};
  void* got = NULL;
  MPI_Win win;
  deletes = 0;
  MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  RIGHT(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, win_delete, &key, &extra));
  RIGHT(MPI_Win_set_attr(win, key, &value));
  RIGHT(MPI_Win_get_attr(win, key, &got, &flag));
  CHECK(flag && got == &value);
  RIGHT(MPI_Win_get_attr(win, MPI_WIN_SIZE, &got, &flag));
  CHECK(flag && *(MPI_Aint*)got == sizeof memory);
  RIGHT(MPI_Win_delete_attr(win, key));
  CHECK(deletes == 1);
  RIGHT(MPI_Win_get_attr(win, key, &got, &flag));
  CHECK(!flag);
  RIGHT(MPI_Win_set_attr(win, key, &value));
  RIGHT(MPI_Win_free_keyval(&key)); /* the window's attribute is there until its end */
  CHECK(key == MPI_KEYVAL_INVALID);
  WRONG(MPI_ERR_ARG,
        MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, win_delete, NULL, NULL));
  WRONG(MPI_ERR_WIN, MPI_Win_set_attr(MPI_WIN_NULL, none, &value));
  WRONG(MPI_ERR_KEYVAL, MPI_Win_get_attr(win, none, &got, &flag));
  WRONG(MPI_ERR_KEYVAL, MPI_Win_delete_attr(win, none));
  WRONG(MPI_ERR_KEYVAL, MPI_Win_free_keyval(&none));
  MPI_Win_free(&win);
  CHECK(deletes == 2);
}

int main(int argc, char** argv) {
  every_begin(&argc, &argv);
  of_communicators();
  older_names();
  of_datatypes();
  of_windows();
  return every_end();
}
