#pragma once
// ProgressCore: a worker's core as a place for progress threads: its state, and what is expected.
//
// Role:      says whether background work would begin here at once, and, from earlier arrivals, how
//            long it pays to wait for more: actively, or in naps.
// Users:     scheduler/progress: the choice of a core, progress threads.
// Threads:   any. All numbers are hints: several ranks may write
//            one at once, and a write may be lost.
// See also:  docs/scheduler.md section "Progress threads", docs/design/0014-naps.md.

#include <atomic>
#include <cstdint>

#include "base/moving_average.h"
#include "scheduler/binding.h"
#include "scheduler/progress/rhythm.h"
#include "scheduler/worker.h"

namespace mpc::sched {

class alignas(64) ProgressCore {
 public:
  // A shorter nap costs more processor time than waiting actively.
  static constexpr uint64_t kShortestNapNs = 20'000;

  // Called before all others. is_dedicated: a communication core; no rank starts here.
  void stand_for(Worker& worker, const Bindings& bindings, int numa,
                 bool is_dedicated) noexcept {
    worker_ = &worker;
    bindings_ = &bindings;
    numa_ = numa;
    is_dedicated_ = is_dedicated;
  }

  Worker& worker() const noexcept { return *worker_; }
  int core() const noexcept { return worker_->core(); }
  int numa() const noexcept { return numa_; }
  bool is_dedicated() const noexcept { return is_dedicated_; }

  // ---- what it does now ----
  // Threads that ranks have started occupy this core.
  bool is_taken() const noexcept { return bindings_->is_taken(worker_->index()); }
  // Work that is submitted now does not wait for other work.
  bool is_free() const noexcept {
    if (is_taken()) return false;
    return is_polling() ||
           (worker_->is_idle.load(std::memory_order_relaxed) && !worker_->has_ready());
  }
  // The core is free, and need not be woken.
  bool is_awake() const noexcept { return is_free() && !worker_->is_sleeping(); }
  // A progress thread waits actively here.
  bool is_polling() const noexcept {
    return is_polling_.load(std::memory_order_relaxed);
  }
  void set_polling(bool is_polling) noexcept {
    is_polling_.store(is_polling, std::memory_order_relaxed);
  }
  // Is a ready progress thread waiting here while the core does other work?
  bool has_backlog() const noexcept {
    return worker_->has_ready() && !worker_->is_idle.load(std::memory_order_relaxed);
  }
  // Progress threads here that have work, or wait actively for it.
  int busy_count() const noexcept { return busy_.load(std::memory_order_relaxed); }
  void add_busy() noexcept { busy_.fetch_add(1, std::memory_order_relaxed); }
  void remove_busy() noexcept { busy_.fetch_sub(1, std::memory_order_relaxed); }

  // ---- what ranks had to do themselves ----
  // Bytes that ranks have copied themselves lately while this core slept.
  int64_t refused_bytes() const noexcept {
    return refused_bytes_.load(std::memory_order_relaxed);
  }
  void note_refused(int64_t bytes) noexcept {
    refused_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  }
  void note_accepted() noexcept { refused_bytes_.store(0, std::memory_order_relaxed); }

  // ---- when more is expected ----
  // Work is offered. Only pauses that a short wait does not cover count; otherwise the pieces of
  // one message would hide the pause before the next message. A longer pause than usual counts at
  // once, a shorter one by a sixteenth: a core that is awake in vain costs less than one that must
  // be woken.
  void note_offer() noexcept;
  // The last piece of work has ended.
  void note_end(uint64_t now) noexcept {
    last_work_ns_.store(now, std::memory_order_relaxed);
  }
  // How long to wait actively for more work.
  uint64_t polling_ns(uint64_t now) const noexcept;
  // How long to check for more work in naps, after that.
  uint64_t napping_ns() const noexcept;
  // The length of a nap that begins now.
  uint64_t nap_length_ns(uint64_t now) const noexcept;
  // When this core should be awake, if work comes regularly; {0, 0}: unknown.
  Rhythm::Window appointment(uint64_t now) const noexcept;
  // How late the core usually is after a nap.
  uint64_t lateness_ns() const noexcept { return lateness_ns_.get(); }
  void note_lateness(uint64_t ns) noexcept;

 private:
  static constexpr uint64_t kLongestGapNs = 10'000'000;
  static constexpr uint64_t kFirstLatenessNs = 5'000;

  Worker* worker_ = nullptr;
  const Bindings* bindings_ = nullptr;
  int numa_ = 0;
  bool is_dedicated_ = false;
  std::atomic<bool> is_polling_{false};
  std::atomic<int> busy_{0};
  std::atomic<uint64_t> last_work_ns_{0};  // when work was last offered here or ended
  // The longest usual time between two pieces of work.
  std::atomic<uint64_t> usual_gap_ns_{kLongestGapNs};
  Rhythm rhythm_;
  MovingAverage lateness_ns_{kFirstLatenessNs};
  std::atomic<int64_t> refused_bytes_{0};
};

}  // namespace mpc::sched
