#pragma once
// Leftovers: messages that have come to a rank and that no receive has taken.
//
// Role:      listed by a report at the end of a rank.
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
// Messages whose context the caller wants, in order of arrival;
// they stay in the queue. Switches: no.
std::vector<Leftover> leftovers(job::Rank& self, bool (*wants)(ContextId context));

}  // namespace mpc::msg
