#pragma once
// LostMembers: which members of a context have died, and what that means for a receive.
//
// Role:      the table of who is in which context, below a lock of its own.
// Users:     through runtime/message/losses.h.
// Threads:   any.
// See also:  docs/design/0040-losses.md.

#include <span>

#include "runtime/message/message.h"

namespace mpc::msg {

// --- contexts, where a loss is survived ---
// `rank`: the world rank whose communicator it is. World ranks: of senders by their rank in the context, and
// of others who take part in its collectives.
// Ownership: both must exist until they are removed.
void add_members(int rank, ContextId context, std::span<const int> senders,
                 std::span<const int> others);
void remove_members(int rank, ContextId context) noexcept;

// --- operations that can not succeed. Caller: losses::any() ---
struct Loss {
  bool is_there = false;
  int source = kAnySource;  // the lost process, by its rank in the context
};
// For a receive or a probe for which no message has come. From any source each death is reported
// once; this call is that report.
Loss take_loss(int rank, ContextId context, int source);
bool has_lost_member(int rank, ContextId context);
// Partitioned communication has a context with an odd number, too, and no collectives.
inline bool is_collective(ContextId context) noexcept {
  constexpr ContextId kPartitioned = ContextId{1} << 31;
  return (context & 1) != 0 && (context & kPartitioned) == 0;
}

// As take_loss(), but a death that concerns a receive from any source is not taken as reported.
Loss see_loss(int rank, ContextId context, int source);
// The death of `source`, by its rank in the context, has been reported to a receive from any source: as its loss, or
// because the data of a message from there, which it had matched, are lost. Caller: any, also before the death is known.
void note_told(int rank, ContextId context, int source);

}  // namespace mpc::msg
