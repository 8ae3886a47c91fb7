/* Every function of the tool interface on events: run with any number of ranks. */
#include "every.h"

#define NONE "there are no event types and sources to make its arguments"

static void event_called(MPI_T_event_instance instance,
                         MPI_T_event_registration registration, MPI_T_cb_safety safety,
                         void* data) {
  (void)instance, (void)registration, (void)safety, (void)data;
}
static void freed(MPI_T_event_registration registration, MPI_T_cb_safety safety,
                  void* data) {
  (void)registration, (void)safety, (void)data;
}
static void dropped(MPI_Count count, MPI_T_event_registration registration, int source,
                    MPI_T_cb_safety safety, void* data) {
  (void)count, (void)registration, (void)source, (void)safety, (void)data;
}

static void types_and_sources(void) {
  int n = -1, index = -1, length = 10, elements = 10;
  char text[10];
  MPI_Count ticks = -1;
  MPI_T_event_registration registration = NULL;
  RIGHT(MPI_T_event_get_num(&n));
  CHECK(n == 0); /* else what NO_RIGHT says here is not true */
  WRONG_CODE(MPI_T_ERR_INVALID, MPI_T_event_get_num(NULL));
  n = -1;
  RIGHT(MPI_T_source_get_num(&n));
  CHECK(n == 0);
  WRONG_CODE(MPI_T_ERR_INVALID, MPI_T_source_get_num(NULL));

  NO_RIGHT(MPI_T_event_get_index, NONE);
  WRONG_CODE(MPI_T_ERR_INVALID_NAME, MPI_T_event_get_index("nothing", &index));
  CHECK(index == -1);
  NO_RIGHT(MPI_T_event_get_info, NONE);
  WRONG_CODE(MPI_T_ERR_INVALID_INDEX,
             MPI_T_event_get_info(0, text, &length, NULL, NULL, NULL, &elements, NULL,
                                  NULL, NULL, NULL, NULL));
  WRONG_CODE(MPI_T_ERR_INVALID_INDEX,
             MPI_T_event_get_info(-1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                                  NULL, NULL, NULL));
  NO_RIGHT(MPI_T_event_handle_alloc, NONE);
  WRONG_CODE(MPI_T_ERR_INVALID_INDEX,
             MPI_T_event_handle_alloc(0, NULL, MPI_INFO_NULL, &registration));
  CHECK(registration == NULL);
  NO_RIGHT(MPI_T_source_get_info, NONE);
  WRONG_CODE(
      MPI_T_ERR_INVALID_INDEX,
      MPI_T_source_get_info(0, text, &length, NULL, NULL, NULL, NULL, NULL, NULL));
  NO_RIGHT(MPI_T_source_get_timestamp, NONE);
  WRONG_CODE(MPI_T_ERR_INVALID_INDEX, MPI_T_source_get_timestamp(0, &ticks));
  CHECK(ticks == -1);
}

static void registrations(void) {
  const MPI_T_event_registration none = NULL;
  MPI_Info info = MPI_INFO_NULL;
  NO_RIGHT(MPI_T_event_handle_get_info, NONE);
  WRONG_CODE(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_handle_get_info(none, &info));
  NO_RIGHT(MPI_T_event_handle_set_info, NONE);
  WRONG_CODE(MPI_T_ERR_INVALID_HANDLE,
             MPI_T_event_handle_set_info(none, MPI_INFO_NULL));
  NO_RIGHT(MPI_T_event_register_callback, NONE);
  WRONG_CODE(MPI_T_ERR_INVALID_HANDLE,
             MPI_T_event_register_callback(none, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL,
                                           NULL, event_called));
  NO_RIGHT(MPI_T_event_callback_get_info, NONE);
  WRONG_CODE(MPI_T_ERR_INVALID_HANDLE,
             MPI_T_event_callback_get_info(none, MPI_T_CB_REQUIRE_NONE, &info));
  NO_RIGHT(MPI_T_event_callback_set_info, NONE);
  WRONG_CODE(MPI_T_ERR_INVALID_HANDLE,
             MPI_T_event_callback_set_info(none, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL));
  NO_RIGHT(MPI_T_event_set_dropped_handler, NONE);
  WRONG_CODE(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_set_dropped_handler(none, dropped));
  NO_RIGHT(MPI_T_event_handle_free, NONE);
  WRONG_CODE(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_handle_free(none, NULL, freed));
  CHECK(info == MPI_INFO_NULL);
}

static void instances(void) {
  const MPI_T_event_instance none = NULL;
  char buffer[100];
  MPI_Count ticks = -1;
  int source = -1;
  NO_RIGHT(MPI_T_event_read, NONE);
  WRONG_CODE(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_read(none, 0, buffer));
  NO_RIGHT(MPI_T_event_copy, NONE);
  WRONG_CODE(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_copy(none, buffer));
  NO_RIGHT(MPI_T_event_get_timestamp, NONE);
  WRONG_CODE(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_get_timestamp(none, &ticks));
  NO_RIGHT(MPI_T_event_get_source, NONE);
  WRONG_CODE(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_get_source(none, &source));
  CHECK(ticks == -1 && source == -1);
}

int main(int argc, char** argv) {
  int provided;
  every_begin(&argc, &argv);
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  types_and_sources();
  registrations();
  instances();
  MPI_T_finalize();
  return every_end();
}
