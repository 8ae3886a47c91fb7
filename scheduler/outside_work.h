#pragma once
// Outside work: what is under way outside of all executions, and will wake some of them.
//
// Role:      while a network holds a message, ranks that wait are not deadlocked, although
//            nobody runs.
// Users:     runtime/transport, runtime/message; the scheduler's quiescence asks.
// Threads:   any.
// See also:  scheduler/quiescence.h.

#include <cstdint>

namespace mpc::sched {

// Caller: an execution that is not parked, or whoever does outside work. Switches: no.
void begin_outside_work() noexcept;
// Once each execution for which it was done has been unparked. Order: release, pairs with
// outside_work(): who sees no work sees these executions ready.
void end_outside_work(int64_t pieces = 1) noexcept;

struct OutsideWork {
  bool is_under_way;
  uint64_t begun;  // in all: if it stays the same, nothing has happened in between
};
OutsideWork outside_work() noexcept;

}  // namespace mpc::sched
