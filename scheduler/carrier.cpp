#include "scheduler/carrier.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "base/check.h"
#include "base/trace.h"
#include "scheduler/annotate.h"
#include "scheduler/emulation/emulation.h"
#include "scheduler/switch_hook.h"
#include "scheduler/worker.h"

namespace mpc::sched {
namespace {

// What the leaving side asks the arriving side to do once the stack of `from` is free.
struct Departure {
  Carrier* carrier;
  Ult* from;  // null: the carrier's idle loop
  Carrier::After after;
};

}  // namespace

// The other half of a switch: runs on the new stack with the new thread control block.
MPC_NO_SANITIZE static void arrive(void* message) noexcept {
  const Departure& departure = *static_cast<Departure*>(message);
  MPC_HAPPENS_AFTER(departure.carrier);
  if (departure.from != nullptr)
    departure.carrier->settle(*departure.from, departure.after);
}

// First frame of each Ult.
void ult_main(void* message) {
  arrive(message);
  trace::runs();
  Ult& self = static_cast<Ult&>(Execution::self());
  self.carrier_->leave();
  self.entry();
  self.entry = nullptr;  // the captures are destroyed on the Ult
  if (!self.carrier_->enter()) self.return_to_worker();
  self.carrier_->switch_away(self, Carrier::After::kEnded);
  CHECK(false, "an ended user-level thread was resumed");
}

void Carrier::settle(Ult& from, After after) noexcept {
  switch (after) {
    case After::kParkedWithTimer:
      held_->add_timer(from, from.deadline_ns);
      [[fallthrough]];
    case After::kParked:
      if (!from.publish_parked()) held_->push_local(from);
      return;
    case After::kRequeue:
      held_->push_local(from);
      return;
    case After::kReturn:
      from.taken_ns = 0;
      from.place_on(*from.origin);
      from.origin->push_remote(from);
      return;
    case After::kEnded:
      from.end();
      return;
    case After::kLost:
      from.worker_.load(std::memory_order_relaxed)->push_remote(from);
      return;
  }
}

void Carrier::switch_away(Ult& from, After after) noexcept {
  if (counts_cpu_time()) [[unlikely]]
    account.charge(&from.cpu_time_ns);
  context::Fiber* to = &native_;
  if (after != After::kLost) {
    held_->count_switch();
    // Tasks run on the carrier's own stack; it goes on with the Ults afterwards.
    Ult* next = __builtin_expect(held_->wants_task(), 0) ? nullptr : held_->pop();
    if (next != nullptr) {
      next->run_on(this);
      next->worker_.store(held_, std::memory_order_relaxed);
      to = &next->fiber;
      if (const SwitchHook hook = switch_hook()) [[unlikely]]
        hook(next->identity(), hook_state);
    }
  }
  in_region_.store(false, std::memory_order_relaxed);  // the next Ult is in no region
  Departure departure{this, &from, after};
  MPC_HAPPENS_BEFORE(this);  // partner: arrive()
  arrive(context::switch_to(from.fiber, *to, &departure));
  trace::runs();
  if (from.region_depth != 0) from.carrier_->set_in_region(true);
}

void Carrier::resume(Ult& ult) noexcept {
  if (counts_cpu_time()) [[unlikely]]
    account.charge(nullptr);
  if (const SwitchHook hook = switch_hook()) [[unlikely]]
    hook(ult.identity(), hook_state);
  ult.run_on(this);
  ult.worker_.store(held_, std::memory_order_relaxed);
  held_->count_switch();
  Departure departure{this, nullptr, After::kParked};
  MPC_HAPPENS_BEFORE(this);
  arrive(context::switch_to(native_, ult.fiber, &departure));
  if (held_ != nullptr) trace::runs();
}

// ---- the kernel thread -------------------------------------------------------------------

Result<> Carrier::start(Worker* worker) {
  if (worker != nullptr) adopt(*worker);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setsigmask_np(&attributes, &plan_.signal_mask);
  const int error = pthread_create(&thread_, &attributes, &thread_main, this);
  pthread_attr_destroy(&attributes);
  if (error == 0) return {};
  return {Errc::kSystem,
          std::string("cannot create a worker's thread: ") + std::strerror(error)};
}

void Carrier::stop() noexcept {
  gate_.store(1, std::memory_order_release);
  futex_wake(gate_);
  pthread_join(thread_, nullptr);
}

void Carrier::adopt(Worker& worker) noexcept {
  held_ = &worker;
  worker_.store(&worker, std::memory_order_relaxed);
  in_region_.store(false, std::memory_order_relaxed);
  in_runtime_.store(1, std::memory_order_relaxed);
  // Both release: a thread that claims us from now on (try_hold, take_ready_of) sees the worker.
  claim_.store(kMine, std::memory_order_release);
  worker.carrier.store(this, std::memory_order_release);
  gate_.store(
      1, std::memory_order_release);  // pairs with the acquire in wait_for_worker()
  futex_wake(gate_);
}

void* Carrier::thread_main(void* self) {
  static_cast<Carrier*>(self)->run();
  return nullptr;
}

void Carrier::run() noexcept {
  if (plan_.on_kernel_thread != nullptr) plan_.on_kernel_thread();
  take_own_directory();
  current_ = this;
  run_on(this);
  native_.fs = context::current_fs();
  trace::introduce(trace::Role::kIdle, nullptr);
  tid_.store(static_cast<int>(raw_syscall(SYS_gettid)), std::memory_order_relaxed);
  // The kernel may delay the end of a sleep by 50 us by default; this keeps timers punctual.
  // Threads that ranks start inherit it.
  constexpr unsigned long kSlackNs = 1'000;
  if (!Emulation::is_on()) prctl(PR_SET_TIMERSLACK, kSlackNs, 0, 0, 0);
  plan_.run(*this, plan_.scheduler);
  current_ = nullptr;
}

void Carrier::wait_for_worker() noexcept {
  while (gate_.load(std::memory_order_acquire) == 0) futex_wait(gate_, 0);
  gate_.store(0, std::memory_order_relaxed);
}

// ---- retaking ----------------------------------------------------------------------------

bool Carrier::enter_slowly() noexcept {
  for (;;) {
    uint32_t claim = claim_.load(std::memory_order_acquire);
    if (claim == kMine) {
      in_runtime_.store(1, std::memory_order_relaxed);
      std::atomic_signal_fence(std::memory_order_seq_cst);
      claim = claim_.load(std::memory_order_acquire);
      if (claim == kMine) return true;
    }
    if (claim == kLostWorker) return false;
    in_runtime_.store(0, std::memory_order_release);
    sched_yield();  // if the monitor has its core, it decides within microseconds
  }
}

bool Carrier::try_hold() noexcept {
  uint32_t expected = kMine;
  // Acquire pairs with the releases in let_go() and adopt(): there is one holder at a time.
  if (!claim_.compare_exchange_strong(expected, kTaking, std::memory_order_acquire,
                                      std::memory_order_relaxed))
    return false;
  // Orders our store before our load, and the same in every other thread of the process:
  // either we see its in_runtime_ = 1, or it sees kTaking.
  if (raw_syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0 &&
      in_runtime_.load(std::memory_order_acquire) == 0)
    return true;
  let_go();
  return false;
}

// Release: the Ult that enters next (acquire in enter(), enter_slowly()) sees what was taken.
void Carrier::let_go() noexcept { claim_.store(kMine, std::memory_order_release); }

Worker* Carrier::try_retake() noexcept {
  if (held_ == nullptr || !try_hold()) return nullptr;
  Worker* worker = held_;
  held_ = nullptr;
  claim_.store(kLostWorker, std::memory_order_release);
  return worker;
}

Ult* Carrier::take_ready_of(Worker& victim) noexcept {
  // Acquire pairs with the release in adopt(). Carriers live as long as the
  // scheduler, so a carrier that has lost the worker since does no harm: it
  // is claimed, found without the worker, and released.
  Carrier* carrier = victim.carrier.load(std::memory_order_acquire);
  if (carrier == nullptr || carrier->is_in_runtime() || !carrier->try_hold())
    return nullptr;
  Ult* ult = carrier->held_ == &victim ? victim.take_movable() : nullptr;
  carrier->let_go();
  if (ult != nullptr) ult->taken_ns = coarse_now_ns();
  return ult;
}

// ---- switch_hook.h -----------------------------------------------------------------------

uint64_t& switch_hook_state() noexcept {
  return static_cast<Ult&>(Execution::self()).carrier().hook_state;
}

}  // namespace mpc::sched
