// SpinBudget: polling before park(), for a rank that waits.
#include <immintrin.h>

#include "scheduler/execution.h"
#include "scheduler/scheduler_impl.h"
#include "scheduler/spin.h"
#include "scheduler/worker.h"

namespace mpc::sched {
namespace {

// Without a second worker nobody can make the condition true while we poll; a kernel thread
// of the rank will wake us.
bool is_alone(const Worker* worker) noexcept {
  return worker != nullptr && worker->scheduler().worker_count() == 1;
}

// Alone, we poll if that may bring what we wait for from outside.
uint64_t budget_ns(const Worker* worker) noexcept {
  return is_alone(worker) && worker->poller() == nullptr ? 0 : spin_budget_ns();
}

// Something better to do than to spin.
bool must_run(const Worker& worker) noexcept {
  return worker.has_ready() || worker.has_task();
}

}  // namespace

SpinBudget::SpinBudget() noexcept = default;

bool spinning_pays() noexcept {
  const Worker* worker = Execution::self().worker();
  return worker != nullptr && !must_run(*worker) && !is_alone(worker) &&
         spin_budget_ns() != 0;
}

void SpinBudget::end() noexcept {
  if (Worker* worker = Execution::self().worker(); worker != nullptr)
    worker->is_spinning.store(false, std::memory_order_relaxed);
  if ((count_ & kLooks) != 0) [[unlikely]]
    stop_looking();
}

// Not before a message of the same process would be there: to begin and to end a look may cost system
// calls, as much as that takes.
void SpinBudget::look_outside(Poller& poller, uint64_t now) noexcept {
  if ((count_ & kLooks) == 0) {
    if (end_ns_ - now + Theft::kWaitBeforeLookNs > spin_budget_ns()) return;
    poller.begin_look();
    count_ |= kLooks;
  }
  poller.turn(now, Poller::Looker::kWaits);
}

void SpinBudget::stop_looking() noexcept {
  count_ &= ~kLooks;
  Execution::self().worker()->poller()->end_look();
}

void look_outside() noexcept {
  const Worker* worker = Execution::self().worker();
  if (worker == nullptr) return;
  if (Poller* poller = worker->poller()) poller->come_by(now_ns());
}

namespace {

// Another worker has a ready thread for ours: better than to poll on. left_ns: of the budget.
bool can_steal(Worker& worker, uint64_t now_ns, uint64_t left_ns) noexcept {
  Theft* theft = worker.scheduler().stealing().theft_of(worker);
  return theft != nullptr && left_ns + Theft::kWaitBeforeLookNs <= spin_budget_ns() &&
         theft->look(now_ns) == Theft::Verdict::kDue;
}

}  // namespace

bool SpinBudget::once() noexcept {
  Worker* worker = Execution::self().worker();
  if (worker != nullptr && must_run(*worker)) return give_up();
  if (count_ == 0) {
    const uint64_t budget = budget_ns(worker);
    if (budget == 0) return false;
    end_ns_ = now_ns() + budget;
    if (worker != nullptr) worker->is_spinning.store(true, std::memory_order_relaxed);
  }
  constexpr uint32_t kPausesPerClockRead = 16;
  if (++count_ % kPausesPerClockRead == 0) {
    const uint64_t now = now_ns();
    if (now >= end_ns_) {
      if (worker != nullptr) worker->note_spun();
      return give_up();
    }
    if (Poller* poller = worker != nullptr ? worker->poller() : nullptr) [[unlikely]]
      look_outside(*poller, now);
    if (worker != nullptr && can_steal(*worker, now, end_ns_ - now)) return give_up();
  }
  _mm_pause();
  return true;
}

}  // namespace mpc::sched
