#pragma once
// Pending state: one member's part in a small collective that is under way.
//
// Role:      the arguments, how far it is, and what went wrong; what the member sends, packed.
// Users:     nbc/direct/pending.cpp; later.cpp and settle.cpp, which write into those of others; mpi/objects/request.h.
// Threads:   the member, until it has arrived at a meeting; then who settles that, until it is over.
// See also:  nbc/direct/pending.h.

#include "nbc/direct/blocks.h"
#include "nbc/direct/call.h"
#include "nbc/direct/key.h"
#include "nbc/direct/post.h"
#include "nbc/direct/trail.h"

namespace mpc::nbc::direct {

class Team;

struct Pending {
  Team* team;
  job::Rank* self;
  Trail::Reader reader;
  uint64_t key;
  OneWayCall call;
  uint64_t wrong_key;  // of `wrong_member`
  int member;
  int next, end;  // the members whose posts are to be read: downwards, to `end`
  int blocks;     // what it sends: one for all, one for each, or none
  int wrong_member, truncated_by, short_from;  // as Outcome; -1: nothing is wrong
  uint64_t meeting;                            // its number; 0: by posts
  bool reads, is_over, is_shared, has_value;
  alignas(16) unsigned char own[Post::kInlineBytes];    // of a reduction
  alignas(16) unsigned char value[Post::kInlineBytes];  // the result so far
};

inline size_t bytes_sent(const Pending& pending) noexcept {
  return bytes_of(pending.key) * static_cast<size_t>(pending.blocks);
}

inline void pack_sent(const Pending& pending, unsigned char* to) {
  const size_t bytes = bytes_of(pending.key);
  for (int b = 0; b < pending.blocks; ++b)
    pack(block_at(pending.call.send, b), to + bytes * static_cast<size_t>(b));
}

}  // namespace mpc::nbc::direct
