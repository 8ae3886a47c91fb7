#pragma once
// Errhandler: what happens when an MPI call fails.
//
// Role:      predefined and user error handlers; the report of MPI_ERRORS_ARE_FATAL.
// Users:     mpi; Comm holds one.
// Threads:   any execution of the rank.
// See also:  mpi/objects/error.h, mpi/objects/blame.h (which handler an error goes to);
//            MPI-4.1 chapter 9; docs/mpi.md (exit status).

#include <atomic>
#include <cstdint>

#include "mpi.h"
#include "mpi/objects/attributes.h"
#include "mpi/objects/error.h"
#include "mpi/objects/object.h"

namespace mpc::mpi {

// Exit status of a job ended by MPI_ERRORS_ARE_FATAL or MPI_ERRORS_ABORT.
inline constexpr int kExitMpiError = 123;

enum class ErrhandlerTarget : uint8_t { kAny, kComm, kWin, kFile, kSession };
class Errhandler final : public Object {
 public:
  enum class Policy : uint8_t { kFatal, kAbort, kReturn, kUser };
  Errhandler(Policy what, int owner) noexcept
      : Object(Kind::kErrhandler, owner), policy(what) {}

  const Policy policy;
  ErrhandlerTarget target = ErrhandlerTarget::kAny;
  Language language = Language::kC;
  AnyFunction* function = nullptr;  // of the target's function type
  // The user's: one by what has made it, one by each call that gets it. Without any it may still be in use.
  std::atomic<int> handles{1};

  MPI_Errhandler handle() noexcept;
  void drop() noexcept;  // gives a reference back

  static Errhandler* fatal() noexcept;
  static Errhandler* abort() noexcept;
  static Errhandler* returning() noexcept;
};

// Lets a handler treat an error. Returns the code that the MPI function returns, if the
// handler returns. `function` is the MPI name, `handle` that of the object. Cold.
[[gnu::cold]] int handle_error(Err error, Errhandler& handler, void* handle,
                               const char* object_name, const char* function);

// The work of the MPI_*_create_errhandler functions, for all languages.
Errhandler* create_errhandler(ErrhandlerTarget target, Language language,
                              AnyFunction* function);

}  // namespace mpc::mpi
