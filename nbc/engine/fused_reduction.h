#pragma once
// Fused reduction: a message is copied and reduced in one go.
//
// Role:      runtime/message offers a long message's data to the receive while they pass through
//            a cache; if the node behind the receive is a reduction that would run on the same
//            core, it is done there and then, so that each byte comes from memory once less.
// Users:     nbc/engine.
// Threads:   the execution that copies the message.
// See also:  runtime/message/request.h (FusedReduction), docs/collectives.md.

#include "nbc/engine/collective.h"

namespace mpc::nbc {

// For receives of schedules with reductions; its argument is the Message. Sets Message::fused
// if it has done the reduction.
extern const msg::FusedReduction kFusedReduction;

}  // namespace mpc::nbc
