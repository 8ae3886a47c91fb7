/* MPI's tool information interface: begin and end, enumerations, control and performance variables,
 * categories, events; right use and wrong use of each function. */
#include <string.h>

#include "check.h"

/* Also before MPI_Init and after MPI_Finalize. */
#undef CHECK
#define CHECK(condition)                                     \
  do {                                                       \
    if (!(condition)) {                                      \
      printf("%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      ++check_failures;                                      \
    }                                                        \
  } while (0)

#define OK(call) CHECK((call) == MPI_SUCCESS)
#define FAILS(call, code) CHECK((call) == (code))

static void before_init(void) {
  int n, provided = -1;
  char name[100];
  MPI_T_enum none = MPI_T_ENUM_NULL;
  FAILS(MPI_T_cvar_get_num(&n), MPI_T_ERR_NOT_INITIALIZED);
  FAILS(MPI_T_pvar_get_num(&n), MPI_T_ERR_NOT_INITIALIZED);
  FAILS(MPI_T_category_get_num(&n), MPI_T_ERR_NOT_INITIALIZED);
  FAILS(MPI_T_event_get_num(&n), MPI_T_ERR_NOT_INITIALIZED);
  FAILS(MPI_T_source_get_num(&n), MPI_T_ERR_NOT_INITIALIZED);
  FAILS(MPI_T_enum_get_info(none, &n, name, &n), MPI_T_ERR_NOT_INITIALIZED);
  FAILS(MPI_T_finalize(), MPI_T_ERR_NOT_INITIALIZED);
  OK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
  CHECK(provided == MPI_THREAD_MULTIPLE);
  OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  CHECK(provided == MPI_THREAD_SINGLE);
  OK(MPI_T_finalize());
  OK(MPI_T_cvar_get_num(&n));
  CHECK(n > 20);
}

static void one_enum(MPI_T_enum words, int value) {
  int items = 0, length = 0, found = 0, item;
  char name[100];
  OK(MPI_T_enum_get_info(words, &items, NULL, NULL));
  CHECK(items > 1);
  for (int i = 0; i < items; ++i) {
    length = sizeof name;
    OK(MPI_T_enum_get_item(words, i, &item, name, &length));
    CHECK(length == (int)strlen(name) + 1 && length > 1);
    found += item == value;
  }
  CHECK(found == 1);
  FAILS(MPI_T_enum_get_item(words, items, &item, name, &length),
        MPI_T_ERR_INVALID_ITEM);
  FAILS(MPI_T_enum_get_item(words, -1, &item, name, &length), MPI_T_ERR_INVALID_ITEM);
}

/* Reads it, and writes the same value again. */
static void one_cvar(int index) {
  char name[200], desc[1000], tiny[4];
  int name_len = sizeof name, desc_len = sizeof desc, verbosity, bind, scope, again,
      count = 0;
  int tiny_len = sizeof tiny;
  union {
    int number;
    MPI_Count wide;
    char text[8192];
  } value;
  MPI_Datatype type;
  MPI_T_enum words;
  MPI_T_cvar_handle handle;
  OK(MPI_T_cvar_get_info(index, name, &name_len, &verbosity, &type, &words, desc,
                         &desc_len, &bind, &scope));
  CHECK(name_len == (int)strlen(name) + 1 && desc_len == (int)strlen(desc) + 1);
  CHECK(bind == MPI_T_BIND_NO_OBJECT);
  OK(MPI_T_cvar_get_info(index, tiny, &tiny_len, NULL, NULL, NULL, NULL, NULL, NULL,
                         NULL));
  CHECK(strlen(tiny) == 3 && strncmp(tiny, name, 3) == 0 && tiny_len == name_len);
  OK(MPI_T_cvar_get_index(name, &again));
  CHECK(again == index);
  OK(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count));
  CHECK(type == MPI_CHAR ? count > 1 && count <= 8192 : count == 1);
  OK(MPI_T_cvar_read(handle, &value));
  if (words != MPI_T_ENUM_NULL) one_enum(words, value.number);
  const int code = MPI_T_cvar_write(handle, &value);
  CHECK(code ==
        (scope == MPI_T_SCOPE_READONLY ? MPI_T_ERR_CVAR_SET_NEVER : MPI_SUCCESS));
  MPI_T_cvar_handle copy = handle;
  OK(MPI_T_cvar_handle_free(&handle));
  CHECK(handle == MPI_T_CVAR_HANDLE_NULL);
  FAILS(MPI_T_cvar_read(copy, &value), MPI_T_ERR_INVALID_HANDLE);
  FAILS(MPI_T_cvar_write(copy, &value), MPI_T_ERR_INVALID_HANDLE);
  FAILS(MPI_T_cvar_handle_free(&copy), MPI_T_ERR_INVALID_HANDLE);
}

static void cvars(void) {
  int n, index, count;
  MPI_T_cvar_handle handle;
  OK(MPI_T_cvar_get_num(&n));
  for (int i = 0; i < n; ++i) one_cvar(i);
  FAILS(MPI_T_cvar_get_info(n, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
        MPI_T_ERR_INVALID_INDEX);
  FAILS(MPI_T_cvar_handle_alloc(-1, NULL, &handle, &count), MPI_T_ERR_INVALID_INDEX);
  FAILS(MPI_T_cvar_get_index("no such thing", &index), MPI_T_ERR_INVALID_NAME);
}

/* The eager limit is what it was set to, and messages arrive with any. */
static void written(void) {
  int index, count, out[100], in[100];
  MPI_Count limit = -1, value = 16, too_large = (MPI_Count)1 << 40;
  MPI_T_cvar_handle handle;
  OK(MPI_T_cvar_get_index("message.eager_limit", &index));
  OK(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count));
  OK(MPI_T_cvar_read(handle, &limit));
  FAILS(MPI_T_cvar_write(handle, &too_large), MPI_T_ERR_INVALID);
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_T_cvar_write(handle, &value));
  MPI_Barrier(MPI_COMM_WORLD);
  value = -1;
  OK(MPI_T_cvar_read(handle, &value));
  CHECK(value == 16);
  for (int i = 0; i < 100; ++i) out[i] = i, in[i] = -1;
  MPI_Sendrecv(out, 100, MPI_INT, 0, 0, in, 100, MPI_INT, 0, 0, MPI_COMM_SELF,
               MPI_STATUS_IGNORE);
  CHECK(in[99] == 99);
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_T_cvar_write(handle, &limit));
  OK(MPI_T_cvar_handle_free(&handle));
}

static void pvar_info(int index) {
  char name[200], desc[1000];
  int name_len = sizeof name, desc_len = sizeof desc, verbosity, class, bind, readonly;
  int continuous, atomic, again;
  MPI_Datatype type;
  MPI_T_enum words;
  OK(MPI_T_pvar_get_info(index, name, &name_len, &verbosity, &class, &type, &words,
                         desc, &desc_len, &bind, &readonly, &continuous, &atomic));
  CHECK(class == MPI_T_PVAR_CLASS_COUNTER && type == MPI_UNSIGNED_LONG_LONG);
  CHECK(bind == MPI_T_BIND_NO_OBJECT && !readonly && !continuous && atomic);
  OK(MPI_T_pvar_get_index(name, class, &again));
  CHECK(again == index);
  FAILS(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_TIMER, &again),
        MPI_T_ERR_INVALID_NAME);
}

static void pvars(void) {
  int n, count;
  unsigned long long value = 77, wanted = 1000;
  MPI_T_pvar_session one, two;
  MPI_T_pvar_handle handle, other, copy;
  OK(MPI_T_pvar_get_num(&n));
  CHECK(n > 5);
  for (int i = 0; i < n; ++i) pvar_info(i);
  FAILS(MPI_T_pvar_get_info(n, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                            NULL, NULL, NULL),
        MPI_T_ERR_INVALID_INDEX);
  OK(MPI_T_pvar_session_create(&one));
  OK(MPI_T_pvar_session_create(&two));
  FAILS(MPI_T_pvar_handle_alloc(one, n, NULL, &handle, &count),
        MPI_T_ERR_INVALID_INDEX);
  FAILS(MPI_T_pvar_handle_alloc(MPI_T_PVAR_SESSION_NULL, 0, NULL, &handle, &count),
        MPI_T_ERR_INVALID_SESSION);
  OK(MPI_T_pvar_handle_alloc(one, 0, NULL, &handle, &count));
  CHECK(count == 1);
  OK(MPI_T_pvar_handle_alloc(one, n - 1, NULL, &other, &count));
  OK(MPI_T_pvar_read(one, handle, &value));
  CHECK(value == 0); /* it has not been started */
  OK(MPI_T_pvar_start(one, MPI_T_PVAR_ALL_HANDLES));
  OK(MPI_T_pvar_write(one, handle, &wanted));
  OK(MPI_T_pvar_stop(one, handle));
  OK(MPI_T_pvar_read(one, handle, &value));
  CHECK(value >= wanted);
  OK(MPI_T_pvar_readreset(one, handle, &wanted));
  CHECK(wanted == value);
  OK(MPI_T_pvar_read(one, handle, &value));
  CHECK(value == 0);
  OK(MPI_T_pvar_reset(one, MPI_T_PVAR_ALL_HANDLES));
  FAILS(MPI_T_pvar_read(two, handle, &value), MPI_T_ERR_INVALID_HANDLE);
  FAILS(MPI_T_pvar_start(two, handle), MPI_T_ERR_INVALID_HANDLE);
  copy = handle;
  OK(MPI_T_pvar_handle_free(one, &handle));
  CHECK(handle == MPI_T_PVAR_HANDLE_NULL);
  FAILS(MPI_T_pvar_stop(one, copy), MPI_T_ERR_INVALID_HANDLE);
  FAILS(MPI_T_pvar_reset(one, copy), MPI_T_ERR_INVALID_HANDLE);
  OK(MPI_T_pvar_session_free(&one));
  CHECK(one == MPI_T_PVAR_SESSION_NULL);
  FAILS(MPI_T_pvar_session_free(&one), MPI_T_ERR_INVALID_SESSION);
  OK(MPI_T_pvar_session_free(&two));
}

static void categories(void) {
  int n, cvars = 0, pvars = 0, all_cvars, all_pvars, update = -1;
  OK(MPI_T_category_get_num(&n));
  OK(MPI_T_cvar_get_num(&all_cvars));
  OK(MPI_T_pvar_get_num(&all_pvars));
  for (int i = 0; i < n; ++i) {
    char name[100], desc[200], variable[200];
    int name_len = sizeof name, desc_len = sizeof desc, c, p, sub, index, events = -1;
    int indices[1000];
    OK(MPI_T_category_get_info(i, name, &name_len, desc, &desc_len, &c, &p, &sub));
    CHECK(desc_len > 1 && sub == 0 && c <= 1000 && p <= 1000);
    OK(MPI_T_category_get_index(name, &index));
    CHECK(index == i);
    OK(MPI_T_category_get_num_events(i, &events));
    CHECK(events == 0);
    OK(MPI_T_category_get_cvars(i, 1000, indices));
    for (int k = 0; k < c; ++k) {
      int length = sizeof variable;
      OK(MPI_T_cvar_get_info(indices[k], variable, &length, NULL, NULL, NULL, NULL,
                             NULL, NULL, NULL));
      CHECK(strncmp(variable, name, strlen(name)) == 0 &&
            variable[strlen(name)] == '.');
    }
    OK(MPI_T_category_get_pvars(i, 1000, indices));
    OK(MPI_T_category_get_events(i, 0, indices));
    OK(MPI_T_category_get_categories(i, 0, indices));
    cvars += c;
    pvars += p;
  }
  CHECK(cvars == all_cvars && pvars == all_pvars);
  FAILS(MPI_T_category_get_info(n, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
        MPI_T_ERR_INVALID_INDEX);
  FAILS(MPI_T_category_get_cvars(-1, 0, NULL), MPI_T_ERR_INVALID_INDEX);
  FAILS(MPI_T_category_get_index("nowhere", &n), MPI_T_ERR_INVALID_NAME);
  OK(MPI_T_category_changed(&update));
  CHECK(update == 0);
}

static void events(void) {
  int n = -1, index;
  MPI_Count stamp;
  MPI_T_event_registration registration = 0;
  OK(MPI_T_event_get_num(&n));
  CHECK(n == 0);
  OK(MPI_T_source_get_num(&n));
  CHECK(n == 0);
  FAILS(MPI_T_event_get_index("x", &index), MPI_T_ERR_INVALID_NAME);
  FAILS(MPI_T_event_handle_alloc(0, NULL, MPI_INFO_NULL, &registration),
        MPI_T_ERR_INVALID_INDEX);
  FAILS(MPI_T_event_handle_free(registration, NULL, NULL), MPI_T_ERR_INVALID_HANDLE);
  FAILS(MPI_T_source_get_timestamp(0, &stamp), MPI_T_ERR_INVALID_INDEX);
}

int main(int argc, char** argv) {
  before_init();
  cvars();
  MPI_Init(&argc, &argv);
  cvars();
  written();
  pvars();
  categories();
  events();
  const int result = finish();
  pvars(); /* after MPI_Finalize */
  MPI_T_finalize();
  return result + check_failures;
}
