/* Attributes: copying, deletion, order, failing callbacks, predefined values. */
#include "check.h"

static int copies, deletes, last_deleted, fail_copy, fail_delete;

static int copy_fn(MPI_Comm comm, int key, void* extra, void* in, void* out,
                   int* flag) {
  ++copies;
  if (fail_copy) return MPI_ERR_OTHER;
  *(void**)out = (char*)in + (MPI_Aint)extra;
  *flag = 1;
  return MPI_SUCCESS;
}
static int delete_fn(MPI_Comm comm, int key, void* value, void* extra) {
  if (fail_delete) return MPI_ERR_OTHER;
  ++deletes;
  last_deleted = key;
  return MPI_SUCCESS;
}
static int type_delete_fn(MPI_Datatype type, int key, void* value, void* extra) {
  ++deletes;
  return MPI_SUCCESS;
}
/* Runs in MPI_Finalize, the first one last. */
static int at_end(MPI_Comm comm, int key, void* value, void* extra) {
  static int next = 2;
  int finalized;
  MPI_Finalized(&finalized);
  if (finalized || (MPI_Aint)value != next) printf("wrong order at the end\n");
  --next;
  return MPI_SUCCESS;
}

/* Long: checks in a row; each stands on what those before it have made. */
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int flag, keys[3], size;
  void* value;
  int* number;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &number, &flag);
  CHECK(flag && *number >= 32767);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &number, &flag);
  CHECK(flag && *number == size);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &number, &flag);
  CHECK(flag && *number == 1);

  MPI_Comm a, b;
  MPI_Comm_dup(MPI_COMM_WORLD, &a);
  MPI_Comm_set_errhandler(a, MPI_ERRORS_RETURN);
  MPI_Comm_create_keyval(copy_fn, delete_fn, &keys[0], (void*)5);
  MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &keys[1], NULL);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_fn, &keys[2], NULL);
  for (int i = 0; i < 3; ++i) MPI_Comm_set_attr(a, keys[i], (void*)(MPI_Aint)(100 + i));
  MPI_Comm_dup(a, &b);
  CHECK(copies == 1);
  MPI_Comm_get_attr(b, keys[0], &value, &flag);
  CHECK(flag && value == (void*)105);
  MPI_Comm_get_attr(b, keys[1], &value, &flag);
  CHECK(flag && value == (void*)101);
  MPI_Comm_get_attr(b, keys[2], &value, &flag);
  CHECK(!flag);
  MPI_Comm_free(&b);
  CHECK(deletes == 1 && last_deleted == keys[0]);

  fail_copy = 1;
  CHECK(MPI_Comm_dup(a, &b) != MPI_SUCCESS && b == MPI_COMM_NULL);
  fail_copy = 0;
  fail_delete = 1;
  CHECK(MPI_Comm_set_attr(a, keys[0], NULL) == MPI_ERR_OTHER);
  MPI_Comm_get_attr(a, keys[0], &value, &flag);
  CHECK(flag && value == (void*)100);
  b = a;
  CHECK(MPI_Comm_free(&b) == MPI_ERR_OTHER);
  fail_delete = 0;
  /* A freed key lives on while values are set for it, and deletion goes backwards. */
  int freed = keys[0];
  MPI_Comm_free_keyval(&keys[0]);
  CHECK(keys[0] == MPI_KEYVAL_INVALID);
  deletes = 0;
  MPI_Comm_free(&a);
  CHECK(deletes == 2 && last_deleted == freed);
  MPI_Comm_free_keyval(&keys[1]);
  MPI_Comm_free_keyval(&keys[2]);

  MPI_Datatype type;
  int type_key;
  MPI_Type_create_keyval(MPI_TYPE_DUP_FN, type_delete_fn, &type_key, NULL);
  MPI_Type_contiguous(2, MPI_INT, &type);
  MPI_Type_set_attr(type, type_key, (void*)1);
  MPI_Type_set_attr(MPI_INT, type_key, (void*)2);
  MPI_Type_get_attr(MPI_INT, type_key, &value, &flag);
  CHECK(flag && value == (void*)2);
  MPI_Datatype copy;
  MPI_Type_dup(type, &copy);
  MPI_Type_get_attr(copy, type_key, &value, &flag);
  CHECK(flag && value == (void*)1);
  deletes = 0;
  MPI_Type_free(&type);
  MPI_Type_free(&copy);
  MPI_Type_delete_attr(MPI_INT, type_key);
  CHECK(deletes == 3);
  MPI_Type_free_keyval(&type_key);

  for (MPI_Aint i = 0; i < 3; ++i) {
    int key;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_end, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, (void*)i);
    MPI_Comm_free_keyval(&key);
  }
  return finish();
}
