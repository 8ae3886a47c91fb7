#pragma once
// Fnv: FNV-1a with 64 bits, for names of files and for numbers that several processes agree on.
//
// Role:      the one hash whose values leave the process: the same bytes give the same number on every host
//            and in every version. Not for input that somebody chooses to make collide.
// Users:     topology/fingerprint, runtime/wireup/lobby and place, runtime/job/card, nbc/model/tuned_file,
//            mpi/comm/from_groups.
// Threads:   any.
// See also:  Fowler, Noll, Vo: draft-eastlake-fnv, section 2.

#include <cstdint>
#include <string_view>

namespace mpc {

class Fnv {
 public:
  constexpr void add(unsigned char byte) noexcept {
    value_ = (value_ ^ byte) * 0x100000001b3;  // the prime of 64 bits
  }
  constexpr void add(std::string_view text) noexcept {
    for (const char c : text) add(static_cast<unsigned char>(c));
  }
  // Four bytes, lowest first on every machine.
  constexpr void add(uint32_t number) noexcept {
    for (int shift = 0; shift < 32; shift += 8)
      add(static_cast<unsigned char>(number >> shift & 0xff));
  }
  constexpr uint64_t value() const noexcept { return value_; }

 private:
  uint64_t value_ = 0xcbf29ce484222325;  // the offset basis of 64 bits
};

constexpr uint64_t fnv_of(std::string_view text) noexcept {
  Fnv hash;
  hash.add(text);
  return hash.value();
}

}  // namespace mpc
