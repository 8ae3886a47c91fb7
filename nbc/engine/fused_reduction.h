#pragma once
// Fused reduction: copies and reduces a message in one pass.
//
// Role:      runtime/message offers a long message's data to the receive while they pass through
//            a cache. If the node after the receive is a reduction that would run on the same
//            core, it is done at once, so that each byte is read from memory once less.
// Users:     nbc/engine.
// Threads:   the execution that copies the message.
// See also:  runtime/message/request.h (FusedReduction), docs/collectives.md.

#include "nbc/engine/collective.h"

namespace mpc::nbc {

// For receives of schedules with reductions; its argument is the Message. Sets Message::fused
// if it has done the reduction.
extern const msg::FusedReduction kFusedReduction;

}  // namespace mpc::nbc
