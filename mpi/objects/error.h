#pragma once
// Err: what a body in mpi/ returns: MPI_SUCCESS or an error class with a message.
//
// Role:      carries an MPI error class or code from a body to the entry point, which calls
//            the right error handler.
// Users:     mpi and its generated entry points.
// Threads:   a value; the message is kept in the calling execution (thread_local).
// See also:  base/result.h (below mpi/), mpi/objects/blame.h (handle_error).

#include <string>
#include <utility>

#include "base/result.h"

namespace mpc::mpi {

struct [[nodiscard]] Err {
  int code = 0;  // MPI error code; its class for codes that we make
  explicit operator bool() const noexcept { return code != 0; }  // true: an error
};
inline constexpr Err kSuccess{};

// Remembers an error for the handler's report and for MPI_Error_string's caller.
[[gnu::cold]] void remember_error(int code, std::string message);
// Makes an error of `mpi_class`, with its message. Defined in the header so that compilers and
// analyzers see that the result is always an error: code that goes on has the function's outputs.
[[gnu::cold, gnu::noinline]] inline Err fail(int mpi_class, std::string message) {
  remember_error(mpi_class, std::move(message));
  if (mpi_class == 0) __builtin_unreachable();
  return Err{mpi_class};
}
[[gnu::cold]] Err fail(
    const Error& error);  // from the layers below; maps Errc to a class
// An error code that comes from a user's callback or a message; it has no text of ours.
[[gnu::cold]] Err fail_with_code(int code);
// The MPI error class of an error from the layers below.
int error_class_of(Errc code) noexcept;
// The message of the last fail() of this execution, and its code.
const std::string& last_error_message() noexcept;
int last_error_code() noexcept;
// Counts the errors of this execution; shows whether a note about the last error is outdated.
unsigned last_error_number() noexcept;

// A user's function returned `code`, whose class, if it has one, says nothing about MPI.
// `what`: "the delete function of an attribute returned 17".
[[gnu::cold]] Err fail_in_function(int code, std::string what);
// True if fail_in_function() made the last error of this execution.
bool is_last_error_of_function() noexcept;

// Text of a predefined class: "MPI_ERR_COMM", "invalid communicator". Null: no such class.
const char* error_class_name(int mpi_class) noexcept;
const char* error_class_text(int mpi_class) noexcept;

}  // namespace mpc::mpi

// Returns the error of an Err-valued expression to the caller, if it is one.
#define MPC_MPI_TRY(expr)                                         \
  do {                                                            \
    if (::mpc::mpi::Err mpc_try_err = (expr)) return mpc_try_err; \
  } while (0)
