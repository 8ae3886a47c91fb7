#pragma once
// Scattered copies: messages between layouts that are better packed than copied by one core.
//
// Role:      looks at both ends of a matched message, chooses its way and goes it; before that, says which
//            ones leave packed without waiting to be matched.
// Users:     runtime/message (work.cpp, send.cpp).
// Threads:   whoever copies; the sender.
// See also:  runtime/message/copy_way.h (the choice), runtime/message/pieces.h (the way).

#include "runtime/message/request.h"

namespace mpc::msg {

struct Mailbox;

// Copies with the other end's help. False: nothing was done, make it one copy.
// Caller: holds no lock. Switches: no.
bool copy_scattered(const Operation& receive, const Operation& send) noexcept;

// Should this message leave packed, in a block, whether or not its receive is posted? Yes if its rank runs
// on another core and does not look for messages at present: nobody would help us to copy it, and one copy
// would get each of its lines from there. What is under way so is bounded, see EagerPool.
// `to`: the receiver's mailbox. Caller: the sender, of a standard, ready or buffered message.
bool leaves_packed(const Mailbox& mine, const Mailbox& to, const dt::Datatype& type,
                   size_t bytes) noexcept;

}  // namespace mpc::msg
