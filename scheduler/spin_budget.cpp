// SpinBudget: polling before park(), for a rank that waits.
#include <immintrin.h>
#include <sched.h>

#include <algorithm>

#include "scheduler/close_look.h"
#include "scheduler/execution.h"
#include "scheduler/may_spin.h"
#include "scheduler/poll/thread_polls.h"
#include "scheduler/scheduler_impl.h"
#include "scheduler/spin.h"
#include "scheduler/worker.h"

namespace mpc::sched {
namespace {

// The worker has something better to do than to spin.
bool must_run(const Worker& worker) noexcept { return worker.needs_switch(); }

// More bits of SpinBudget::count_, beside kIsLooking: it polls at each turn; its wait is over.
constexpr uint32_t kEager = uint32_t{1} << 30, kIsOver = uint32_t{1} << 29;
constexpr uint32_t kPausesPerClockRead = 16;

// For what comes from other processes: a network is slower than a core of this one, and its descriptors
// wake a sleeper later.
uint64_t outside_budget_ns(const Poller& poller) noexcept {
  return std::max(spin_budget_ns() * poller.processes_per_core(),
                  poller.idle_spin_ns());
}

constinit std::atomic<Poller*> g_poller_of_threads{nullptr};

}  // namespace

void let_kernel_threads_poll(Scheduler& scheduler) noexcept {
  g_poller_of_threads.store(&scheduler.poller(), std::memory_order_release);
}

Poller* poller_of_threads() noexcept {
  return g_poller_of_threads.load(
      std::memory_order_acquire);  // pairs with the store above
}

SpinBudget::SpinBudget() noexcept = default;

bool spinning_pays() noexcept {
  const Worker* worker = Execution::self().worker();
  return worker != nullptr && !must_run(*worker) &&
         worker->spins() == Worker::Spins::kForWorkers && spin_budget_ns() != 0;
}

bool may_spin() noexcept {
  const Worker* worker = Execution::self().worker();
  return worker == nullptr ||
         (!must_run(*worker) && worker->spins() != Worker::Spins::kInVain &&
          spin_budget_ns() != 0);
}

bool may_look() noexcept {
  return Execution::self().worker() != nullptr || poller_of_threads() != nullptr;
}

bool spinning_pays_within() noexcept {
  const Worker* worker = Execution::self().worker();
  return worker != nullptr && !must_run(*worker) &&
         worker->scheduler().worker_count() > 1 && spin_budget_ns() != 0;
}

bool may_look_closely() noexcept {
  const Worker* const worker = Execution::self().worker();
  if (worker != nullptr &&
      (must_run(*worker) || worker->spins() == Worker::Spins::kInVain))
    return false;
  Poller* const poller = worker != nullptr ? worker->poller() : poller_of_threads();
  return poller != nullptr && poller->processes_per_core() == 1 &&
         spin_budget_ns() != 0;
}

CloseLook::CloseLook() noexcept : worker_(Execution::self().worker()) {
  if (!may_look_closely()) return;
  Poller* const poller = worker_ != nullptr ? worker_->poller() : poller_of_threads();
  if (!poller->begin_close_look(this)) return;
  poller_ = poller;
  if (worker_ != nullptr) worker_->is_spinning.store(true, std::memory_order_relaxed);
}

void CloseLook::end() noexcept {
  if (worker_ != nullptr) worker_->is_spinning.store(false, std::memory_order_relaxed);
  poller_->end_close_look(this, polls_, has_found_);
}

bool yield_to_processes() noexcept {
  const Worker* const worker = Execution::self().worker();
  if (worker != nullptr && must_run(*worker)) return false;
  Poller* const poller = worker != nullptr ? worker->poller() : poller_of_threads();
  return poller != nullptr && poller->give_way();
}

void SpinBudget::end() noexcept {
  if (Worker* worker = Execution::self().worker(); worker != nullptr)
    worker->is_spinning.store(false, std::memory_order_relaxed);
  if ((count_ & kIsLooking) != 0) [[unlikely]] {
    count_ |= kIsOver;
    stop_looking();
  }
}

// Polls at once, and each time, if what the caller waits for may come from outside.
// Otherwise not before a message of the same process would have come: to begin and
// end looking may cost system calls, which take as long.
void SpinBudget::look_outside(Poller& poller, uint64_t now) noexcept {
  if ((count_ & kIsLooking) == 0) {
    if (poller.may_help_caller()) {
      count_ |= kEager;
      end_ns_ = now + outside_budget_ns(poller);
    } else if (end_ns_ - now + Theft::kWaitBeforeLookNs > spin_budget_ns()) {
      return;
    }
    poller.begin_look();
    count_ |= kIsLooking;
  }
  if ((count_ & kEager) == 0) {
    poller.turn(now, Poller::Looker::kWaits);
    return;
  }
  --count_;  // the next call comes here again
  // More may follow, as the next piece of a long message does.
  if (poller.turn_eagerly(now, this)) end_ns_ = now + outside_budget_ns(poller);
}

void SpinBudget::stop_looking() noexcept {
  const Worker* const worker = Execution::self().worker();
  Poller& poller = *(worker != nullptr ? worker->poller() : poller_of_threads());
  if ((count_ & kEager) != 0) poller.give_up_eagerness(this);
  poller.look_away((count_ & kIsOver) != 0);
  count_ &= ~(kIsLooking | kEager | kIsOver);
  poller.end_look(true);
}

void look_outside() noexcept {
  const Worker* worker = Execution::self().worker();
  Poller* const poller = worker != nullptr ? worker->poller() : poller_of_threads();
  if (poller != nullptr) poller->come_by(now_ns(), false);
}

namespace {

// Another worker has a ready thread for ours: better than polling on. left_ns: of the budget.
bool can_steal(Worker& worker, uint64_t now_ns, uint64_t left_ns) noexcept {
  Theft* theft = worker.scheduler().stealing().theft_of(worker);
  return theft != nullptr && left_ns + Theft::kWaitBeforeLookNs <= spin_budget_ns() &&
         theft->look(now_ns) == Theft::Verdict::kDue;
}

}  // namespace

// Threads of ranks may outnumber the cores: whoever sends what this one waits for may be a thread that waits for
// this core. Where those wait, too, each is back soon, and none has to sleep and be
// woken; their time does not count. False: one computes, and a thread that sleeps is back sooner
// than one that has given way. Caller: a kernel thread that is no worker.
bool SpinBudget::let_threads_run(uint64_t now) noexcept {
  sched_yield();
  const uint64_t away = now_ns() - now;
  end_ns_ += away;
  return away < spin_budget_ns();
}

bool SpinBudget::once() noexcept {
  Worker* worker = Execution::self().worker();
  if (worker != nullptr && must_run(*worker)) return give_up();
  if (count_ == 0) {
    const Worker::Spins spins = worker != nullptr ? worker->spins()
                                : poller_of_threads() != nullptr
                                    ? Worker::Spins::kForAll
                                    : Worker::Spins::kForWorkers;
    const uint64_t budget = spins == Worker::Spins::kInVain ? 0 : spin_budget_ns();
    if (budget == 0) return false;
    end_ns_ = now_ns() + budget;
    if (worker != nullptr) worker->is_spinning.store(true, std::memory_order_relaxed);
    if (spins == Worker::Spins::kForAll) [[unlikely]]
      count_ = kPausesPerClockRead - 1;  // polls outside sources now
  }
  if (++count_ % kPausesPerClockRead == 0) {
    const uint64_t now = now_ns();
    if (now >= end_ns_) {
      if (worker != nullptr) worker->note_spun();
      return give_up();
    }
    Poller* const poller = worker != nullptr ? worker->poller() : poller_of_threads();
    if (poller != nullptr) [[unlikely]]
      look_outside(*poller, now);
    if (worker != nullptr ? can_steal(*worker, now, end_ns_ - now)
                          : poller == nullptr && !let_threads_run(now))
      return give_up();
  }
  _mm_pause();
  return true;
}

}  // namespace mpc::sched
