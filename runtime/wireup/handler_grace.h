#pragma once
// How long ranks may go on whose handlers run at a signal that ends the job (job.signal_grace_ms).
//
// Role:      one time for ranks that share a process, and for those that are processes of their own.
// Users:     runtime/job/ending.cpp, tools/mpclaunch (the head, the shim).
// Threads:   any.
// See also:  docs/mpcrun.md, section "Signals".

#include <cstdint>

namespace mpc::wireup {

uint64_t handler_grace_ns() noexcept;
// How long the launcher waits for processes that such a signal ends.
uint64_t handler_patience_ns() noexcept;

}  // namespace mpc::wireup
