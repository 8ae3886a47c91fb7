#pragma once
// Rest of a process: what of a deadlock over several processes can be seen in one of them.
//
// Role:      says when this process rests: each of its ranks waits for others, here or elsewhere, or all
//            have ended. Who collects that of all processes knows a deadlock.
// Users:     runtime/message/job_watch.
// Threads:   any, unless a function says otherwise.
// See also:  scheduler/scheduler.h (Quiet), docs/scheduler.md section "Deadlock".

#include <cstdint>
#include <functional>

#include "scheduler/scheduler.h"

namespace mpc::sched {

// How much has left this process, or has come from others and taken effect: changes with each.
// Caller: the monitor, or rest_of(). Short; waits for no lock.
using TrafficCount = std::function<uint64_t()>;

// Instead of set_quiescence_handler(): `handler` is called whenever this process has come to rest, with no
// Ults left or with some, on a kernel thread of ours, and again when the traffic has changed meanwhile.
// What polls have found is no activity then, but what is counted is. Null handler: when it
// returns nothing is counted any more.
void watch_rest(Scheduler& scheduler, QuiescenceHandler handler, TrafficCount traffic);
// Calls the handler once more when the process rests, or if it does already. Switches: no.
void ask_rest(Scheduler& scheduler) noexcept;

struct Rest {
  enum Kind : uint8_t {
    kNone,   // something goes on
    kOfAll,  // all Ults wait
    kEmpty   // there is no Ult
  } kind = kNone;
  uint64_t epoch = 0;  // see Quiet
};
// Now. Caller: as Scheduler::quiet(). Cost: looks at each Ult.
Rest rest_of(Scheduler& scheduler) noexcept;

}  // namespace mpc::sched
