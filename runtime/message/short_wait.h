#pragma once
// ShortWait: waiting for something that another thread does within nanoseconds.
//
// Role:      the back-off of the locks and rings of this folder: pauses, then sched_yield(), as the
//            system may have taken the other thread's core away.
// Users:     runtime/message.
// Threads:   one object per wait.
// See also:  base/spin_lock.h.

#include "base/spin_lock.h"

namespace mpc::msg {

using ShortWait = PauseThenYield;

}  // namespace mpc::msg
