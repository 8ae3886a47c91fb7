#pragma once
// Post: a cache line in which a place, or one member, shows the others data of one collective.
//
// Role:      flag, key and small data in one line, so that a value costs the transfer of one line.
// Users:     nbc/direct.
// Threads:   one writer; `round` tells the others what they may read.
// See also:  nbc/direct/team.h, nbc/direct/track.h.

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace mpc::nbc::direct {

struct alignas(64) Post {
  static constexpr size_t kInlineBytes = 32;  // the rest of the line
  std::atomic<uint64_t> round{0};             // release: the rest is written
  uint64_t key = 0;              // must be equal for all members; see make_key()
  const void* source = nullptr;  // the contribution
  void* target = nullptr;        // where others may write its result
  alignas(16) unsigned char data[kInlineBytes] = {};
};

// Data that do not fit in the line are shown in scratch memory of this size.
inline constexpr size_t kScratchBytes = 4096;

// Post::round and Place::round contain the number of a collective, times this, plus a meeting's
// number.
inline constexpr uint64_t kRounds = 8;  // of one collective, at most

}  // namespace mpc::nbc::direct
