// Bodies of MPI-4.1 sections 9.3 to 9.5: error handlers, classes, codes and strings.

#include <fmt/format.h>

#include <cstring>

#include "mpi/impl/errhandler.h"
#include "mpi/objects/blame.h"
#include "mpi/objects/comm.h"
#include "mpi/objects/errhandler.h"
#include "mpi/objects/error_codes.h"
#include "mpi/objects/file.h"
#include "mpi/objects/rank_state.h"
#include "mpi/objects/session.h"
#include "mpi/objects/win.h"

namespace mpc::mpi {

Errhandler* create_errhandler(ErrhandlerTarget target, Language language,
                              AnyFunction* function) {
  auto* handler =
      new Errhandler(Errhandler::Policy::kUser, attached_rank().rank->world_rank);
  handler->target = target;
  handler->language = language;
  handler->function = function;
  return handler;
}

namespace impl {
namespace {

constexpr int kFirstUserCode = MPI_ERR_LASTCODE + 1;

template <class Function>
Err create(ErrhandlerTarget target, Function* function, MPI_Errhandler* out) {
  *out = create_errhandler(target, Language::kC, any_function(function))->handle();
  return kSuccess;
}

// Adds a code; its class is itself if `error_class` is 0.
int add_code(int error_class) {
  RankState& state = attached_rank();
  const std::lock_guard lock(state.mutex);
  if (!state.errors) state.errors = std::make_shared<ErrorTable>();
  ErrorTable& table = *state.errors;
  // Freed numbers at the end are reused, so that MPI_LASTUSEDCODE stays small.
  while (!table.codes.empty() && !table.codes.back().live) table.codes.pop_back();
  const int code = kFirstUserCode + static_cast<int>(table.codes.size());
  table.codes.push_back({error_class == 0 ? code : error_class, {}, true});
  table.last_used = std::max(table.last_used, code);
  state.predefined.last_used_code = table.last_used;
  return code;
}

// Applies `change` to the user's code under the lock, or returns the error.
template <class Change>
Err change_code(int code, const char* what, Change&& change) {
  if (code >= 0 && code < kFirstUserCode)
    return fail(MPI_ERR_ARG, fmt::format("{} {} is predefined", what, code));
  RankState& state = attached_rank();
  const std::lock_guard lock(state.mutex);
  const auto index = static_cast<size_t>(code - kFirstUserCode);
  if (code < 0 || !state.errors || index >= state.errors->codes.size() ||
      !state.errors->codes[index].live)
    return fail(MPI_ERR_ARG, fmt::format("{} {} does not exist", what, code));
  return change(*state.errors, state.errors->codes[index]);
}

}  // namespace

Err comm_create_errhandler(MPI_Comm_errhandler_function* function,
                           MPI_Errhandler* out) {
  return create(ErrhandlerTarget::kComm, function, out);
}
Err win_create_errhandler(MPI_Win_errhandler_function* function, MPI_Errhandler* out) {
  return create(ErrhandlerTarget::kWin, function, out);
}
Err file_create_errhandler(MPI_File_errhandler_function* function,
                           MPI_Errhandler* out) {
  return create(ErrhandlerTarget::kFile, function, out);
}
Err session_create_errhandler(MPI_Session_errhandler_function* function,
                              MPI_Errhandler* out) {
  return create(ErrhandlerTarget::kSession, function, out);
}

namespace {

Err check_target(const Errhandler& handler, ErrhandlerTarget target,
                 const char* objects) {
  if (handler.target == ErrhandlerTarget::kAny || handler.target == target)
    return kSuccess;
  return fail(MPI_ERR_ARG,
              fmt::format("the error handler was not made for {}", objects));
}

Err hand_out(Errhandler& handler, MPI_Errhandler* out) {
  handler.retain();  // for the new handle; MPI_Errhandler_free releases it
  handler.handles.fetch_add(1, std::memory_order_relaxed);
  *out = handler.handle();
  return kSuccess;
}

}  // namespace

Err comm_set_errhandler(Comm& comm, Errhandler& handler) {
  MPC_MPI_TRY(check_target(handler, ErrhandlerTarget::kComm, "communicators"));
  comm.set_errhandler(handler);
  return kSuccess;
}

Err comm_get_errhandler(Comm& comm, MPI_Errhandler* out) {
  return hand_out(comm.errhandler(), out);
}

Err comm_call_errhandler(Comm& comm, int code) {
  // The handler's return value, if any, is not the result of this call.
  handle_error(fail_with_code(code), comm, "MPI_Comm_call_errhandler");
  return kSuccess;
}

Err win_set_errhandler(Win& win, Errhandler& handler) {
  MPC_MPI_TRY(check_target(handler, ErrhandlerTarget::kWin, "windows"));
  win.set_errhandler(handler);
  return kSuccess;
}

Err win_get_errhandler(Win& win, MPI_Errhandler* out) {
  return hand_out(win.errhandler(), out);
}

Err win_call_errhandler(Win& win, int code) {
  handle_error(fail_with_code(code), win, "MPI_Win_call_errhandler");
  return kSuccess;
}

Err session_set_errhandler(Session& session, Errhandler& handler) {
  MPC_MPI_TRY(check_target(handler, ErrhandlerTarget::kSession, "sessions"));
  session.set_errhandler(handler);
  return kSuccess;
}

Err session_get_errhandler(Session& session, MPI_Errhandler* out) {
  return hand_out(session.errhandler(), out);
}

Err session_call_errhandler(Session& session, int code) {
  handle_error(fail_with_code(code), session, "MPI_Session_call_errhandler");
  return kSuccess;
}

// MPI_FILE_NULL has a handler, too: that of files that are opened later (MPI-4.1 section 14.7).
Err file_set_errhandler(File* file, Errhandler& handler) {
  MPC_MPI_TRY(check_target(handler, ErrhandlerTarget::kFile, "files"));
  if (file != nullptr)
    file->set_errhandler(handler);
  else
    set_default_file_errhandler(handler);
  return kSuccess;
}

Err file_get_errhandler(File* file, MPI_Errhandler* out) {
  Errhandler& handler =
      file != nullptr ? file->errhandler() : default_file_errhandler();
  return hand_out(handler, out);
}

Err file_call_errhandler(File* file, int code) {
  handle_error(fail_with_code(code), file, "MPI_File_call_errhandler");
  return kSuccess;
}

Err errhandler_free(HandleRef<Errhandler, MPI_Errhandler> ref) {
  // acq_rel: who frees the last one has seen what the others did
  if (ref->handles.fetch_sub(1, std::memory_order_acq_rel) == 1) ref->exempt();
  ref->drop();
  *ref.handle = MPI_ERRHANDLER_NULL;
  return kSuccess;
}

Err error_class(int code, int* result) {
  if (!is_error_code(code))
    return fail(MPI_ERR_ARG, fmt::format("error code {} does not exist", code));
  *result = class_of_code(code);
  return kSuccess;
}

Err error_string(int code, char* string, int* length) {
  if (!is_error_code(code))
    return fail(MPI_ERR_ARG, fmt::format("error code {} does not exist", code));
  std::string text = text_of_code(code);
  if (code != MPI_SUCCESS && code == last_error_code() && !last_error_message().empty())
    text += ": " + last_error_message();
  const size_t n = std::min<size_t>(text.size(), MPI_MAX_ERROR_STRING - 1);
  std::memcpy(string, text.data(), n);
  string[n] = '\0';
  *length = static_cast<int>(n);
  return kSuccess;
}

Err add_error_class(int* result) {
  *result = add_code(0);
  return kSuccess;
}

Err add_error_code(int error_class, int* result) {
  if (!is_error_code(error_class) || class_of_code(error_class) != error_class)
    return fail(MPI_ERR_ARG, fmt::format("error class {} does not exist", error_class));
  *result = add_code(error_class);
  return kSuccess;
}

Err add_error_string(int code, const char* string) {
  return change_code(code, "error code", [&](ErrorTable&, ErrorTable::Code& c) {
    c.text.assign(string, ::strnlen(string, MPI_MAX_ERROR_STRING - 1));
    return kSuccess;
  });
}

namespace {

// MPI-4.1 section 9.5: it is removed before the code to which it belongs.
Err check_no_string(const char* what, int code, const ErrorTable::Code& c) {
  return c.text.empty()
             ? kSuccess
             : fail(MPI_ERR_ARG, fmt::format("{} {} still has a string", what, code));
}

}  // namespace

Err remove_error_class(int error_class) {
  return change_code(
      error_class, "error class", [&](ErrorTable& table, ErrorTable::Code& c) {
        if (c.error_class != error_class)
          return fail(MPI_ERR_ARG,
                      fmt::format("{} is a code, not a class", error_class));
        for (const ErrorTable::Code& other : table.codes)
          if (&other != &c && other.live && other.error_class == error_class)
            return fail(MPI_ERR_ARG,
                        fmt::format("class {} still has codes", error_class));
        MPC_MPI_TRY(check_no_string("class", error_class, c));
        c = {};
        return kSuccess;
      });
}

Err remove_error_code(int code) {
  return change_code(code, "error code", [&](ErrorTable&, ErrorTable::Code& c) {
    if (c.error_class == code)
      return fail(MPI_ERR_ARG, fmt::format("{} is a class, not a code", code));
    MPC_MPI_TRY(check_no_string("code", code, c));
    c = {};
    return kSuccess;
  });
}

Err remove_error_string(int code) {
  return change_code(code, "error code", [&](ErrorTable&, ErrorTable::Code& c) {
    if (c.text.empty())
      return fail(MPI_ERR_ARG, fmt::format("code {} has no string", code));
    c.text.clear();
    return kSuccess;
  });
}

}  // namespace impl
}  // namespace mpc::mpi
