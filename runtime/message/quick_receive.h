#pragma once
// quick_receive: a blocking receive, or probe, whose message is there, or comes within a microsecond or two.
//
// Role:      holds the mailbox's lock while it looks, so that between the arrival of a message
//            and the user's buffer there is one copy and no queue, operation or exchange.
// Users:     runtime/message/receive.cpp, before anything is taken out of the ring. The receive itself, which shares
//            all this with probes, is recv_small() of message.h.
// Threads:   any execution of the rank; only one that may_poll() waits.
// See also:  docs/design/0003-mailbox.md, section "Quick receive".

#include "runtime/message/mailbox.h"
#include "runtime/message/message.h"

namespace mpc::msg {

// As recv_small(), for a probe. `may_wait`: else it looks once. True: *status describes the oldest message, which
// stays in the ring: the receive that mostly follows finds it there, and copies it once. False: look for it
// among all messages. Switches: no.
bool quick_probe(Mailbox& mine, const Key& key, bool may_wait, Status* status) noexcept;

}  // namespace mpc::msg
