#pragma once
// Match note: what is told when a message has met its receive, and by whom it was sent.
//
// Role:      for the counts of --profile and for the trace; all of it cold.
// Users:     runtime/message (work.cpp, remote_trace.cpp).
// Threads:   any.
// See also:  base/traffic.h, docs/tracing.md, docs/profile.md.

#include "base/traffic.h"
#include "runtime/message/request.h"

namespace mpc::msg {

// `send` is the sender's operation; null if the message was buffered.
// Caller: if traffic::is_watched().
[[gnu::cold]] void note_match(int receiver, const Key& key, int64_t bytes,
                              const Entry* send) noexcept;

// The sender's world rank; messages themselves know his number in a communicator only, which it is
// where nobody has told who is in that: unit tests.
inline int traced_source(int receiver, const Key& key) noexcept {
  const int known = traffic::world_rank(receiver, key.context, key.source);
  return known >= 0 ? known : key.source;
}

}  // namespace mpc::msg
