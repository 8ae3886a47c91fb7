#pragma once
// Key: the properties that members of a direct collective must have in common, as one number.
//
// Role:      a post carries it, so that a member that reads the post notices a wrong call: another
//            collective, another operation, another amount of data.
// Users:     nbc/direct.
// Threads:   pure functions.
// See also:  nbc/direct/team.h (Post).

#include <cstddef>
#include <cstdint>
#include <string>

#include "nbc/schedule/coll.h"

namespace mpc::nbc::direct {

// In place of an operation: marks an allgather by which a communicator is split.
inline constexpr uint8_t kSplits = 0xff;

// `bytes` is stored modulo 2^48. op_code: dt::abi::Op; 0: the user's, or none.
constexpr uint64_t make_key(Coll coll, uint8_t op_code, size_t bytes) noexcept {
  return static_cast<uint64_t>(coll) | static_cast<uint64_t>(op_code) << 8 |
         static_cast<uint64_t>(bytes) << 16;
}
constexpr size_t bytes_of(uint64_t key) noexcept { return key >> 16; }
// True unless they differ in more than the amount of data.
constexpr bool is_same_call(uint64_t key, uint64_t other) noexcept {
  return ((key ^ other) & 0xffff) == 0;
}

// "rank 4 calls MPI_Barrier while rank 0 calls MPI_Allreduce of 16 bytes, MPI_SUM".
std::string difference(int rank, uint64_t key, int other, uint64_t other_key);

}  // namespace mpc::nbc::direct
