/* Every function of the tool interface but those on events: any number of ranks. */
#include "every.h"

static void beginning_and_end(void) {
  int provided = -1, n = -1;
  WRONG_CODE(MPI_T_ERR_NOT_INITIALIZED, MPI_T_finalize());
  WRONG_CODE(MPI_T_ERR_INVALID, MPI_T_init_thread(MPI_THREAD_SINGLE, NULL));
  WRONG_CODE(MPI_T_ERR_NOT_INITIALIZED, MPI_T_cvar_get_num(&n));
  RIGHT(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
  CHECK(provided == MPI_THREAD_MULTIPLE);
  RIGHT(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  RIGHT(MPI_T_finalize());
  RIGHT(MPI_T_cvar_get_num(&n));
  CHECK(n > 0);
  WRONG_CODE(MPI_T_ERR_INVALID, MPI_T_cvar_get_num(NULL));
}

static int cvar_of(const char* name) {
  int index = -1, again = -1, n = 0, length = 200;
  char text[200];
  RIGHT(MPI_T_cvar_get_index(name, &index));
  CHECK(MPI_T_cvar_get_num(&n) == MPI_SUCCESS && index >= 0 && index < n);
  CHECK(MPI_T_cvar_get_info(index, text, &length, NULL, NULL, NULL, NULL, NULL, NULL,
                            NULL) == MPI_SUCCESS);
  CHECK(strcmp(text, name) == 0);
  WRONG_CODE(MPI_T_ERR_INVALID_NAME, MPI_T_cvar_get_index("nothing", &again));
  WRONG_CODE(MPI_T_ERR_INVALID, MPI_T_cvar_get_index(NULL, &again));
  WRONG_CODE(MPI_T_ERR_INVALID, MPI_T_cvar_get_index(name, NULL));
  CHECK(again == -1);
  return index;
}

/* The first variable of words. */
static int with_words(MPI_T_enum* words) {
  int n = 0;
  MPI_T_cvar_get_num(&n);
  for (int i = 0; i < n; ++i) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_T_cvar_get_info(i, NULL, NULL, NULL, &type, words, NULL, NULL, NULL, NULL);
    if (*words == MPI_T_ENUM_NULL) continue;
    CHECK(type == MPI_INT);
    return i;
  }
  return -1;
}

static void enumerations(void) {
  MPI_T_enum words = MPI_T_ENUM_NULL;
  MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
  char name[200] = "", item[200], short_item[3];
  int n = 0, length = sizeof name, value = -1, now = -1, found = 0, count = 0;
  const int index = with_words(&words);
  CHECK(index >= 0);
  RIGHT(MPI_T_enum_get_info(words, &n, name, &length));
  CHECK(n > 1 && length == (int)strlen(name) + 1 && length > 1);
  WRONG_CODE(MPI_T_ERR_INVALID_HANDLE,
             MPI_T_enum_get_info(MPI_T_ENUM_NULL, &n, name, &length));
  MPI_T_cvar_handle_alloc(index, NULL, &handle, &count);
  MPI_T_cvar_read(handle, &now);
  MPI_T_cvar_handle_free(&handle);
  for (int i = 0; i < n; ++i) {
    length = sizeof item;
    RIGHT(MPI_T_enum_get_item(words, i, &value, item, &length));
    CHECK(length == (int)strlen(item) + 1);
    found += value == now;
    length = sizeof short_item;
    RIGHT(MPI_T_enum_get_item(words, i, &value, short_item, &length));
    CHECK(length == (int)strlen(item) + 1 && strncmp(short_item, item, 2) == 0);
  }
  CHECK(found == 1);
  length = sizeof item;
  WRONG_CODE(MPI_T_ERR_INVALID_ITEM,
             MPI_T_enum_get_item(words, n, &value, item, &length));
  WRONG_CODE(MPI_T_ERR_INVALID_HANDLE,
             MPI_T_enum_get_item(MPI_T_ENUM_NULL, 0, &value, item, &length));
}

static void cvar_infos(int index) {
  char name[200] = "", desc[2000] = "";
  int name_length = sizeof name, desc_length = sizeof desc, verbosity = -1, bind = -1;
  int scope = -1, n = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_T_enum words = MPI_T_ENUM_NULL;
  RIGHT(MPI_T_cvar_get_info(index, name, &name_length, &verbosity, &type, &words, desc,
                            &desc_length, &bind, &scope));
  CHECK(strcmp(name, "message.eager_limit") == 0 &&
        name_length == (int)strlen(name) + 1);
  CHECK(type == MPI_COUNT && words == MPI_T_ENUM_NULL && bind == MPI_T_BIND_NO_OBJECT);
  CHECK(verbosity >= MPI_T_VERBOSITY_USER_BASIC &&
        verbosity <= MPI_T_VERBOSITY_MPIDEV_ALL && scope == MPI_T_SCOPE_LOCAL);
  CHECK(desc_length == (int)strlen(desc) + 1 && desc_length > 1);
  name_length = 0; /* asks only for the length */
  RIGHT(MPI_T_cvar_get_info(index, NULL, &name_length, NULL, NULL, NULL, NULL, NULL,
                            NULL, NULL));
  CHECK(name_length == (int)strlen(name) + 1);
  MPI_T_cvar_get_num(&n);
  WRONG_CODE(
      MPI_T_ERR_INVALID_INDEX,
      MPI_T_cvar_get_info(n, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  WRONG_CODE(
      MPI_T_ERR_INVALID_INDEX,
      MPI_T_cvar_get_info(-1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
}

/* One rank writes at a time: the setting is the process's. */
static void cvars(void) {
  const int index = cvar_of("message.eager_limit");
  MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL, copy;
  MPI_Count before = -1, value = 1000, after = -1, too_large = (MPI_Count)1 << 40;
  int count = 0;
  cvar_infos(index);
  RIGHT(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count));
  CHECK(count == 1 && handle != MPI_T_CVAR_HANDLE_NULL);
  WRONG_CODE(MPI_T_ERR_INVALID_INDEX, MPI_T_cvar_handle_alloc(-1, NULL, &copy, &count));
  WRONG_CODE(MPI_T_ERR_INVALID, MPI_T_cvar_handle_alloc(index, NULL, NULL, &count));
  RIGHT(MPI_T_cvar_read(handle, &before));
  CHECK(before >= 0);
  WRONG_CODE(MPI_T_ERR_INVALID_HANDLE, MPI_T_cvar_read(MPI_T_CVAR_HANDLE_NULL, &after));
  WRONG_CODE(MPI_T_ERR_INVALID, MPI_T_cvar_read(handle, NULL));
  MPI_Barrier(MPI_COMM_WORLD);
  RIGHT(MPI_T_cvar_write(handle, &value));
  RIGHT(MPI_T_cvar_read(handle, &after));
  CHECK(after == 1000);
  WRONG_CODE(MPI_T_ERR_INVALID, MPI_T_cvar_write(handle, &too_large));
  WRONG_CODE(MPI_T_ERR_INVALID_HANDLE,
             MPI_T_cvar_write(MPI_T_CVAR_HANDLE_NULL, &value));
  WRONG_CODE(MPI_T_ERR_INVALID, MPI_T_cvar_write(handle, NULL));
  MPI_Barrier(MPI_COMM_WORLD);
  RIGHT(MPI_T_cvar_write(handle, &before));
  copy = handle;
  RIGHT(MPI_T_cvar_handle_free(&handle));
  CHECK(handle == MPI_T_CVAR_HANDLE_NULL);
  WRONG_CODE(MPI_T_ERR_INVALID_HANDLE, MPI_T_cvar_handle_free(&copy));
  WRONG_CODE(MPI_T_ERR_INVALID_HANDLE, MPI_T_cvar_handle_free(&handle));
  WRONG_CODE(MPI_T_ERR_INVALID, MPI_T_cvar_handle_free(NULL));
}

static void pvar_infos(int n) {
  char name[200] = "", desc[2000] = "";
  int name_length = sizeof name, desc_length = sizeof desc, verbosity = -1, kind = -1;
  int bind = -1, readonly = -1, continuous = -1, atomic = -1, index = -1;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_T_enum words = MPI_T_ENUM_NULL;
  RIGHT(MPI_T_pvar_get_info(n - 1, name, &name_length, &verbosity, &kind, &type, &words,
                            desc, &desc_length, &bind, &readonly, &continuous,
                            &atomic));
  CHECK(name_length == (int)strlen(name) + 1 && name_length > 1);
  CHECK(desc_length == (int)strlen(desc) + 1);
  CHECK(kind == MPI_T_PVAR_CLASS_COUNTER && type == MPI_UNSIGNED_LONG_LONG);
  CHECK(bind == MPI_T_BIND_NO_OBJECT && words == MPI_T_ENUM_NULL);
  CHECK((readonly | continuous | atomic) == 1 && atomic == 1 && verbosity > 0);
  WRONG_CODE(MPI_T_ERR_INVALID_INDEX,
             MPI_T_pvar_get_info(n, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                                 NULL, NULL, NULL, NULL));
  RIGHT(MPI_T_pvar_get_index(name, kind, &index));
  CHECK(index == n - 1);
  WRONG_CODE(MPI_T_ERR_INVALID_NAME,
             MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_TIMER, &index));
  WRONG_CODE(MPI_T_ERR_INVALID_NAME, MPI_T_pvar_get_index("nothing", kind, &index));
  WRONG_CODE(MPI_T_ERR_INVALID, MPI_T_pvar_get_index(NULL, kind, &index));
  WRONG_CODE(MPI_T_ERR_INVALID, MPI_T_pvar_get_index(name, kind, NULL));
}

static void pvar_values(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  unsigned long long value = 77, wanted = 1000;
  const MPI_T_pvar_handle none = MPI_T_PVAR_HANDLE_NULL;
  RIGHT(MPI_T_pvar_start(session, handle));
  WRONG_CODE(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_start(session, none));
  RIGHT(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES));
  WRONG_CODE(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_stop(session, none));
  RIGHT(MPI_T_pvar_write(session, handle, &wanted));
  WRONG_CODE(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_write(session, none, &wanted));
  WRONG_CODE(MPI_T_ERR_INVALID, MPI_T_pvar_write(session, handle, NULL));
  RIGHT(MPI_T_pvar_read(session, handle, &value));
  CHECK(value == 1000);
  WRONG_CODE(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_read(session, none, &value));
  WRONG_CODE(MPI_T_ERR_INVALID_HANDLE,
             MPI_T_pvar_read(session, MPI_T_PVAR_ALL_HANDLES, &value));
  WRONG_CODE(MPI_T_ERR_INVALID, MPI_T_pvar_read(session, handle, NULL));
  RIGHT(MPI_T_pvar_readreset(session, handle, &wanted));
  CHECK(wanted == 1000);
  RIGHT(MPI_T_pvar_read(session, handle, &value));
  CHECK(value == 0);
  WRONG_CODE(MPI_T_ERR_INVALID_SESSION,
             MPI_T_pvar_readreset(MPI_T_PVAR_SESSION_NULL, handle, &value));
  RIGHT(MPI_T_pvar_write(session, handle, &wanted));
  RIGHT(MPI_T_pvar_reset(session, handle));
  RIGHT(MPI_T_pvar_read(session, handle, &value));
  CHECK(value == 0);
  WRONG_CODE(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_reset(session, none));
}

static void pvars(void) {
  int n = 0, count = 0;
  MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL, other;
  MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL, copy,
                    none = MPI_T_PVAR_HANDLE_NULL;
  RIGHT(MPI_T_pvar_get_num(&n));
  CHECK(n > 0);
  WRONG_CODE(MPI_T_ERR_INVALID, MPI_T_pvar_get_num(NULL));
  pvar_infos(n);
  RIGHT(MPI_T_pvar_session_create(&session));
  RIGHT(MPI_T_pvar_session_create(&other));
  CHECK(session != MPI_T_PVAR_SESSION_NULL && session != other);
  WRONG_CODE(MPI_T_ERR_INVALID, MPI_T_pvar_session_create(NULL));
  RIGHT(MPI_T_pvar_handle_alloc(session, 0, NULL, &handle, &count));
  CHECK(count == 1 && handle != MPI_T_PVAR_HANDLE_NULL);
  WRONG_CODE(MPI_T_ERR_INVALID_INDEX,
             MPI_T_pvar_handle_alloc(session, n, NULL, &copy, &count));
  WRONG_CODE(MPI_T_ERR_INVALID_SESSION,
             MPI_T_pvar_handle_alloc(MPI_T_PVAR_SESSION_NULL, 0, NULL, &copy, &count));
  pvar_values(session, handle);
  WRONG_CODE(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_handle_free(other, &handle));
  copy = handle;
  RIGHT(MPI_T_pvar_handle_free(session, &handle));
  CHECK(handle == MPI_T_PVAR_HANDLE_NULL);
  WRONG_CODE(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_handle_free(session, &copy));
  WRONG_CODE(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_handle_free(session, &none));
  RIGHT(MPI_T_pvar_session_free(&session));
  CHECK(session == MPI_T_PVAR_SESSION_NULL);
  WRONG_CODE(MPI_T_ERR_INVALID_SESSION, MPI_T_pvar_session_free(&session));
  RIGHT(MPI_T_pvar_session_free(&other));
}

/* The members of one category belong to it. */
static void category(int index, int* all_cvars, int* all_pvars) {
  char name[200] = "", desc[2000] = "", member[200];
  int name_length = sizeof name, desc_length = sizeof desc, cvars = -1, pvars = -1;
  int length, again = -1, events = -1, inner = -1, members[1000];
  RIGHT(MPI_T_category_get_info(index, name, &name_length, desc, &desc_length, &cvars,
                                &pvars, &inner));
  CHECK(name_length == (int)strlen(name) + 1 && desc_length == (int)strlen(desc) + 1);
  CHECK(cvars >= 0 && cvars <= 1000 && pvars >= 0 && pvars <= 1000);
  RIGHT(MPI_T_category_get_index(name, &again));
  CHECK(again == index);
  RIGHT(MPI_T_category_get_num_events(index, &events));
  CHECK(events == 0 && inner == 0);
  RIGHT(MPI_T_category_get_cvars(index, 1000, members));
  for (int i = 0; i < cvars; ++i) {
    length = sizeof member;
    CHECK(MPI_T_cvar_get_info(members[i], member, &length, NULL, NULL, NULL, NULL, NULL,
                              NULL, NULL) == MPI_SUCCESS);
    CHECK(strncmp(member, name, strlen(name)) == 0);
  }
  RIGHT(MPI_T_category_get_pvars(index, 1000, members));
  for (int i = 0; i < pvars; ++i) {
    length = sizeof member;
    CHECK(MPI_T_pvar_get_info(members[i], member, &length, NULL, NULL, NULL, NULL, NULL,
                              NULL, NULL, NULL, NULL, NULL) == MPI_SUCCESS);
    CHECK(strncmp(member, name, strlen(name)) == 0);
  }
  members[0] = -7;
  RIGHT(MPI_T_category_get_events(index, 1000, members));
  RIGHT(MPI_T_category_get_categories(index, 1000, members));
  CHECK(members[0] == -7); /* there are none */
  *all_cvars += cvars;
  *all_pvars += pvars;
}

static void categories(void) {
  int n = 0, cvars = 0, pvars = 0, all = -1, stamp = -1, other = -1, out[4];
  RIGHT(MPI_T_category_get_num(&n));
  CHECK(n > 0);
  WRONG_CODE(MPI_T_ERR_INVALID, MPI_T_category_get_num(NULL));
  RIGHT(MPI_T_category_changed(&stamp));
  WRONG_CODE(MPI_T_ERR_INVALID, MPI_T_category_changed(NULL));
  for (int i = 0; i < n; ++i) category(i, &cvars, &pvars);
  CHECK(MPI_T_cvar_get_num(&all) == MPI_SUCCESS && cvars == all);
  CHECK(MPI_T_pvar_get_num(&all) == MPI_SUCCESS && pvars == all);
  RIGHT(MPI_T_category_changed(&other));
  CHECK(stamp == other);
  WRONG_CODE(MPI_T_ERR_INVALID_NAME, MPI_T_category_get_index("nothing", &other));
  WRONG_CODE(MPI_T_ERR_INVALID, MPI_T_category_get_index(NULL, &other));
  WRONG_CODE(MPI_T_ERR_INVALID_INDEX,
             MPI_T_category_get_info(n, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  WRONG_CODE(MPI_T_ERR_INVALID_INDEX, MPI_T_category_get_num_events(-1, &other));
  WRONG_CODE(MPI_T_ERR_INVALID_INDEX, MPI_T_category_get_cvars(n, 4, out));
  WRONG_CODE(MPI_T_ERR_INVALID, MPI_T_category_get_cvars(0, 4, NULL));
  WRONG_CODE(MPI_T_ERR_INVALID_INDEX, MPI_T_category_get_pvars(n, 4, out));
  WRONG_CODE(MPI_T_ERR_INVALID_INDEX, MPI_T_category_get_events(n, 4, out));
  WRONG_CODE(MPI_T_ERR_INVALID_INDEX, MPI_T_category_get_categories(n, 4, out));
}

int main(int argc, char** argv) {
  every_begin(&argc, &argv);
  beginning_and_end();
  enumerations();
  cvars();
  pvars();
  categories();
  RIGHT(MPI_T_finalize());
  WRONG_CODE(MPI_T_ERR_NOT_INITIALIZED, MPI_T_finalize());
  return every_end();
}
