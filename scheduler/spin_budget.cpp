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
uint64_t budget_ns(const Worker* worker) noexcept {
  if (worker != nullptr && worker->scheduler().worker_count() == 1) return 0;
  return spin_budget_ns();
}

// Something better to do than to spin.
bool must_run(const Worker& worker) noexcept {
  return worker.has_ready() || worker.has_task();
}

}  // namespace

SpinBudget::SpinBudget() noexcept = default;

bool spinning_pays() noexcept {
  const Worker* worker = Execution::self().worker();
  return worker != nullptr && !must_run(*worker) && budget_ns(worker) != 0;
}

void SpinBudget::end() noexcept {
  if (Worker* worker = Execution::self().worker(); worker != nullptr)
    worker->is_spinning.store(false, std::memory_order_relaxed);
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
  if (worker != nullptr && must_run(*worker)) return false;
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
      return false;
    }
    if (worker != nullptr && can_steal(*worker, now, end_ns_ - now)) return false;
  }
  _mm_pause();
  return true;
}

}  // namespace mpc::sched
