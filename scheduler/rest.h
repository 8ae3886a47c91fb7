#pragma once
// Rest: the part of a deadlock over several processes that one process can see.
//
// Role:      says when this process rests: each of its ranks waits for others, here or elsewhere, or all
//            have ended. Code that collects this from all processes can detect a deadlock.
// Users:     runtime/message/job_watch.
// Threads:   any, unless a function says otherwise.
// See also:  scheduler/scheduler.h (Quiet), docs/scheduler.md section "Deadlock".

#include <cstdint>
#include <functional>

#include "scheduler/scheduler.h"

namespace mpc::sched {

// How many messages have left this process, or have come from others and taken effect: changes with
// each of them.
// Caller: the monitor, or rest_of(). Must be short and wait for no lock.
using TrafficCount = std::function<uint64_t()>;

// Instead of set_quiescence_handler(): `handler` is called whenever this process has come to rest,
// with or without Ults, on a kernel thread of ours, and again when the traffic has changed
// meanwhile. Then only the counted traffic is activity, not what polls have found. Null handler:
// when this call returns, nothing is counted any more.
void watch_rest(Scheduler& scheduler, QuiescenceHandler handler, TrafficCount traffic);
// Calls the handler once more when the process rests, also if it rests already. Switches: no.
void ask_rest(Scheduler& scheduler) noexcept;

struct Rest {
  enum Kind : uint8_t {
    kNone,   // something is active
    kOfAll,  // all Ults wait
    kEmpty   // there is no Ult
  } kind = kNone;
  uint64_t epoch = 0;  // see Quiet
};
// The present state. Caller: as Scheduler::quiet(). Cost: visits each Ult.
Rest rest_of(Scheduler& scheduler) noexcept;

}  // namespace mpc::sched
