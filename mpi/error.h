#pragma once
// Err: what a body in mpi/ returns: MPI_SUCCESS or an error class with a message.
//
// Role:      carries an MPI error class or code from a body to the entry point, which calls
//            the right error handler.
// Users:     mpi and its generated entry points.
// Threads:   a value; the message is kept in the calling execution (thread_local).
// See also:  base/result.h (below mpi/), mpi/entry.h.

#include <string>

#include "base/result.h"

namespace mpc::mpi {

struct [[nodiscard]] Err {
  int code = 0;  // MPI error code; its class for codes that we make
  explicit operator bool() const noexcept { return code != 0; }  // true: an error
};
inline constexpr Err kSuccess{};

// Makes an error of `mpi_class` and remembers the message for the handler's report and for
// MPI_Error_string's caller. Cold.
[[gnu::cold]] Err fail(int mpi_class, std::string message);
[[gnu::cold]] Err fail(const Error& error);  // from the layers below; maps Errc to a class
// The message of the last fail() of this execution.
const std::string& last_error_message() noexcept;

}  // namespace mpc::mpi
