#pragma once
// Affinity: the processing units on which a rank and its threads may run.
//
// Role:      a rank's main thread is a user-level thread: the affinity that it asks for and sets is
//            its rank's, not that of the kernel thread below it. The kernel stores it for us, as
//            the affinity of the sleeping thread whose control block the rank has
//            (scheduler/donor.h), so that libc's own functions find it there, too.
// Users:     runtime/interpose.
// Threads:   any.
// See also:  scheduler/binding.h, docs/scheduler.md section "Threads of ranks".

#include <sched.h>

#include "runtime/job/rank.h"

namespace mpc::interpose {

// Where a kernel thread runs: anywhere in `all`, at first on `first` unless that is -1.
struct CpusOfThread {
  cpu_set_t all;
  int first = -1;
};
// Where the thread will run that the calling main thread of `rank` is about to start; its number is
// `number` (from 1). From then on the rank runs on its whole share of the cores.
CpusOfThread cpus_for_thread(job::Rank& rank, int number) noexcept;

// Binds the calling kernel thread.
void bind_this_thread(const CpusOfThread& cpus) noexcept;

}  // namespace mpc::interpose
