#pragma once
// Steps of a rank in a random test: what it does before each, and on which thread it takes it.
//
// Role:      members that run ahead, come late, let others run, or act through a kernel thread.
// Users:     tests/unit/nbc.
// Threads:   the rank.
// See also:  tests/unit/message/world.h.

#include <random>
#include <string>
#include <thread>

#include "runtime/job/rank.h"
#include "runtime/message/message.h"
#include "scheduler/execution.h"

namespace mpc::nbc::test {

// In one of `rarity` cases each: yields, looks after its messages, computes; seldom it sleeps.
inline void delay(std::mt19937& random, job::Rank& self, unsigned rarity) {
  switch (random() % rarity) {
    case 0:
      sched::Execution::self().yield();
      break;
    case 1:
      msg::progress(self);
      break;
    case 2:
      for (auto i = random() % 2000; i > 0; --i) __builtin_ia32_pause();
      break;
    case 3:
      if (random() % 16 == 0) sched::sleep_until(sched::now_ns() + random() % 200'000);
      break;
    default:
      break;
  }
}

// The step, which returns what it found wrong; on a kernel thread of the rank, as
// MPI_THREAD_MULTIPLE allows, or on the rank itself.
template <class Step>
std::string take_step(job::Rank& self, bool on_thread, Step step) {
  if (!on_thread) return step();
  std::string found;
  std::thread thread([&] {
    sched::Execution::self().set_identity(&self);
    found = step();
  });
  const sched::BlockingRegion region;
  thread.join();
  return found;
}

}  // namespace mpc::nbc::test
