// Bodies of MPI-4.1 section 15.3.7: performance variables, which are the runtime's counters.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "mpi/impl/tool.h"
#include "mpi/tool/tool_state.h"
#include "mpi/tool/variables.h"

namespace mpc::mpi::impl {
namespace {

Err find_pvar(int index, const Counter** out) {
  const auto& all = performance_variables();
  if (index < 0 || static_cast<size_t>(index) >= all.size())
    return bad_index("performance variable", index, all.size());
  *out = all[static_cast<size_t>(index)];
  return kSuccess;
}

Err find_session(const ToolState& state, const void* session, PvarSession** out) {
  for (const auto& known : state.sessions) {
    if (known.get() != session) continue;
    *out = known.get();
    return kSuccess;
  }
  return fail(MPI_T_ERR_INVALID_SESSION, "it is no session of performance variables");
}

// A call about one variable of a session.
Err find_handle(const ToolState& state, const void* session, const void* handle,
                PvarHandle** out) {
  PvarSession* found = nullptr;
  MPC_MPI_TRY(find_session(state, session, &found));
  for (const auto& known : found->handles) {
    if (known.get() != handle) continue;
    *out = known.get();
    return kSuccess;
  }
  return fail(MPI_T_ERR_INVALID_HANDLE,
              "it is no handle of a performance variable in this session");
}

// The same for calls that take MPI_T_PVAR_ALL_HANDLES.
template <class Act>
Err act_on(MPI_T_pvar_session session, MPI_T_pvar_handle handle, Act act) {
  const ToolCall call;
  MPC_MPI_TRY(call.error);
  if (handle == MPI_T_PVAR_ALL_HANDLES) {
    PvarSession* all = nullptr;
    MPC_MPI_TRY(find_session(call.state, session, &all));
    for (const auto& one : all->handles) act(*one);
    return kSuccess;
  }
  PvarHandle* one = nullptr;
  MPC_MPI_TRY(find_handle(call.state, session, handle, &one));
  act(*one);
  return kSuccess;
}

Err read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* buf, bool resets) {
  const ToolCall call;
  MPC_MPI_TRY(call.error);
  PvarHandle* one = nullptr;
  MPC_MPI_TRY(find_handle(call.state, session, handle, &one));
  if (buf == nullptr) return fail(MPI_T_ERR_INVALID, "buf is a null pointer");
  const uint64_t now = one->counter->get();  // once, so that nothing is lost between
  const uint64_t value = one->is_started ? one->value + (now - one->begun) : one->value;
  std::memcpy(buf, &value, sizeof value);
  if (resets) {
    one->value = 0;
    one->begun = now;
  }
  return kSuccess;
}

}  // namespace

Err t_pvar_get_num(int* num) {
  const ToolCall call;
  MPC_MPI_TRY(call.error);
  *num = static_cast<int>(performance_variables().size());
  return kSuccess;
}

Err t_pvar_get_index(const char* name, int var_class, int* index) {
  const ToolCall call;
  MPC_MPI_TRY(call.error);
  const auto& all = performance_variables();
  for (size_t i = 0; i < all.size(); ++i) {
    if (var_class != MPI_T_PVAR_CLASS_COUNTER || std::strcmp(all[i]->name(), name) != 0)
      continue;
    *index = static_cast<int>(i);
    return kSuccess;
  }
  return fail(MPI_T_ERR_INVALID_NAME,
              fmt::format("there is no performance variable \"{}\" of class {}", name,
                          var_class));
}

Err t_pvar_get_info(int index, char* name, int* name_len, int* verbosity,
                    int* var_class, MPI_Datatype* type, MPI_T_enum* enumtype,
                    char* desc, int* desc_len, int* bind, int* readonly,
                    int* continuous, int* atomic) {
  const ToolCall call;
  MPC_MPI_TRY(call.error);
  const Counter* counter = nullptr;
  MPC_MPI_TRY(find_pvar(index, &counter));
  // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): found
  give_text(counter->name(), name, name_len);
  give_text(counter->help(), desc, desc_len);
  give(verbosity, MPI_T_VERBOSITY_TUNER_DETAIL);
  give(var_class, MPI_T_PVAR_CLASS_COUNTER);
  if (type != nullptr) *type = MPI_UNSIGNED_LONG_LONG;
  if (enumtype != nullptr) *enumtype = MPI_T_ENUM_NULL;
  give(bind, MPI_T_BIND_NO_OBJECT);
  give(readonly, 0);
  give(continuous, 0);
  give(atomic, 1);
  return kSuccess;
}

Err t_pvar_session_create(MPI_T_pvar_session* session) {
  const ToolCall call;
  MPC_MPI_TRY(call.error);
  if (session == nullptr) return fail(MPI_T_ERR_INVALID, "session is a null pointer");
  call.state.sessions.push_back(std::make_unique<PvarSession>());
  *session = reinterpret_cast<MPI_T_pvar_session>(call.state.sessions.back().get());
  return kSuccess;
}

Err t_pvar_session_free(MPI_T_pvar_session* session) {
  const ToolCall call;
  MPC_MPI_TRY(call.error);
  if (session == nullptr) return fail(MPI_T_ERR_INVALID, "session is a null pointer");
  PvarSession* found = nullptr;
  MPC_MPI_TRY(find_session(call.state, *session, &found));
  std::erase_if(call.state.sessions,
                [found](const auto& known) { return known.get() == found; });
  *session = MPI_T_PVAR_SESSION_NULL;
  return kSuccess;
}

Err t_pvar_handle_alloc(MPI_T_pvar_session session, int index, void*,
                        MPI_T_pvar_handle* handle, int* count) {
  const ToolCall call;
  MPC_MPI_TRY(call.error);
  PvarSession* found = nullptr;
  MPC_MPI_TRY(find_session(call.state, session, &found));
  const Counter* counter = nullptr;
  MPC_MPI_TRY(find_pvar(index, &counter));
  if (handle == nullptr) return fail(MPI_T_ERR_INVALID, "handle is a null pointer");
  found->handles.push_back(std::make_unique<PvarHandle>(PvarHandle{counter}));
  *handle = reinterpret_cast<MPI_T_pvar_handle>(found->handles.back().get());
  give(count, 1);
  return kSuccess;
}

Err t_pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle* handle) {
  const ToolCall call;
  MPC_MPI_TRY(call.error);
  if (handle == nullptr) return fail(MPI_T_ERR_INVALID, "handle is a null pointer");
  PvarHandle* one = nullptr;
  MPC_MPI_TRY(find_handle(call.state, session, *handle, &one));
  PvarSession* found = nullptr;
  MPC_MPI_TRY(find_session(call.state, session, &found));
  std::erase_if(found->handles,
                [one](const auto& known) { return known.get() == one; });
  *handle = MPI_T_PVAR_HANDLE_NULL;
  return kSuccess;
}

Err t_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  return act_on(session, handle, [](PvarHandle& one) { one.start(); });
}
Err t_pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  return act_on(session, handle, [](PvarHandle& one) { one.stop(); });
}
Err t_pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  return act_on(session, handle, [](PvarHandle& one) { one.set(0); });
}

Err t_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* buf) {
  return read(session, handle, buf, false);
}
Err t_pvar_readreset(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* buf) {
  return read(session, handle, buf, true);
}

Err t_pvar_write(MPI_T_pvar_session session, MPI_T_pvar_handle handle,
                 const void* buf) {
  const ToolCall call;
  MPC_MPI_TRY(call.error);
  PvarHandle* one = nullptr;
  MPC_MPI_TRY(find_handle(call.state, session, handle, &one));
  if (buf == nullptr) return fail(MPI_T_ERR_INVALID, "buf is a null pointer");
  uint64_t value = 0;
  std::memcpy(&value, buf, sizeof value);
  one->set(value);
  return kSuccess;
}

}  // namespace mpc::mpi::impl
