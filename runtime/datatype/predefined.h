#pragma once
// Predefined: the datatype of an ABI code without a call, for the entry points of MPI.
//
// Role:      predefined() of runtime/datatype/datatype.h as one load from a table of addresses.
// Users:     mpi/api/checks.h.
// Threads:   a constant.

#include <array>

#include "runtime/datatype/datatype.h"

namespace mpc::dt {

namespace detail {
inline constexpr size_t kCodes = abi::kLastType - abi::kFirstType + 1;
// By code - abi::kFirstType; null: there is no such type.
extern const std::array<const Datatype*, kCodes> kByCode;
}  // namespace detail

// `abi_code`: any number, as a handle's.
inline const Datatype* predefined_at(uint64_t abi_code) noexcept {
  const uint64_t at = abi_code - abi::kFirstType;  // below the first: a large number
  return at < detail::kCodes ? detail::kByCode[at] : nullptr;
}

}  // namespace mpc::dt
