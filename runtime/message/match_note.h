#pragma once
// Match note: reports that a message has met its receive, and who sent it.
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

// The sender's world rank. Messages themselves know only the sender's number in a communicator;
// that number is returned if the members of the communicator are unknown, as in unit tests.
inline int traced_source(int receiver, const Key& key) noexcept {
  const int known = traffic::world_rank(receiver, key.context, key.source);
  return known >= 0 ? known : key.source;
}

}  // namespace mpc::msg
