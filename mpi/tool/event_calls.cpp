// Bodies of MPI-4.1 section 15.3.8: events and their sources. There are none: mpcrun --trace
// records what happens (docs/tracing.md), on paths that must not call back. So every index and
// handle is wrong.

#include <string>

#include "mpi/impl/tool.h"
#include "mpi/tool/tool_state.h"

namespace mpc::mpi::impl {
namespace {

Err no_event(int index) {
  const ToolCall call;
  MPC_MPI_TRY(call.error);
  return bad_index("event type", index, 0);
}

Err no_source(int index) {
  const ToolCall call;
  MPC_MPI_TRY(call.error);
  return bad_index("source of events", index, 0);
}

Err no_handle(const char* message) {
  const ToolCall call;
  MPC_MPI_TRY(call.error);
  return fail(MPI_T_ERR_INVALID_HANDLE, message);
}

Err no_registration() { return no_handle("it is no registration of an event"); }
Err no_instance() { return no_handle("it is no event that has happened"); }

}  // namespace

Err t_event_get_num(int* num) {
  const ToolCall call;
  MPC_MPI_TRY(call.error);
  *num = 0;
  return kSuccess;
}

Err t_event_get_index(const char* name, int*) {
  const ToolCall call;
  MPC_MPI_TRY(call.error);
  return fail(MPI_T_ERR_INVALID_NAME,
              std::string("there is no event type \"") + name + "\"");
}

Err t_event_get_info(int index, char*, int*, int*, MPI_Datatype*, MPI_Aint*, int*,
                     MPI_T_enum*, MPI_Info*, char*, int*, int*) {
  return no_event(index);
}
Err t_event_handle_alloc(int index, void*, Info*, MPI_T_event_registration*) {
  return no_event(index);
}

Err t_event_handle_free(MPI_T_event_registration, void*, MPI_T_event_free_cb_function) {
  return no_registration();
}
Err t_event_handle_get_info(MPI_T_event_registration, MPI_Info*) {
  return no_registration();
}
Err t_event_handle_set_info(MPI_T_event_registration, Info*) {
  return no_registration();
}
Err t_event_register_callback(MPI_T_event_registration, MPI_T_cb_safety, Info*, void*,
                              MPI_T_event_cb_function) {
  return no_registration();
}
Err t_event_callback_get_info(MPI_T_event_registration, MPI_T_cb_safety, MPI_Info*) {
  return no_registration();
}
Err t_event_callback_set_info(MPI_T_event_registration, MPI_T_cb_safety, Info*) {
  return no_registration();
}
Err t_event_set_dropped_handler(MPI_T_event_registration,
                                MPI_T_event_dropped_cb_function) {
  return no_registration();
}

Err t_event_read(MPI_T_event_instance, int, void*) { return no_instance(); }
Err t_event_copy(MPI_T_event_instance, void*) { return no_instance(); }
Err t_event_get_timestamp(MPI_T_event_instance, Count*) { return no_instance(); }
Err t_event_get_source(MPI_T_event_instance, int*) { return no_instance(); }

Err t_source_get_num(int* num) {
  const ToolCall call;
  MPC_MPI_TRY(call.error);
  *num = 0;
  return kSuccess;
}
Err t_source_get_info(int index, char*, int*, char*, int*, MPI_T_source_order*,
                      MPI_Count*, MPI_Count*, MPI_Info*) {
  return no_source(index);
}
Err t_source_get_timestamp(int index, Count*) { return no_source(index); }

}  // namespace mpc::mpi::impl
