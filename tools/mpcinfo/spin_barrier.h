#pragma once
// SpinBarrier: a barrier for threads that stay awake while they wait.
//
// Role:      the threads of `mpcinfo calibrate` meet at it.
// Users:     tools/mpcinfo/calibrate.cpp.
// Threads:   as many as it was constructed for.
// See also:  docs/overlap-model.md (section "Where the numbers come from").
//
// std::barrier puts a thread that waits for longer to sleep. Its core then halts, and if the data
// are in that core's cache, another core gets them four times as slowly: a copy of them would tell
// nothing about ranks, which compute meanwhile.

#include <sched.h>

#include <atomic>

namespace mpc::tools {

class SpinBarrier {
 public:
  explicit SpinBarrier(int count) : count_(count) {}

  void arrive_and_wait() noexcept {
    // relaxed: this thread has seen the end of the previous round, or this is its first one.
    const unsigned round = round_.load(std::memory_order_relaxed);
    // acq_rel: the last one to arrive sees what the others did before.
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == count_) {
      arrived_.store(0, std::memory_order_relaxed);        // ordered by the next store
      round_.store(round + 1, std::memory_order_release);  // pairs with the loop below
      return;
    }
    // acquire pairs with the release above.
    for (int turn = 1; round_.load(std::memory_order_acquire) == round; ++turn) {
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
      // The other thread may have to run here: two threads, one core.
      if (turn % kTurnsBeforeYield == 0) sched_yield();
    }
  }

 private:
  static constexpr int kTurnsBeforeYield = 4096;  // some 100 us
  const int count_;
  std::atomic<int> arrived_{0};
  std::atomic<unsigned> round_{0};
};

}  // namespace mpc::tools
