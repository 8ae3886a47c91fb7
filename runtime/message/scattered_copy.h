#pragma once
// Scattered copies: messages between layouts that are better packed than copied by one core.
//
// Role:      examines both ends of a matched message, chooses how to copy it and copies it; before
//            a match, says which messages leave packed.
// Users:     runtime/message (work.cpp, send.cpp).
// Threads:   the thread that copies; the sender.
// See also:  runtime/message/copy_way.h (the choice), runtime/message/pieces.h (the way).

#include "runtime/message/request.h"

namespace mpc::msg {

struct Mailbox;

// Copies with the other end's help. False: nothing was done, make it one copy.
// Caller: holds no lock. Switches: no.
bool copy_scattered(const Operation& receive, const Operation& send) noexcept;

// Should this message leave packed, in a block, whether or not its receive is posted? Yes if the
// receiving rank runs on another core and does not poll at present: it would not help us to copy,
// and one copy would fetch each of its lines from there. The amount under way is bounded, see
// EagerPool.
// `to`: the receiver's mailbox. Caller: the sender, of a standard, ready or buffered message.
bool leaves_packed(const Mailbox& mine, const Mailbox& to, const dt::Datatype& type,
                   size_t bytes) noexcept;

}  // namespace mpc::msg
