#pragma once
// ContextIds: the context ids that one process gives out without asking other processes.
//
// Role:      each process of the job owns a range of ids; a rank that founds a communicator draws
//            from the range of its own process. There is no central counter.
// Users:     mpi/objects: process.h owns one for each process, meetings draw from it.
// Threads:   take() any; grants are values.
// See also:  docs/design/0006-meetings.md (ranges, reserves, what happens when a range ends).
//
// A communicator has a pair of ids: an even one for point-to-point, the next for collectives, and
// that one with the highest bit set for partitioned communication.

#include <atomic>
#include <cstdint>

#include "runtime/message/message.h"

namespace mpc::mpi {

inline constexpr msg::ContextId kWorldContext = 0, kSelfContext = 2;

inline constexpr msg::ContextId kPartitionedBit = msg::ContextId{1} << 31;

// Consecutive pairs; the id of a pair is its even one.
struct ContextGrant {
  msg::ContextId first = 0;
  int pairs = 0;
  msg::ContextId id(int pair) const noexcept {
    return first + 2 * static_cast<msg::ContextId>(pair);
  }
  // The grant without its first `used` pairs.
  ContextGrant after(int used) const noexcept { return {id(used), pairs - used}; }
  bool operator==(const ContextGrant&) const = default;
};

// The reserve with which a communicator of several processes is created: its members can create
// this many others from it without a message.
inline constexpr int kReservePairs = 8;
// MPI_COMM_WORLD's reserve: below the ids that processes give out.
inline constexpr ContextGrant kWorldReserve{16, kReservePairs};

class ContextIds {
 public:
  static constexpr uint64_t kFirstPair = 32;  // below: WORLD, SELF, WORLD's reserve
  static constexpr uint64_t kEndPair = kPartitionedBit / 2;

  // The part of process `index` of `processes`; parts of equal size without a common id.
  ContextIds(int index, int processes) noexcept;

  // When all ids of the range have been given out, the later seven eighths of them are given
  // out again, in the same order. A communicator of the first eighth keeps its ids for good; a
  // later one must not live on while so many others are created.
  // Cost: one atomic addition.
  ContextGrant take(int pairs) noexcept;

 private:
  const uint64_t first_, size_;  // in pairs
  const uint64_t kept_;          // this many pairs are never given out a second time
  std::atomic<uint64_t> taken_{0};
};

}  // namespace mpc::mpi
