#pragma once
// Turns: whether processes of the job that share a core give it to each other while they wait.
//
// Role:      a yield costs less than a sleep and a wake-up, as long as only such processes want the core.
//            Beside a program that computes it costs that program's time slice, and since Linux 6.18 the
//            caller's own as well: what then waits by yields comes forward once in each 50 ms or more. So two
//            yields in a row that took long show that others have the core, and for a while there are no more.
//            One alone may be a machine that has taken the core away, or a process that did something.
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
  // The first such yield has no effect. After the next ones there is none for as long as they took, then twice,
  // four times ... as long: so yields take a small part of the time in the end, and a job that has just
  // started, or lost the core for a moment, soon yields again.
  static constexpr uint32_t kMostPauseFactor = 16;
  static constexpr uint64_t kMostPauseTicks = 1'500'000'000;  // some 500 ms

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
    const uint32_t factor = factor_.load(std::memory_order_relaxed);
    if (after - before < kSlowTicks) [[likely]] {
      if (factor != 0) {
        factor_.store(0, std::memory_order_relaxed);
        pause_until_.store(
            0, std::memory_order_relaxed);  // else each call reads the clock
      }
      return;
    }
    factor_.store(std::clamp(2 * factor, 1U, kMostPauseFactor),
                  std::memory_order_relaxed);
    if (factor == 0) return;
    pause_until_.store(after + std::min((after - before) * factor, kMostPauseTicks),
                       std::memory_order_relaxed);
  }

 private:
  std::atomic<int> processes_{1};
  std::atomic<uint32_t> factor_{0};       // of the next slow yield's pause
  std::atomic<uint64_t> pause_until_{0};  // 0: there is no pause
};

}  // namespace mpc::sched
