#pragma once
// Errhandler: what happens when an MPI call fails, and the functions that make it happen.
//
// Role:      predefined and user error handlers; the report of MPI_ERRORS_ARE_FATAL; error
//            classes, codes and strings that the user adds.
// Users:     generated entry points (handle_error), bodies.
// Threads:   any execution of the rank.
// See also:  mpi/error.h; MPI-4.1 chapter 9; docs/mpi.md (exit status).

#include <map>
#include <string>
#include <vector>

#include "mpi.h"
#include "mpi/attributes.h"
#include "mpi/error.h"
#include "mpi/object.h"

namespace mpc::mpi {

class Comm;
class Win;
class File;
class Session;

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

  MPI_Errhandler handle() noexcept;
  void drop() noexcept;  // gives a reference back

  static Errhandler* fatal() noexcept;
  static Errhandler* abort() noexcept;
  static Errhandler* returning() noexcept;
};

// --- called by entry points when a body has failed -------------------------------------------
// Returns the code that the MPI function returns, if the handler comes back. `function` is the
// MPI name. Cold.
[[gnu::cold]] int handle_error(Err error, Comm& comm, const char* function);
// Errors of calls without an object, or whose object is unknown: MPI_COMM_SELF's handler
// (MPI-4.1 section 9.3); before MPI_Init and after MPI_Finalize the initial one: fatal.
[[gnu::cold]] int handle_error(Err error, const char* function);
[[gnu::cold]] int handle_error(Err error, Errhandler& handler, void* handle,
                               const char* object_name, const char* function);

// Calls that name requests or messages instead of a communicator (MPI_Wait) say with these
// whose handler is for the error: blame() right after the error was made, null: nobody's;
// blame_same() if `error` replaces the one before. Both return `error`.
[[gnu::cold]] Err blame(Err error, Comm* comm);
[[gnu::cold]] Err blame_same(Err error, unsigned replaced_number);

// For all languages: what MPI_*_create_errhandler do.
Errhandler* create_errhandler(ErrhandlerTarget target, Language language,
                              AnyFunction* function);

// --- user classes and codes (MPI-4.1 section 9.5), per rank ----------------------------------
struct ErrorTable {
  struct Code {
    int error_class = 0;  // own number: it is a class
    std::string text;
    bool live = false;
  };
  std::vector<Code> codes;           // index: code - MPI_ERR_LASTCODE - 1
  int last_used = MPI_ERR_LASTCODE;  // value of MPI_LASTUSEDCODE
};

// Text of a predefined class: "MPI_ERR_COMM", "invalid communicator". Null: no such class.
const char* error_class_name(int mpi_class) noexcept;
const char* error_class_text(int mpi_class) noexcept;

}  // namespace mpc::mpi
