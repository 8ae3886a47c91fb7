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
#include <forward_list>
#include <utility>
#include <vector>

namespace mpc::dt {

using Count = int64_t;

enum class SignatureKind : uint8_t { kEmpty, kBasic, kRepeat, kSequence };

// Order-sensitive and independent of how the sequence was built: (a+b)+c equals a+(b+c).
// A polynomial over a prime field, so that repetition costs O(log count).
struct SignatureHash {
  uint64_t value = 0;  // sum of element hashes times powers, modulo 2^61 - 1
  uint64_t power = 1;  // P^elements, modulo the same
  friend bool operator==(const SignatureHash&, const SignatureHash&) = default;
};
namespace detail {
inline constexpr uint64_t kPrime = (uint64_t{1} << 61) - 1;
__extension__ using Wide = unsigned __int128;
constexpr uint64_t times(uint64_t a, uint64_t b) noexcept {
  const Wide product = static_cast<Wide>(a) * b;
  const uint64_t sum =
      (static_cast<uint64_t>(product) & kPrime) + static_cast<uint64_t>(product >> 61);
  return sum >= kPrime ? sum - kPrime : sum;
}
constexpr uint64_t plus(uint64_t a, uint64_t b) noexcept {
  return a + b >= kPrime ? a + b - kPrime : a + b;
}
}  // namespace detail

constexpr SignatureHash hash_basic(uint32_t abi_code) noexcept {
  // Any fixed mixing would do; these are the constants of splitmix64.
  uint64_t x = abi_code * 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  return {(x >> 4) % detail::kPrime, 0x0a3c5f1d2b4e6987u % detail::kPrime};
}
constexpr SignatureHash hash_append(SignatureHash first,
                                    SignatureHash second) noexcept {
  return {detail::plus(detail::times(first.value, second.power), second.value),
          detail::times(first.power, second.power)};
}
constexpr SignatureHash hash_repeat(SignatureHash part, Count count) noexcept {
  SignatureHash all;
  for (; count > 0; count >>= 1) {
    if (count & 1) all = hash_append(all, part);
    part = hash_append(part, part);
  }
  return all;
}

struct Signature {
  SignatureKind kind = SignatureKind::kEmpty;
  uint32_t code = 0;   // kBasic
  Count count = 0;     // kBasic: elements; kRepeat: iterations; kSequence: children
  Count elements = 0;  // basic elements in the whole
  Count bytes = 0;     // data bytes in the whole
  const Signature* children = nullptr;

  static constexpr Signature basic(uint32_t code, Count element_bytes,
                                   Count count = 1) {
    return {SignatureKind::kBasic, code, count, count, count * element_bytes, nullptr};
  }
  // kBasic only.
  Count element_bytes() const noexcept { return bytes / elements; }
};

// Owns the inner nodes that Signatures point to.
class SignatureArena {
 public:
  const Signature* keep(std::vector<Signature> list) {
    return lists_.emplace_front(std::move(list)).data();
  }

 private:
  std::forward_list<std::vector<Signature>> lists_;
};

Signature make_repeat(SignatureArena& arena, Count count, const Signature& child);

// Concatenates signatures and merges equal neighbours.
class SequenceBuilder {
 public:
  explicit SequenceBuilder(SignatureArena& arena) : arena_(arena) {}
  void add(const Signature& part);
  Signature finish();

 private:
  SignatureArena& arena_;
  std::vector<Signature> parts_;
};

// Walks the runs of equal basic elements of `repeat` signatures, from a byte offset on.
class SignatureCursor {
 public:
  struct Run {
    uint32_t code;
    Count element_bytes;
    Count count;
  };
  SignatureCursor(const Signature& root, Count repeat) noexcept;
  // False at the end.
  bool next(Run& run);

 private:
  struct Frame {
    const Signature* node;
    Count index;
  };
  Signature outer_;
  std::vector<Frame> stack_;
};

}  // namespace mpc::dt
