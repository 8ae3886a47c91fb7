#pragma once
// Leftovers: messages that have come to a rank and that no receive has taken.
//
// Role:      what a report at the end of a rank lists.
// Users:     mpi/objects (check.cpp).
// Threads:   any execution of the rank.
// See also:  runtime/message/mailbox.h (the unexpected queue).

#include <vector>

#include "runtime/message/message.h"

namespace mpc::msg {

struct Leftover {
  Key key;  // source: the sender's rank in the communicator
  int64_t bytes;
};
// Those whose context the caller wants, in order of arrival; they stay where they are. Switches: no.
std::vector<Leftover> leftovers(job::Rank& self, bool (*wants)(ContextId context));

}  // namespace mpc::msg
