#pragma once
// Traced source: who has sent a message, for whoever reads a trace.
//
// Role:      the sender's world rank; messages themselves know his number in a communicator only.
// Users:     runtime/message (work.cpp, remote_trace.cpp).
// Threads:   any.
// See also:  base/traffic.h, docs/tracing.md.

#include "base/traffic.h"
#include "runtime/message/request.h"

namespace mpc::msg {

// His number in the communicator where nobody has told who is in it: unit tests.
inline int traced_source(int receiver, const Key& key) noexcept {
  const int known = traffic::world_rank(receiver, key.context, key.source);
  return known >= 0 ? known : key.source;
}

}  // namespace mpc::msg
