#pragma once
// Secret: the launcher's names for how the head of a job and a daemon prove who they are.
//
// Role:      none of its own.
// Users:     tools/mpclaunch (entrance, connect, first_line).
// Threads:   any.
// See also:  runtime/wireup/secret.h.

#include "runtime/wireup/secret.h"

namespace mpc::launch {

using wireup::Answer;
using wireup::answer_to;
using wireup::Challenge;
using wireup::is_right;
using wireup::keyed_hash;
using wireup::make_secret;
using wireup::Proof;
using wireup::proof_for;
using wireup::read_secret;
using wireup::Secret;
using wireup::text_of;

}  // namespace mpc::launch
