#include "mpi/objects/errhandler.h"

#include <fmt/format.h>

#include "mpi/objects/error_codes.h"
#include "mpi/objects/handles.h"
#include "runtime/job/job.h"

namespace mpc::mpi {
namespace {

// Predefined handlers belong to the process and are never freed.
Errhandler* make_predefined(Errhandler::Policy policy) {
  return new Errhandler(policy, -1);
}

// "mpc: rank 3: MPI_Send on MPI_COMM_WORLD: MPI_ERR_RANK (invalid rank): dest 17 ..."
std::string report(Err error, const char* object_name, const char* function) {
  job::Rank* rank = job::current_rank();
  std::string who =
      rank == nullptr ? "mpc" : fmt::format("mpc: rank {}", rank->world_rank);
  std::string text = fmt::format("{}: {}", who, function);
  if (object_name != nullptr && *object_name != '\0')
    text += fmt::format(" on {}", object_name);
  if (is_last_error_of_function() && last_error_code() == error.code)
    return text + ": " + last_error_message();
  const int error_class = class_of_code(error.code);
  const char* name = error_class_name(error_class);
  text += fmt::format(": {} ({})",
                      name != nullptr ? name : fmt::format("code {}", error.code),
                      text_of_code(error.code));
  if (last_error_code() == error.code && !last_error_message().empty())
    text += ": " + last_error_message();
  return text;
}

[[noreturn]] void end_job(Err error, const char* object_name, const char* function) {
  const std::string text = report(error, object_name, function);
  job::Job::instance().abort(kExitMpiError, text);
  __builtin_unreachable();  // gcc 12 forgets [[noreturn]] in virtual calls
}

// The function may free the handler (through the object), and need not return: it may throw, or
// jump out. So nothing is held during the call, and the handler is not used after it.
int call_user(const Errhandler& handler, Err error, void* handle) {
  // The ABI's four function types are alike: pointer to the handle, pointer to the code.
  using Function = void(void* handle_pointer, int* code, ...);
  auto* const function = reinterpret_cast<Function*>(handler.function);
  const ErrhandlerTarget target = handler.target;
  int code = error.code;
  if (handler.language == Language::kC) {
    void* copy = handle;
    function(&copy, &code);
    // For files, whose errors programs often repair, the code that the handler leaves there
    // counts, as in ROMIO.
    return target == ErrhandlerTarget::kFile ? code : error.code;
  }
  Kind kind = Kind::kComm;
  switch (target) {
    case ErrhandlerTarget::kWin:
      kind = Kind::kWin;
      break;
    case ErrhandlerTarget::kFile:
      kind = Kind::kFile;
      break;
    case ErrhandlerTarget::kSession:
      kind = Kind::kSession;
      break;
    case ErrhandlerTarget::kComm:
    case ErrhandlerTarget::kAny:
      break;
  }
  int integer = handle_to_int(handle, kind);
  function(&integer, &code);
  return error.code;
}

}  // namespace

MPI_Errhandler Errhandler::handle() noexcept {
  switch (policy) {
    case Policy::kFatal:
      return MPI_ERRORS_ARE_FATAL;
    case Policy::kAbort:
      return MPI_ERRORS_ABORT;
    case Policy::kReturn:
      return MPI_ERRORS_RETURN;
    case Policy::kUser:
      break;
  }
  return reinterpret_cast<MPI_Errhandler>(this);
}

void Errhandler::drop() noexcept {
  if (policy != Policy::kUser || !release()) return;
  forget_handle(*this);
  delete this;
}

Errhandler* Errhandler::fatal() noexcept {
  static Errhandler* const handler = make_predefined(Policy::kFatal);
  return handler;
}
Errhandler* Errhandler::abort() noexcept {
  static Errhandler* const handler = make_predefined(Policy::kAbort);
  return handler;
}
Errhandler* Errhandler::returning() noexcept {
  static Errhandler* const handler = make_predefined(Policy::kReturn);
  return handler;
}

int handle_error(Err error, Errhandler& handler, void* handle, const char* object_name,
                 const char* function) {
  switch (handler.policy) {
    case Errhandler::Policy::kFatal:
    case Errhandler::Policy::kAbort:
      end_job(error, object_name, function);
    case Errhandler::Policy::kReturn:
      return error.code;
    case Errhandler::Policy::kUser:
      break;
  }
  return call_user(handler, error, handle);
}

}  // namespace mpc::mpi
