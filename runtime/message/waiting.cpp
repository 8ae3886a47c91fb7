#include "runtime/message/waiting.h"

#include "base/check.h"
#include "runtime/message/background.h"
#include "runtime/message/short_wait.h"
#include "runtime/message/work.h"

namespace mpc::msg {
namespace {

constexpr int kMaxHooks = 8;
ProgressHook g_hooks[kMaxHooks];
std::atomic<int> g_hook_count{0};

// While it lives this execution may be parked: senders match for it, notify() finds it.
class Parking {
 public:
  Parking(Mailbox& mine, Waiter& waiter) noexcept : mine_(mine), waiter_(waiter) {
    is_main_ = is_main(mine, *waiter.execution);
    if (is_main_) {
      mine.is_parking.store(true, std::memory_order_relaxed);  // see call_parked()
    } else {
      // seq_cst: either start_polling() sees us, or delegate() below sees the cleared flag;
      // acquire: see notify().
      mine.parked_others.fetch_add(1, std::memory_order_seq_cst);
      mine.others_lock.lock();
      waiter.next = mine.others.load(std::memory_order_relaxed);
      mine.others.store(&waiter, std::memory_order_relaxed);
      mine.others_lock.unlock();
    }
    mine.delegate();
  }
  ~Parking() {
    if (is_main_) {
      mine_.is_parking.store(false, std::memory_order_relaxed);
      return;
    }
    mine_.others_lock.lock();
    Waiter* at = mine_.others.load(std::memory_order_relaxed);
    if (at == &waiter_) {
      mine_.others.store(waiter_.next, std::memory_order_relaxed);
    } else {
      while (at->next != &waiter_) at = at->next;
      at->next = waiter_.next;
    }
    mine_.others_lock.unlock();
    mine_.parked_others.fetch_sub(1, std::memory_order_relaxed);
  }
  Parking(const Parking&) = delete;
  Parking& operator=(const Parking&) = delete;

 private:
  Mailbox& mine_;
  Waiter& waiter_;
  bool is_main_;
};

// While it lives whoever puts a message into the unexpected queue notifies the rank.
class Watching {
 public:
  explicit Watching(Mailbox& mine) noexcept : mine_(mine) {
    mine_.watchers.fetch_add(1, std::memory_order_relaxed);
    // Who holds the lock after us sees the count; what earlier holders put into the queue is
    // seen by the condition, which is evaluated before parking.
    mine_.lock_now();
    mine_.unlock();
  }
  ~Watching() { mine_.watchers.fetch_sub(1, std::memory_order_relaxed); }
  Watching(const Watching&) = delete;
  Watching& operator=(const Watching&) = delete;

 private:
  Mailbox& mine_;
};

// Looks many times without a pause: the line of the next cell is in our cache until a sender
// takes it. Some 100 ns, the time of one `pause` or two.
template <class Glance>
void look_closely(const Mailbox& mine, Glance glance) noexcept {
  constexpr int kLooks = 50;
  for (int i = 0; i < kLooks && !mine.has_mail() && !glance(); ++i) {
    // A longer message's second line, too: both are then on their way at the same time.
    mine.touch_next();
  }
}

// While it lives, senders of large messages leave the copy to us.
class Spinning {
 public:
  explicit Spinning(Mailbox& mine) noexcept
      : mine_(mine), is_main_(is_main(mine, sched::Execution::self())) {
    if (is_main_) mine.spinning.store(true, std::memory_order_relaxed);  // a hint
  }
  ~Spinning() {
    if (is_main_) mine_.spinning.store(false, std::memory_order_relaxed);
  }
  Spinning(const Spinning&) = delete;
  Spinning& operator=(const Spinning&) = delete;
  // It pays to look at the ring.
  void go_on() noexcept {
    if (is_main_) mine_.start_polling();
  }

 private:
  Mailbox& mine_;
  const bool is_main_;
};

// Both in any case.
bool poll_and_run_hooks(Mailbox& mine) noexcept {
  const bool polled = mine.poll();
  return run_hooks(mine) || polled;
}

// Polls while the scheduler thinks that it pays. True if done. `glance` is a cheap hint that
// done() may have become true; `help` is called once, after a while. `soon` says that the end
// is a copy in progress away, which is shorter than sleeping and being woken.
template <class Done, class Glance, class Help, class Soon>
bool spin_until(Mailbox& mine, Done done, Glance glance, Help help,
                Soon soon) noexcept {
  constexpr int kTurnsBeforeHelp = 8;  // about a microsecond
  constexpr int kMostBudgets = 1000;   // some ms, if the copier has lost its core
  int budgets = 0;
  sched::SpinBudget spin;
  Spinning spinning(mine);
  for (int turn = 0;; ++turn) {
    const bool happened = poll_and_run_hooks(mine);
    if (done()) return true;
    if (happened || mine.shared_copy.help()) continue;
    if (!spin.once()) {
      if (!soon() || ++budgets > kMostBudgets) return false;
      spin = sched::SpinBudget();
      if (!spin.once()) return false;  // another rank wants this core
    }
    spinning.go_on();
    look_closely(mine, glance);
    if (turn == kTurnsBeforeHelp) help();
  }
}

// What was left to the rank's progress thread meanwhile, it does itself when it is told to look.
template <class Done>
void park_until(job::Rank& self, Mailbox& mine, Waiter& waiter, Done done,
                const sched::WaitReason& why) noexcept {
  Parking parking(mine, waiter);
  while (!done()) {
    const bool ran_hooks = run_hooks(mine);
    if (help_progress(self) || ran_hooks) continue;
    waiter.execution->park(why);
    run_hooks(mine);  // even if the wait is over; see call_parked()
  }
}

bool never() noexcept { return false; }

bool is_over(const Operation& op) noexcept {
  return op.state.load(std::memory_order_acquire) >=
         kCompleting;  // pairs with complete()
}

// Waits for kComplete after kCompleting: for a few instructions of the completer, or for a copy
// that it is making on another core, in which we take part. Switches: while other ranks are
// ready.
void settle(Mailbox& mine, const Operation& op) noexcept {
  constexpr int kTurns = 50;
  for (int i = 0; i < kTurns; ++i) {
    // acquire pairs with complete().
    if (op.state.load(std::memory_order_acquire) == kComplete) return;
    mine.shared_copy.help();
    __builtin_ia32_pause();
  }
  sched::SpinBudget spin;
  while (op.state.load(std::memory_order_acquire) != kComplete) {
    if (mine.shared_copy.help() || spin.once()) continue;
    sched::Execution::self().yield();
    spin = sched::SpinBudget();
  }
}

// kActive to kWaited. False if it is complete.
bool arm(Mailbox& mine, Operation& op, Waiter& waiter) noexcept {
  op.waiter = &waiter;
  uint32_t expected = kActive;
  // release pairs with the completer's exchange: `waiter`.
  if (op.state.compare_exchange_strong(expected, kWaited, std::memory_order_acq_rel)) {
    return true;
  }
  CHECK(expected != kIdle && expected != kWaited,
        "wait for a request that is not active");
  settle(mine, op);
  return false;
}

// The same for one of several requests, which may be inactive or complete: then false.
bool arm_any(Operation& op, Waiter& waiter) noexcept {
  if (op.state.load(std::memory_order_relaxed) != kActive) return false;
  op.waiter = &waiter;
  uint32_t expected = kActive;
  return op.state.compare_exchange_strong(expected, kWaited, std::memory_order_acq_rel);
}

void disarm(Mailbox& mine, Operation& op) noexcept {
  uint32_t expected = kWaited;
  if (!op.state.compare_exchange_strong(expected, kActive, std::memory_order_acq_rel)) {
    if (expected == kCompleting) settle(mine, op);
  }
}

}  // namespace

bool run_hooks(Mailbox& mine) noexcept {
  if (!mine.attention.load(std::memory_order_relaxed)) return false;
  // acq_rel pairs with notify(): what was to be looked at.
  if (!mine.attention.exchange(false, std::memory_order_acq_rel)) return false;
  const int n = g_hook_count.load(std::memory_order_acquire);
  for (int i = 0; i < n; ++i) g_hooks[i](*mine.owner.load(std::memory_order_relaxed));
  return true;
}

void help_receiver(Operation& op) noexcept {
  if (!op.is_send || op.state.load(std::memory_order_relaxed) == kComplete) return;
  Mailbox* const to = op.mailbox;  // null: in another process, and in no ring
  ShortWait wait;
  // acquire pairs with accept_send().
  while (op.in_ring.load(std::memory_order_acquire)) {
    Work work;
    to->lock_now();
    to->drain(work);
    to->unlock();
    work.run();
    wait.once();
  }
}

void BlockingOperation::wait(job::Rank& self, Mailbox& mine,
                             const sched::WaitReason& why) noexcept {
  Operation& o = op();
  auto over = [&] { return is_over(o); };
  auto help = [&] { help_receiver(o); };
  auto soon = [&] { return o.is_copying.load(std::memory_order_relaxed); };
  if (!over() && !spin_until(mine, over, over, help, soon)) {
    help();
    if (o.waiter_is_preset || arm(mine, o, waiter_))
      park_until(self, mine, waiter_, over, why);
  }
  settle(mine, o);
}

void add_progress_hook(ProgressHook hook) {
  const int n = g_hook_count.load(std::memory_order_relaxed);
  CHECK(n < kMaxHooks, "too many progress hooks");
  g_hooks[n] = hook;
  g_hook_count.store(n + 1, std::memory_order_release);  // pairs with run_hooks()
}

bool progress(job::Rank& self) {
  Mailbox& mine = mailbox_of(self);
  return poll_and_run_hooks(mine);
}

void relax(job::Rank& self) {
  constexpr unsigned kPollsBeforeYield = 4;
  Mailbox& mine = mailbox_of(self);
  sched::Execution& me = sched::Execution::self();
  if (!is_main(mine, me)) {
    me.yield();
    return;
  }
  if (++mine.empty_polls < kPollsBeforeYield) return;
  mine.empty_polls = 0;
  sched::SpinBudget spin;
  if (spin.once()) {  // nobody else wants this core
    mine.start_polling();
  } else {
    me.yield();
  }
}

void wait(job::Rank& self, Request& request, const sched::WaitReason& why) {
  Operation& op = operation_of(request);
  if (request.is_complete() || (take_back(op) && request.is_complete())) return;
  Mailbox& mine = mailbox_of(self);
  auto over = [&] { return is_over(op); };
  auto help = [&] {
    help_receiver(op);
    help_progress(self);
  };
  auto soon = [&] { return op.is_copying.load(std::memory_order_relaxed); };
  if (!spin_until(mine, over, over, help, soon)) {
    Waiter waiter{&sched::Execution::self()};
    help();
    if (arm(mine, op, waiter)) park_until(self, mine, waiter, over, why);
    settle(
        mine,
        op);  // `waiter` lives until the completer has woken it, not only until it is over
    return;
  }
  settle(mine, op);
}

void wait_all(job::Rank& self, Request* const* requests, size_t n,
              const sched::WaitReason& why) {
  size_t next = 0;
  auto all_over = [&] {
    while (next < n) {
      if (requests[next] != nullptr) {
        const Operation& op = operation_of(*requests[next]);
        // acquire pairs with complete().
        const uint32_t state = op.state.load(std::memory_order_acquire);
        if (state != kComplete && state != kIdle) return false;
      }
      ++next;
    }
    return true;
  };
  auto help = [&] {
    for (size_t i = next; i < n; ++i) {
      if (requests[i] == nullptr) continue;
      help_receiver(operation_of(*requests[i]));
      take_back(operation_of(*requests[i]));
    }
  };
  if (all_over()) return;
  Mailbox& mine = mailbox_of(self);
  auto soon = [&] {  // the first one that is missing
    return next < n && requests[next] != nullptr &&
           operation_of(*requests[next]).is_copying.load(std::memory_order_relaxed);
  };
  if (spin_until(mine, all_over, never, help, soon)) return;
  help();
  Waiter waiter{&sched::Execution::self()};
  // One for each armed request; our own one is given back when all are armed.
  for (size_t i = next; i < n; ++i) {
    if (requests[i] == nullptr) continue;
    waiter.missing.fetch_add(1, std::memory_order_relaxed);
    if (!arm_any(operation_of(*requests[i]), waiter)) {
      waiter.missing.fetch_sub(1, std::memory_order_relaxed);
    }
  }
  // acq_rel pairs with wake(): the last one has seen all completions.
  if (waiter.missing.fetch_sub(1, std::memory_order_acq_rel) > 1) {
    auto none_missing = [&] {
      return waiter.missing.load(std::memory_order_acquire) <= 0;
    };
    park_until(self, mine, waiter, none_missing, why);
  }
  for (size_t i = next; i < n; ++i) {  // completers are between wake() and kComplete
    if (requests[i] != nullptr && requests[i]->is_active()) {
      settle(mine, operation_of(*requests[i]));
    }
  }
}

void wait_until(job::Rank& self, Request* const* requests, size_t n, Predicate ready,
                void* argument, const sched::WaitReason& why) {
  auto done = [&] { return ready(argument); };
  if (done()) return;
  Mailbox& mine = mailbox_of(self);
  auto help = [&] {
    for (size_t i = 0; i < n; ++i) {
      if (requests[i] == nullptr) continue;
      help_receiver(operation_of(*requests[i]));
      take_back(operation_of(*requests[i]));
    }
    while (help_progress(self)) {
    }
  };
  while (help_progress(self)) {
    if (done()) return;
  }
  if (spin_until(mine, done, never, help, never)) return;
  help();
  Waiter waiter{&sched::Execution::self()};
  waiter.wakes_at_each = true;
  for (size_t i = 0; i < n; ++i) {
    if (requests[i] == nullptr) continue;
    arm_any(operation_of(*requests[i]), waiter);
  }
  const Watching watching(mine);
  // Whoever completes one wakes us first and says kComplete afterwards: what is in between must
  // not be taken for missing, as no other wake-up comes for it. What is kWaited when we look will
  // wake us; the others are complete when done() looks, the last time after all of them.
  auto done_or_settled = [&] {
    if (done()) return true;
    for (size_t i = 0; i < n; ++i) {
      if (requests[i] == nullptr) continue;
      const Operation& op = operation_of(*requests[i]);
      // acquire pairs with complete().
      if (op.state.load(std::memory_order_acquire) == kCompleting) settle(mine, op);
    }
    return done();
  };
  park_until(self, mine, waiter, done_or_settled, why);
  for (size_t i = 0; i < n; ++i) {
    if (requests[i] != nullptr) disarm(mine, operation_of(*requests[i]));
  }
}

void wait_for(job::Rank& self, const Condition& condition,
              const sched::WaitReason& why) {
  auto done = [&] { return condition.holds(condition.argument); };
  if (done()) return;
  Mailbox& mine = mailbox_of(self);
  auto help = [&] {
    while (help_progress(self)) {
    }
  };
  if (spin_until(mine, done, done, help, never)) return;
  help();
  Waiter waiter{&sched::Execution::self()};
  condition.arm(condition.argument, *waiter.execution);
  park_until(self, mine, waiter, done, why);
  condition.disarm(condition.argument);
}

void notify(job::Rank& self) {
  // Relaxed: it may end at this moment. The mailbox itself stays until all ranks have ended.
  void* const mailbox = std::atomic_ref(self.mailbox).load(std::memory_order_relaxed);
  if (mailbox == nullptr) return;
  Mailbox& mine = *static_cast<Mailbox*>(mailbox);
  mine.attention.store(true, std::memory_order_release);  // pairs with run_hooks()
  if (self.execution != nullptr) self.execution->unpark();
  // A read-modify-write that changes nothing: an execution that adds itself to the count later
  // synchronises with it and sees `attention` and what its condition reads; an earlier one is
  // counted.
  if (mine.parked_others.fetch_add(0, std::memory_order_acq_rel) == 0) return;
  mine.others_lock.lock();
  for (Waiter* w = mine.others.load(std::memory_order_relaxed); w != nullptr;
       w = w->next) {
    w->execution->unpark();
  }
  mine.others_lock.unlock();
}

namespace {

// Relaxed: the rank may end at this moment. The mailbox itself stays until all ranks have ended.
Mailbox* mailbox_hint(const job::Rank& rank) noexcept {
  return std::atomic_ref(const_cast<Mailbox*&>(rank.mailbox))
      .load(std::memory_order_relaxed);
}

}  // namespace

bool is_parked(const job::Rank& self) noexcept {
  const Mailbox* const mailbox = mailbox_hint(self);
  return mailbox != nullptr && mailbox->is_parking.load(std::memory_order_relaxed) &&
         self.execution != nullptr && self.execution->is_parked();
}

bool is_parked_idly(const job::Rank& self) noexcept {
  return is_parked(self) && self.execution->is_on_idle_core();
}

// What the caller has left for the hooks is run: unpark() has synchronised with the rank's
// park(), whose return is followed by run_hooks(). If that park() was another one, as in a sleep,
// then is_parking, written before it, is false here.
bool call_parked(job::Rank& self) {
  Mailbox* const mine = mailbox_hint(self);
  if (mine == nullptr || self.execution == nullptr) return false;
  mine->attention.store(true, std::memory_order_release);  // pairs with run_hooks()
  return self.execution->unpark() && mine->is_parking.load(std::memory_order_relaxed);
}

}  // namespace mpc::msg
