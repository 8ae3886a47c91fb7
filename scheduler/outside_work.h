#pragma once
// Outside work: work that is under way outside all executions, and will wake some of them.
//
// Role:      while a network holds a message, ranks that wait for it are not deadlocked, although
//            no execution runs.
// Users:     runtime/transport, runtime/message; the scheduler's quiescence asks.
// Threads:   any.
// See also:  scheduler/quiescence.h.

#include <cstdint>

namespace mpc::sched {

// Caller: an execution that is not parked, or a thread that does outside work. Switches: no.
void begin_outside_work() noexcept;
// Called once each execution for which the work was done has been unparked. Order: release, pairs
// with outside_work(): a thread that sees no work sees these executions ready.
void end_outside_work(int64_t pieces = 1) noexcept;

struct OutsideWork {
  bool is_under_way;
  // Total number so far: if two reads give the same, nothing has happened in between.
  uint64_t begun;
};
OutsideWork outside_work() noexcept;

}  // namespace mpc::sched
