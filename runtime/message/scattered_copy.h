#pragma once
// Scattered copies: messages between layouts that are better packed than copied by one core.
//
// Role:      looks at both ends of a matched message, chooses its way and goes it.
// Users:     runtime/message (work.cpp).
// Threads:   whoever copies.
// See also:  runtime/message/copy_way.h (the choice), runtime/message/pieces.h (the way).

#include "runtime/message/request.h"

namespace mpc::msg {

// Copies with the other end's help. False: nothing was done, make it one copy.
// Caller: holds no lock. Switches: no.
bool copy_scattered(const Operation& receive, const Operation& send) noexcept;

}  // namespace mpc::msg
