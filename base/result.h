#pragma once
// Result<T>: a value, or an Error that says what failed and what would help.
//
// Role:      the one way in which errors travel below mpi/; no exception crosses a layer.
// Users:     every layer. mpi/ turns Error::code into an MPI error class.
// Threads:   values; no sharing.
// See also:  base/check.h (our own broken invariants), base/log.h.

#include <string>
#include <utility>
#include <variant>

#include "base/check.h"

namespace mpc {

// What went wrong, coarse enough to map one to one to MPI error classes and exit codes.
// The names follow the MPI error classes (MPI-4.1 section 9.4) where one fits.
enum class Errc {
  kBuffer,       // invalid buffer pointer
  kCount,        // invalid count
  kType,         // invalid datatype
  kTag,          // invalid tag
  kComm,         // invalid communicator
  kRank,         // invalid rank
  kRequest,      // invalid request
  kRoot,         // invalid root
  kGroup,        // invalid group
  kOp,           // invalid reduction operation
  kTopology,     // invalid topology
  kDims,         // invalid dimension argument
  kArg,          // any other invalid argument
  kTruncate,     // message longer than the receive buffer
  kPending,      // not yet decided
  kNoMem,        // memory, address space, maps or threads exhausted
  kUnsupported,  // known, not built (yet)
  kNotFound,     // file, symbol, key
  kPermission,   // not allowed by the system
  kImage,        // a program or library that cannot be made private to a rank
  kLost,         // a process that takes part in the operation has died
  kSystem,       // a system call failed; the message carries errno's text
  kOther,        // see the message
  kInternal,     // our own fault
};

struct Error {
  Errc code = Errc::kOther;
  std::string message;  // what was tried, with the value; which setting would change it
};

template <class T = void>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}
  Result(Errc code, std::string message)
      : state_(std::in_place_index<1>, Error{code, std::move(message)}) {}

  bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }
  T& value() & {
    CHECK(ok(), "Result::value() of an error");
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    CHECK(ok(), "Result::value() of an error");
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    CHECK(ok(), "Result::value() of an error");
    return std::move(*std::get_if<0>(&state_));
  }
  const Error& error() const& {
    CHECK(!ok(), "Result::error() of a value");
    return *std::get_if<1>(&state_);
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)), ok_(false) {}
  Result(Errc code, std::string message)
      : error_{code, std::move(message)}, ok_(false) {}
  bool ok() const noexcept { return ok_; }
  explicit operator bool() const noexcept { return ok_; }
  const Error& error() const& {
    CHECK(!ok_, "Result::error() of a value");
    return error_;
  }

 private:
  Error error_{};
  bool ok_ = true;
};

}  // namespace mpc

// Returns the error of a Result-valued expression to the caller, if it is one.
#define MPC_TRY(expr)                                    \
  do {                                                   \
    if (auto&& mpc_try_result = (expr); !mpc_try_result) \
      return mpc_try_result.error();                     \
  } while (0)
