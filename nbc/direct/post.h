#pragma once
// Post: what a place, or one member, shows the others for one collective: one cache line.
//
// Role:      flag, key and small data in one line, so that one line moves for a value.
// Users:     nbc/direct.
// Threads:   one writer; `round` says to the others what they may read.
// See also:  nbc/direct/team.h, nbc/direct/track.h.

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace mpc::nbc::direct {

struct alignas(64) Post {
  static constexpr size_t kInlineBytes = 32;  // the rest of the line
  std::atomic<uint64_t> round{0};             // release: the rest is written
  uint64_t key = 0;              // what all members must give alike; see make_key()
  const void* source = nullptr;  // the contribution
  void* target = nullptr;        // where others may write its result
  alignas(16) unsigned char data[kInlineBytes] = {};
};

// What does not fit in the line is shown in scratch memory.
inline constexpr size_t kScratchBytes = 4096;

// The number of a post or a meeting in Post::round and Place::round.
inline constexpr uint64_t kRounds = 8;  // of one collective, at most

}  // namespace mpc::nbc::direct
