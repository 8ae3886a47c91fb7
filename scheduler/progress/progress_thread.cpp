#include "scheduler/progress/progress_thread.h"

#include <algorithm>
#include <utility>

#include "base/counter.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/trace.h"
#include "scheduler/emulation/emulation.h"

namespace mpc::sched {
namespace {

IntSetting min_bytes("progress.min_bytes", 16 << 10, "bytes",
                     "Smallest copy or reduction that is worth handing to another core",
                     0);
IntSetting near_bytes(
    "progress.near_bytes", 256 << 10, "bytes",
    "The same where the operation's data are of ranks of the core that has them, "
    "and no more than that: in its cache a copy takes a fraction of the time",
    0);

Counter item_counter{"progress.items", "Pieces of work done by progress threads"};
Counter taken_counter{"progress.taken_back",
                      "Pieces of work that a waiting rank took back and did itself"};
Counter wake_counter{"progress.wakes", "Sleeping cores woken for background work"};
Counter wake_time_counter{"progress.wake_us",
                          "Time that those who woke sleeping cores spent on it (us)"};
Counter move_counter{"progress.moves", "Progress threads moved to another core"};

constexpr trace::Site kSubmit{"progress", "submit", {"bytes", "to core"}};
constexpr trace::Site kMove{"progress", "move", {"from core", "to core"}};
constexpr trace::Site kWork{"progress", "background work", {"core"}, false, true};

}  // namespace

thread_local constinit ProgressThreadImpl* ProgressThreadImpl::t_running = nullptr;

bool is_kept_here(int64_t bytes, ProgressData data) noexcept {
  if (bytes < min_bytes.get()) return true;
  return data.is_near && std::max(bytes, data.bytes) < near_bytes.get() &&
         !Emulation::is_on();
}

// ---- submitting ----------------------------------------------------------------------------

bool ProgressThreadImpl::submit(ProgressItem& item, int64_t bytes, ProgressNeed need,
                                ProgressData data) noexcept {
  if (is_kept_here(bytes, data)) return false;
  ProgressCore* const usual = cores_.usual_core(home_, place());
  if (usual != nullptr) usual->note_offer();
  ProgressCore* const target = cores_.choose(rank_, home_, place(), bytes);
  const Outcome outcome = enqueue(item, need, target);
  if (outcome == Outcome::kRefused) {
    if (usual != nullptr) usual->note_refused(bytes);
    return false;
  }
  if (usual != nullptr) usual->note_accepted();
  trace::instant(kSubmit,
                 {static_cast<uint64_t>(bytes),
                  static_cast<uint64_t>(target ? target->core() : -1)},
                 rank_);
  act_on(outcome, target);
  return true;
}

ProgressThreadImpl::Outcome ProgressThreadImpl::enqueue(ProgressItem& item,
                                                        ProgressNeed need,
                                                        ProgressCore* target) noexcept {
  const bool begins_at_once = target != nullptr && target->is_free();
  const Locked lock(lock_);
  const bool is_wanted = need == ProgressNeed::kFreeCore
                             ? begins_at_once
                             : target != nullptr || is_napping_;
  if (is_broken_ || is_stopping_.load(std::memory_order_relaxed) || !is_wanted)
    return Outcome::kRefused;
  const bool has_thread =
      is_task() || execution_.load(std::memory_order_relaxed) != nullptr;
  // NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): one that naps has a thread
  if (!has_thread && !spawn(*target)) return Outcome::kRefused;
  queue_.push(item);
  count_item(1);
  if (!std::exchange(is_active_, true)) return Outcome::kMustWake;
  return is_napping_ ? disturb(need, target) : Outcome::kLeftAlone;
}

// A nap is left alone: the thread sees the item soon, and the caller need not pay for a wake-up.
// It is ended if that costs nothing because its core is awake, or if the item must not wait.
ProgressThreadImpl::Outcome ProgressThreadImpl::disturb(
    ProgressNeed need, const ProgressCore* target) noexcept {
  const ProgressCore& here = *place();
  if (need != ProgressNeed::kFreeCore && here.worker().is_sleeping())
    return Outcome::kLeftAlone;
  set_napping(false);
  return target != nullptr && !here.is_free() ? Outcome::kNapEndedMove
                                              : Outcome::kNapEnded;
}

// `target`: where the thread is to run, unless it continues where it is.
void ProgressThreadImpl::act_on(Outcome outcome, ProgressCore* target) noexcept {
  switch (outcome) {
    case Outcome::kRefused:
    case Outcome::kLeftAlone:
      return;
    case Outcome::kMustWake:
      return wake(*target);
    case Outcome::kNapEndedMove:
      place()->remove_busy();
      return wake(*target);
    case Outcome::kNapEnded:
      execution_.load(std::memory_order_relaxed)->unpark();
      return;
  }
}

void ProgressThreadImpl::wake(ProgressCore& core) noexcept {
  if (is_task()) {
    task_.identity = identity_;
    scheduler_.tasks().submit_near(task_, home_, TaskScope::kMachine);
    return;
  }
  ProgressCore* before = place_.exchange(&core, std::memory_order_relaxed);
  if (before != &core && before != nullptr) {
    move_counter.add();
    trace::instant(
        kMove,
        {static_cast<uint64_t>(before->core()), static_cast<uint64_t>(core.core())},
        rank_);
  }
  core.add_busy();
  Execution& thread = *execution_.load(std::memory_order_relaxed);
  if (!core.worker().is_sleeping()) return thread.unpark_on(core.worker());
  const uint64_t begin = now_ns();
  thread.unpark_on(core.worker());
  const uint64_t cost = now_ns() - begin;
  cores_.note_wake_cost(cost);
  wake_counter.add();
  wake_time_counter.add((cost + 500) / 1000);
}

// The new thread finds nothing and parks, unless an item is there by then.
bool ProgressThreadImpl::spawn(ProgressCore& core) noexcept {
  UltSpec spec;
  spec.entry = [this] { main(); };
  spec.worker = core.worker().index();
  spec.name = "progress";
  // The other policies say where it runs.
  spec.may_move = cores_.policy() == ProgressPolicy::kClosest;
  auto made = scheduler_.spawn(std::move(spec));
  if (!made) {
    is_broken_ = true;
    log::warn("rank {} has no progress thread: {}", rank_, made.error().message);
    return false;
  }
  execution_.store(*made, std::memory_order_relaxed);
  place_.store(&core, std::memory_order_relaxed);
  core.add_busy();
  is_active_ = true;
  return true;
}

// ---- the end -------------------------------------------------------------------------------

void ProgressThreadImpl::stop() noexcept {
  act_on(ask_to_stop(), place());
  const auto is_busy = [this] {
    const Locked lock(lock_);
    return is_working_.load(std::memory_order_relaxed) || !queue_.is_empty();
  };
  while (is_busy()) Execution::self().yield();
}

ProgressThreadImpl::Outcome ProgressThreadImpl::ask_to_stop() noexcept {
  const Locked lock(lock_);
  is_stopping_.store(true, std::memory_order_relaxed);
  const bool rests =
      execution_.load(std::memory_order_relaxed) != nullptr && !is_active_;
  if (!is_task()) is_active_ = true;
  if (rests) return Outcome::kMustWake;
  if (!is_napping_) return Outcome::kLeftAlone;
  set_napping(false);
  return Outcome::kNapEnded;
}

// A task may still be returning from run_task(), long after its last item completed.
ProgressThreadImpl::~ProgressThreadImpl() {
  const auto is_leaving = [this] {
    const Locked lock(lock_);
    return is_active_ && queue_.is_empty();
  };
  while (is_task() && is_leaving()) sched_yield();
}

// ---- taking --------------------------------------------------------------------------------

// Changed only under the lock; others read the count as a hint.
void ProgressThreadImpl::count_item(int change) noexcept {
  count_.store(count_.load(std::memory_order_relaxed) + static_cast<uint32_t>(change),
               std::memory_order_relaxed);
}

ProgressItem* ProgressThreadImpl::pop() noexcept {
  ProgressItem* item = queue_.pop();
  if (item != nullptr) count_item(-1);
  return item;
}

// For the thread itself. The previous item, if any, has run.
ProgressItem* ProgressThreadImpl::pop_to_run() noexcept {
  const Locked lock(lock_);
  ProgressItem* item = pop();
  is_working_.store(item != nullptr, std::memory_order_relaxed);
  return item;
}

ProgressItem* ProgressThreadImpl::take_any() noexcept {
  if (!has_items()) return nullptr;
  const Locked lock(lock_);
  ProgressItem* item = pop();
  if (item != nullptr) taken_counter.add();
  return item;
}

bool ProgressThreadImpl::take(ProgressItem* wanted) noexcept {
  if (!has_items()) return false;
  const Locked lock(lock_);
  if (!queue_.take(wanted)) return false;
  count_item(-1);
  taken_counter.add();
  return true;
}

// ---- the thread ----------------------------------------------------------------------------

void ProgressThreadImpl::main() noexcept {
  trace::introduce(trace::Role::kProgress, identity_);
  for (;;) {
    run_all();
    // Other progress threads may be ready on a busy core: this
    // worker takes them over once it is idle.
    if (!cores_.has_backlog()) {
      if (wait_actively() && has_items()) continue;
      if (nap() && has_items()) continue;
    }
    if (!rest()) break;
  }
  place()->remove_busy();
}

void ProgressThreadImpl::run_all() noexcept {
  Execution& self = Execution::self();
  ProgressItem* item = pop_to_run();
  if (item == nullptr) return;
  ProgressCore& core = arrive();
  t_running = this;
  self.set_identity(identity_);
  self.set_call("background progress");
  for (; item != nullptr; item = pop_to_run()) {
    {
      const trace::Span span(kWork, {static_cast<uint64_t>(core.core())});
      item->run(*item);
    }
    item_counter.add();
    // A long queue must not keep the other threads of this worker waiting.
    self.yield();
  }
  self.set_call(nullptr);
  self.set_identity(nullptr);
  t_running = nullptr;
  core.note_end(now_ns());
}

// Finds out where the thread runs: another core may have taken it over because that was idle.
ProgressCore& ProgressThreadImpl::arrive() noexcept {
  ProgressCore& before = *place();
  ProgressCore& here = cores_.core(Execution::self().worker()->index());
  if (&here == &before) return here;
  move_counter.add();
  trace::instant(kMove, {static_cast<uint64_t>(before.core()),
                         static_cast<uint64_t>(here.core())});
  before.remove_busy();
  here.add_busy();
  place_.store(&here, std::memory_order_relaxed);
  return here;
}

// One item per run, so that a worker with other work sees that in between.
TaskResult ProgressThreadImpl::run_task(Task& task) {
  ProgressThreadImpl& self = static_cast<OwnTask&>(task).thread;
  if (ProgressItem* item = self.pop_to_run()) {
    ProgressThreadImpl* const outer = std::exchange(t_running, &self);
    {
      const trace::Span span(kWork, {static_cast<uint64_t>(Execution::self().core())},
                             self.rank_);
      item->run(*item);
    }
    item_counter.add();
    t_running = outer;
  }
  const Locked lock(self.lock_);
  self.is_working_.store(false, std::memory_order_relaxed);
  if (!self.queue_.is_empty()) return TaskResult::kAgain;
  self.is_active_ = false;
  return TaskResult::kDone;
}

}  // namespace mpc::sched
