#pragma once
// Turns: whether processes of the job that share a core give it to each other while they wait.
//
// Role:      a yield costs less than a sleep and a wake-up, as long as only such processes want the core.
//            Beside a program that computes it costs that program's time slice, and since Linux 6.18 the
//            caller's own as well: what then waits by yields comes forward once in each 50 ms or more. So a
//            yield that took long shows that others have the core, and for a while there are no more.
// Users:     scheduler/poll/poller.
// Threads:   share() before ranks run; the rest any. Hints only: one of two notes may be lost.
// See also:  docs/design/0020-polling.md, section "Processes that share cores".

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace mpc::sched {

// Times are ticks of the time stamp counter.
class Turns {
 public:
  // Some ms: processes that only wait are through with their turns in some 100 us.
  static constexpr uint64_t kSlowTicks = 4'000'000;
  // Then the next yield is tried after so many times as long: so that such yields take a small part of all
  // time. At most some 500 ms.
  static constexpr uint64_t kPauseFactor = 16, kMostPauseTicks = 1'500'000'000;

  // So many processes of the job have a core of this one.
  void share(int processes) noexcept {
    processes_.store(processes, std::memory_order_relaxed);
  }
  // `clock` is read only in a pause.
  template <typename Clock>
  int processes(Clock clock) const noexcept {
    const int processes = processes_.load(std::memory_order_relaxed);
    if (processes < 2) return processes;
    const uint64_t until = pause_until_.load(std::memory_order_relaxed);
    return until == 0 || clock() >= until ? processes : 1;
  }
  void note_yield(uint64_t before, uint64_t after) noexcept {
    if (after - before < kSlowTicks) [[likely]] {
      // Otherwise each call would read the clock.
      if (pause_until_.load(std::memory_order_relaxed) != 0)
        pause_until_.store(0, std::memory_order_relaxed);
      return;
    }
    pause_until_.store(
        after + std::min((after - before) * kPauseFactor, kMostPauseTicks),
        std::memory_order_relaxed);
  }

 private:
  std::atomic<int> processes_{1};
  std::atomic<uint64_t> pause_until_{0};  // 0: there is no pause
};

}  // namespace mpc::sched
