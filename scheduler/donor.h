#pragma once
// Donor: the parked pthread that lends its stack and thread control block to an Ult.
//
// Role:      makes an Ult runnable: creates its pthread, which prepares the Ult's first context
//            below its own frame, hands the Ult to the worker and sleeps.
// Users:     scheduler only.
// Threads:   any.
// See also:  docs/design/0001-context-switch.md.

#include <sched.h>

#include "base/result.h"
#include "scheduler/ult.h"

namespace mpc::sched {

class Donor {
 public:
  // Starts the donor of `ult` (whose stack, worker and entry are set). Once the donor sleeps, the
  // Ult is in the inbox of `first`. Ult::end() wakes the donor at the end.
  // Errors: kNoMem, with the limit that was hit and the remedy.
  // `allowed`: the processing units where the donor may run; empty: those of the caller.
  static Result<> start(Ult& ult, Worker& first, const cpu_set_t& allowed);

 private:
  static void* thread_main(void* ult);
  static void publish_and_sleep(Ult& ult, Worker& first) noexcept;
};

}  // namespace mpc::sched
