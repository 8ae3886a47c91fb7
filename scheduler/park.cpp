// How an execution waits and is woken (park, unpark, yield,
// sleep), and what others may ask about it.
#include <sched.h>
#include <time.h>

#include <cerrno>

#include "base/check.h"
#include "base/futex.h"
#include "scheduler/carrier.h"
#include "scheduler/execution.h"
#include "scheduler/ult.h"
#include "scheduler/worker.h"

namespace mpc::sched {
namespace {

// Enters the runtime as the owner of a worker. If the Ult's worker was retaken meanwhile, the Ult
// first queues itself there, so that it returns on the kernel thread that holds the worker now.
// Switches: in that case.
Carrier& enter_home(Ult& self, Carrier*& carrier) noexcept {
  if (!carrier->enter()) self.return_to_worker();
  return *carrier;  // read again: `carrier` is the Ult's field
}

// A carrier that slept inside a task would stop a whole worker.
void check_is_no_task(const Carrier* carrier) noexcept {
  CHECK(carrier == nullptr, "a task must not park");
}

}  // namespace

// A thief's victim may have lost its core only for a while; then the ranks that talk to each other
// should meet again. In a pipeline, where a thread has a reason to be away, a thief soon takes it
// again: this costs some 10 us every kAwayNs.
void Ult::consider_return() noexcept {
  constexpr uint64_t kAwayNs = 50'000'000;
  if (taken_ns == 0 || coarse_now_ns() < taken_ns + kAwayNs) return;
  taken_ns = 0;
  place_on(*origin);
}

void Ult::return_to_worker() noexcept {
  carrier_->switch_away(*this, Carrier::After::kLost);
}

// ---- the state word ----------------------------------------------------------------------

bool Execution::take_permit() noexcept {
  if (state_.load(std::memory_order_relaxed) != kPermit) return false;
  // Only the execution itself leaves kPermit, so this cannot fail. It is an exchange and not a
  // store, because an unpark() that finds kPermit also writes,
  // and its release must be acquired here.
  state_.exchange(kActive, std::memory_order_acquire);  // pairs with unpark()
  return true;
}

bool Execution::publish_parked() noexcept {
  uint32_t expected = kActive;
  // Release: the thread that wakes it (acquire in unpark) sees everything that it wrote before.
  if (state_.compare_exchange_strong(expected, kParked, std::memory_order_acq_rel,
                                     std::memory_order_relaxed))
    return true;
  state_.exchange(kActive, std::memory_order_acquire);  // the word was kPermit
  return false;
}

bool Execution::claim_wake(uint32_t& seen) noexcept {
  seen = kParked;
  return state_.compare_exchange_strong(seen, kActive, std::memory_order_acq_rel,
                                        std::memory_order_relaxed);
}

bool Execution::give_permit() noexcept {
  uint32_t seen = state_.load(std::memory_order_relaxed);
  for (;;) {
    uint32_t next = kPermit;
    if (seen == kParked) next = kActive;
    if (seen == kHeld || seen == kHeldPermit) next = kHeldPermit;
    // Also writes when there is a permit already: our release must join the word, or the owner
    // could consume the old permit, miss what we wrote before, and park again.
    if (state_.compare_exchange_weak(seen, next, std::memory_order_acq_rel,
                                     std::memory_order_relaxed))
      return seen == kParked;
  }
}

bool Execution::unpark() noexcept {
  const bool ult = is_ult_;  // a kernel thread may have exited after the exchange
  if (!give_permit()) return false;
  if (ult)
    make_ready();
  else
    futex_wake(state_);
  return true;
}

void Execution::unpark_on(Worker& worker) noexcept {
  CHECK(is_ult_, "a kernel thread has no worker to go on on");
  if (!give_permit()) return;
  // No other thread touches the Ult between kParked and the queue.
  static_cast<Ult*>(this)->taken_ns = 0;
  worker_.store(&worker, std::memory_order_relaxed);
  make_ready();
}

void Execution::make_ready() noexcept {
  if (!is_ult_) {
    futex_wake(state_);
    return;
  }
  Ult& ult = static_cast<Ult&>(*this);
  if (&ult.home() != ult.origin) [[unlikely]]
    ult.consider_return();
  Worker& home = ult.home();
  Execution* self = current_;
  Carrier* carrier = self != nullptr ? self->carrier_ : nullptr;
  // NOLINTNEXTLINE(bugprone-branch-clone): enter() is asked only where it has to be
  if (carrier == nullptr) {
    home.push_remote(ult);
  } else if (!self->is_ult_) {  // the idle loop of a carrier: always inside the runtime
    carrier->worker() == &home ? home.push_local(ult) : home.push_remote(ult);
  } else if (!carrier->enter()) {
    home.push_remote(ult);
  } else {
    carrier->worker() == &home ? home.push_local(ult) : home.push_remote(ult);
    carrier->leave();
  }
}

bool Execution::is_quickly_woken() const noexcept {
  const Worker* worker = worker_.load(std::memory_order_relaxed);
  return is_parked() && worker != nullptr && !worker->is_sleeping();
}

const Carrier* Execution::carrier_hint() const noexcept {
  return is_ult_ ? std::atomic_ref(const_cast<Carrier*&>(carrier_))
                       .load(std::memory_order_acquire)
                 : nullptr;
}

int Execution::kernel_thread() const noexcept {
  const Carrier* carrier = carrier_hint();
  return carrier != nullptr ? carrier->tid() : 0;
}

bool Execution::is_in_own_code() const noexcept {
  const Carrier* carrier = carrier_hint();
  return carrier != nullptr && !carrier->is_in_runtime();
}

bool Execution::is_on_idle_core() const noexcept {
  const Worker* worker = worker_.load(std::memory_order_relaxed);
  return is_parked() && worker != nullptr && worker != self().worker() &&
         !worker->is_sleeping() && !worker->has_ready() &&
         (worker->is_idle.load(std::memory_order_relaxed) ||
          worker->is_spinning.load(std::memory_order_relaxed));
}

// ---- waiting -----------------------------------------------------------------------------

void Execution::begin_wait(const WaitReason& reason) noexcept {
  waiting_since_ns_.store(coarse_now_ns(), std::memory_order_relaxed);
  park_count_.store(park_count_.load(std::memory_order_relaxed) + 1,
                    std::memory_order_relaxed);
  // Other threads read it only while the state word says kHeld, which orders the accesses.
  reason_.store(&reason, std::memory_order_relaxed);
}

void Execution::make_upcall() noexcept {
  // Acquire pairs with request_upcall(): the function sees what was written before.
  if (has_upcall_.exchange(false, std::memory_order_acquire)) upcall_(*this);
}

void Execution::park(const WaitReason& reason) noexcept {
  if (take_permit()) return take_upcall();
  begin_wait(reason);
  if (is_ult_) {
    Ult& self = static_cast<Ult&>(*this);
    enter_home(self, carrier_).switch_away(self, Carrier::After::kParked);
    carrier_->leave();
  } else if (check_is_no_task(carrier_); publish_parked()) {
    uint32_t state;
    // Pairs with the release in unpark().
    while ((state = state_.load(std::memory_order_acquire)) >= kParked)
      futex_wait(state_, state);
  }
  reason_.store(nullptr, std::memory_order_relaxed);
  take_upcall();
}

bool Execution::park_until(uint64_t deadline_ns, const WaitReason& reason) noexcept {
  if (take_permit()) {
    take_upcall();
    return true;
  }
  bool woken = true;
  has_deadline_.store(true, std::memory_order_relaxed);
  begin_wait(reason);
  if (is_ult_) {
    Ult& self = static_cast<Ult&>(*this);
    self.deadline_ns = deadline_ns;
    self.timed_out = false;
    enter_home(self, carrier_).switch_away(self, Carrier::After::kParkedWithTimer);
    if (Worker* worker = self.timer_worker.load(std::memory_order_acquire))
      worker->remove_timer(self);
    carrier_->leave();
    woken = !self.timed_out;
  } else if (check_is_no_task(carrier_); publish_parked()) {
    uint32_t state;
    while ((state = state_.load(std::memory_order_acquire)) >= kParked) {
      if (!futex_wait_until(state_, state, deadline_ns) && claim_wake(state)) {
        woken = false;
        break;
      }
    }
  }
  reason_.store(nullptr, std::memory_order_relaxed);
  has_deadline_.store(false, std::memory_order_relaxed);
  take_upcall();
  return woken;
}

void Execution::yield() noexcept {
  if (!is_ult_) {
    sched_yield();
    return;
  }
  Ult& self = static_cast<Ult&>(*this);
  Carrier& carrier = enter_home(self, carrier_);
  if (carrier.worker()->needs_switch())
    carrier.switch_away(self, Carrier::After::kRequeue);
  carrier_->leave();
  take_upcall();
}

Execution::StackRange Execution::stack() const noexcept {
  if (!is_ult_) return {nullptr, 0, 0};
  const Ult& self = static_cast<const Ult&>(*this);
  return {self.stack, self.stack_bytes, self.guard_bytes};
}

int Execution::core() const noexcept {
  const Worker* worker = this->worker();
  return worker != nullptr ? worker->core() : -1;
}

void sleep_on_core(uint64_t deadline_ns) noexcept {
  Execution& self = Execution::self();
  Ult* const ult = self.is_ult() ? static_cast<Ult*>(&self) : nullptr;
  if (ult != nullptr && !ult->carrier().enter()) ult->return_to_worker();
  const timespec until{static_cast<time_t>(deadline_ns / 1'000'000'000),
                       static_cast<long>(deadline_ns % 1'000'000'000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
  // Read again: it may be a different one now.
  if (ult != nullptr) ult->carrier().leave();
}

void sleep_until(uint64_t deadline_ns) noexcept {
  class Sleep final : public WaitReason {
    std::string text() const override { return "sleep"; }
    bool can_end_by_itself() const override { return true; }
  };
  Sleep reason;
  // A permit that arrives meanwhile belongs to another wait: it is put back at the end.
  bool permit = false;
  Execution& self = Execution::self();
  while (self.park_until(deadline_ns, reason)) {
    permit = true;
    if (now_ns() >= deadline_ns) break;
  }
  if (permit) self.unpark();
}

}  // namespace mpc::sched
