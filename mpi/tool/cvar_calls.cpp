// Bodies of MPI-4.1 sections 15.3.1 to 15.3.6: begin and end of the tool information interface,
// enumerations, control variables.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "mpi/impl/tool.h"
#include "mpi/objects/session.h"
#include "mpi/tool/tool_state.h"
#include "mpi/tool/variables.h"

namespace mpc::mpi::impl {
namespace {

Err find_cvar(int index, SettingBase** out) {
  const auto& all = control_variables();
  if (index < 0 || static_cast<size_t>(index) >= all.size())
    return bad_index("control variable", index, all.size());
  *out = all[static_cast<size_t>(index)];
  return kSuccess;
}

Err find_handle(const ToolState& state, const void* handle, SettingBase** out) {
  for (const auto& known : state.cvars) {
    if (known.get() != handle) continue;
    *out = known->setting;
    return kSuccess;
  }
  return fail(MPI_T_ERR_INVALID_HANDLE, "it is no handle of a control variable");
}

Err find_enum(MPI_T_enum handle, const SettingWords** out) {
  *out = words_of(handle);
  return *out != nullptr ? kSuccess
                         : fail(MPI_T_ERR_INVALID_HANDLE, "it is no enumeration");
}

void read_setting(const SettingBase& setting, void* out) {
  switch (setting.kind()) {
    case SettingKind::kBool:
      *static_cast<int*>(out) = static_cast<const BoolSetting&>(setting).get();
      return;
    case SettingKind::kEnum:
      *static_cast<int*>(out) = static_cast<const EnumSetting&>(setting).get();
      return;
    case SettingKind::kInt:
      *static_cast<MPI_Count*>(out) = static_cast<const IntSetting&>(setting).get();
      return;
    case SettingKind::kDouble:
    case SettingKind::kString:
      break;
  }
  int room = count_of(setting);
  give_text(setting.text().c_str(), static_cast<char*>(out), &room);
}

// The setting's text for the value in a tool's memory. Errors: no such value.
Err text_of_value(const SettingBase& setting, const void* value, std::string* out) {
  if (setting.kind() == SettingKind::kInt) {
    *out = std::to_string(*static_cast<const MPI_Count*>(value));
    return kSuccess;
  }
  const int number = *static_cast<const int*>(value);
  const SettingWords* words = words_of(setting);
  const size_t values = words == nullptr ? 2 : words->words.size();
  if (number < 0 || static_cast<size_t>(number) >= values)
    return fail(MPI_T_ERR_INVALID,
                fmt::format("{} has no value {}; it takes {}", setting.name(), number,
                            setting.accepted()));
  *out = words == nullptr ? std::to_string(number)
                          : words->words[static_cast<size_t>(number)];
  return kSuccess;
}

// The settings belong to the process: ranks that write at the same time do so one after the other.
std::mutex g_writing;

}  // namespace

Err t_init_thread(int required, int* provided) {
  ToolState& state = tool_state();
  const std::lock_guard lock(state.mutex);
  ++state.initialised;
  *provided = clamp_thread_level(required);
  return kSuccess;
}

Err t_finalize() {
  const ToolCall call;
  MPC_MPI_TRY(call.error);
  if (--call.state.initialised > 0) return kSuccess;
  call.state.cvars.clear();
  call.state.sessions.clear();
  return kSuccess;
}

// --- enumerations ---------------------------------------------------------------------------

Err t_enum_get_info(MPI_T_enum handle, int* num, char* name, int* name_len) {
  const ToolCall call;
  MPC_MPI_TRY(call.error);
  const SettingWords* words = nullptr;
  MPC_MPI_TRY(find_enum(handle, &words));
  give(num, words->words.size());
  give_text(words->setting->name(), name, name_len);
  return kSuccess;
}

Err t_enum_get_item(MPI_T_enum handle, int index, int* value, char* name,
                    int* name_len) {
  const ToolCall call;
  MPC_MPI_TRY(call.error);
  const SettingWords* words = nullptr;
  MPC_MPI_TRY(find_enum(handle, &words));
  if (index < 0 || static_cast<size_t>(index) >= words->words.size())
    return fail(MPI_T_ERR_INVALID_ITEM, fmt::format("there is no item {} of {}", index,
                                                    words->setting->name()));
  give(value, index);
  give_text(words->words[static_cast<size_t>(index)].c_str(), name, name_len);
  return kSuccess;
}

// --- control variables ----------------------------------------------------------------------

Err t_cvar_get_num(int* num) {
  const ToolCall call;
  MPC_MPI_TRY(call.error);
  *num = static_cast<int>(control_variables().size());
  return kSuccess;
}

Err t_cvar_get_index(const char* name, int* index) {
  const ToolCall call;
  MPC_MPI_TRY(call.error);
  const auto& all = control_variables();
  for (size_t i = 0; i < all.size(); ++i) {
    if (std::strcmp(all[i]->name(), name) != 0) continue;
    *index = static_cast<int>(i);
    return kSuccess;
  }
  return fail(MPI_T_ERR_INVALID_NAME,
              fmt::format("there is no control variable \"{}\"", name));
}

Err t_cvar_get_info(int index, char* name, int* name_len, int* verbosity,
                    MPI_Datatype* type, MPI_T_enum* enumtype, char* desc, int* desc_len,
                    int* bind, int* scope) {
  const ToolCall call;
  MPC_MPI_TRY(call.error);
  SettingBase* setting = nullptr;
  MPC_MPI_TRY(find_cvar(index, &setting));
  // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): found
  const std::string unit(setting->unit());
  const std::string help =
      setting->help() + (unit.empty() ? std::string() : fmt::format(" [{}]", unit));
  give_text(setting->name(), name, name_len);
  give_text(help.c_str(), desc, desc_len);
  give(verbosity, MPI_T_VERBOSITY_TUNER_BASIC);
  if (type != nullptr) *type = type_of(*setting);
  if (enumtype != nullptr) *enumtype = handle_of(words_of(*setting));
  give(bind, MPI_T_BIND_NO_OBJECT);
  give(scope, is_writable(*setting) ? MPI_T_SCOPE_LOCAL : MPI_T_SCOPE_READONLY);
  return kSuccess;
}

Err t_cvar_handle_alloc(int index, void*, MPI_T_cvar_handle* handle, int* count) {
  const ToolCall call;
  MPC_MPI_TRY(call.error);
  SettingBase* setting = nullptr;
  MPC_MPI_TRY(find_cvar(index, &setting));
  if (handle == nullptr) return fail(MPI_T_ERR_INVALID, "handle is a null pointer");
  call.state.cvars.push_back(std::make_unique<CvarHandle>(CvarHandle{setting}));
  *handle = reinterpret_cast<MPI_T_cvar_handle>(call.state.cvars.back().get());
  give(count, count_of(*setting));
  return kSuccess;
}

Err t_cvar_handle_free(MPI_T_cvar_handle* handle) {
  const ToolCall call;
  MPC_MPI_TRY(call.error);
  if (handle == nullptr) return fail(MPI_T_ERR_INVALID, "handle is a null pointer");
  SettingBase* setting = nullptr;
  MPC_MPI_TRY(find_handle(call.state, *handle, &setting));
  std::erase_if(call.state.cvars, [handle](const auto& known) {
    return static_cast<void*>(known.get()) == static_cast<void*>(*handle);
  });
  *handle = MPI_T_CVAR_HANDLE_NULL;
  return kSuccess;
}

Err t_cvar_read(MPI_T_cvar_handle handle, void* buf) {
  const ToolCall call;
  MPC_MPI_TRY(call.error);
  SettingBase* setting = nullptr;
  MPC_MPI_TRY(find_handle(call.state, handle, &setting));
  if (buf == nullptr) return fail(MPI_T_ERR_INVALID, "buf is a null pointer");
  read_setting(*setting, buf);
  return kSuccess;
}

Err t_cvar_write(MPI_T_cvar_handle handle, const void* buf) {
  const ToolCall call;
  MPC_MPI_TRY(call.error);
  SettingBase* setting = nullptr;
  MPC_MPI_TRY(find_handle(call.state, handle, &setting));
  if (buf == nullptr) return fail(MPI_T_ERR_INVALID, "buf is a null pointer");
  if (!is_writable(*setting))
    return fail(
        MPI_T_ERR_CVAR_SET_NEVER,
        fmt::format("{} is read when the job starts; set it by mpcrun --set {}=... "
                    "or in {}",
                    setting->name(), setting->name(), setting->environment_name()));
  std::string text;
  MPC_MPI_TRY(text_of_value(*setting, buf, &text));
  const std::lock_guard lock(g_writing);
  if (const Result<> done = setting->set(text); !done)
    return fail(MPI_T_ERR_INVALID, done.error().message);
  return kSuccess;
}

}  // namespace mpc::mpi::impl
