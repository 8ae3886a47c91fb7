#pragma once
// LostMembers: which members of a context have died, and what that means for a receive.
//
// Role:      the table of who is in which context, below a lock of its own; add_members(), take_loss() and
//            has_lost_member() of runtime/message/losses.h, and what only the thread there needs.
// Users:     runtime/message/losses.cpp.
// Threads:   any.
// See also:  docs/design/0040-losses.md.

#include "runtime/message/losses.h"

namespace mpc::msg {

// Partitioned communication has a context with an odd number, too, and no collectives.
inline bool is_collective(ContextId context) noexcept {
  constexpr ContextId kPartitioned = ContextId{1} << 31;
  return (context & 1) != 0 && (context & kPartitioned) == 0;
}

// As take_loss(), but a death that concerns a receive from any source is not taken as reported.
Loss see_loss(int rank, ContextId context, int source);
// One more death has been reported to a receive from any source.
void note_told(int rank, ContextId context);

}  // namespace mpc::msg
