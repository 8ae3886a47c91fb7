#pragma once
// Signature: the sequence of basic types of a datatype, without displacements.
//
// Role:      type matching of messages, MPI_Get_elements, external32.
// Users:     runtime/datatype; runtime/message compares hashes.
// Threads:   immutable once built.
// See also:  MPI-4.1 section 5.1.
//
// A pair type (MPI_DOUBLE_INT) is two basic elements, a complex number is one.

#include <cstddef>
#include <cstdint>

namespace mpc::dt {

using Count = int64_t;

enum class SignatureKind : uint8_t { kEmpty, kBasic, kRepeat, kSequence };

// Order-sensitive and independent of how the sequence was built: (a+b)+c equals a+(b+c).
// A polynomial over a prime field, so that repetition costs O(log count).
struct SignatureHash {
  uint64_t value = 0;   // sum of element hashes times powers, modulo 2^61 - 1
  uint64_t power = 1;   // P^elements, modulo the same
  friend bool operator==(const SignatureHash&, const SignatureHash&) = default;
};
SignatureHash hash_basic(uint32_t abi_code) noexcept;
SignatureHash hash_append(SignatureHash first, SignatureHash second) noexcept;
SignatureHash hash_repeat(SignatureHash part, Count count) noexcept;

struct Signature {
  SignatureKind kind = SignatureKind::kEmpty;
  uint32_t code = 0;      // kBasic
  Count count = 0;        // kBasic: elements; kRepeat: iterations; kSequence: children
  Count elements = 0;     // basic elements in the whole
  Count bytes = 0;        // data bytes in the whole
  const Signature* children = nullptr;
};

}  // namespace mpc::dt
