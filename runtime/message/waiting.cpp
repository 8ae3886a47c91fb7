#include "runtime/message/waiting.h"

#include "runtime/message/arming.h"
#include "runtime/message/background.h"
#include "runtime/message/main_execution.h"
#include "runtime/message/parking.h"
#include "runtime/message/quick_remote.h"
#include "runtime/message/short_wait.h"
#include "runtime/message/spinning.h"
#include "runtime/message/work.h"
#include "scheduler/as_nobody.h"
#include "scheduler/may_spin.h"

namespace mpc::msg {

// ---- the one way to wait -------------------------------------------------------------------
//
//   spin    poll, check, after a while help; mostly it is over soon
//   help    do now what was left to other threads
//   arm     from now on the thread that completes an operation wakes us
//   park    until the policy ends the wait
//   disarm  no thread wakes us any more
//
// The condition is a policy: a small struct below, whose functions are compiled into the
// loops, so that a wait for one operation costs what a loop written for it alone would cost.
//
//   done()             it is over
//   glance()           a cheap hint that done() may have become true, asked many times a turn
//   kLooksFirst        done() is one flag that another core sets: glances before all else
//   soon()             only a copy in progress is missing: shorter than to sleep and be woken
//   help()             does what was left to other threads
//   settle(mine)       after done(): completers release what the caller may free now
//   waiter()           whom completers wake: a new one, or one that is in the operation already
//   arm(mine, waiter)  false: it is over, do not park
//   may_leave(mine, waiter)   done(), as it appears to an execution that was woken
//   disarm(mine)       after arm(), whatever it returned: completers release the waiter, too
namespace {

// What comes from processes of this host is mostly there within 2 us: until then the rank does not count as one that
// polls, as in quick_remote.cpp.
enum class Nearby : uint8_t { kDone, kPolled, kNothing };
template <class Policy>
[[gnu::always_inline]] inline Nearby look_near(Mailbox& mine, Policy& policy) noexcept {
  constexpr int kLooks = 40;
  Nearby result = Nearby::kNothing;
  transport::Net* const net = near_net(mine);
  for (int i = 0; net != nullptr && i < kLooks; ++i) {
    const transport::Near near = net->look_near();
    if (near == transport::Near::kElsewhere) break;
    if (near == transport::Near::kNews) {
      const sched::AsNobody as_nobody;
      net->poll_near();
      result = Nearby::kPolled;
    }
    if ((near == transport::Near::kNews || policy.glance()) && policy.done()) {
      mine.outside.look_away(mine, true);
      return Nearby::kDone;
    }
    if (!may_look_near(mine)) break;
    __builtin_ia32_pause();
  }
  return result;
}

// The second half: sleeps until it is over.
template <class Policy>
[[gnu::always_inline]] inline void rest_until_end(
    job::Rank& self, Mailbox& mine, Policy& policy,
    const sched::WaitReason& why) noexcept {
  policy.help();
  auto&& waiter = policy.waiter();
  if (policy.arm(mine, waiter)) {
    if (g_has_outside) [[unlikely]]
      mine.outside.begin_rest(mine, sched::may_look());
    park_until(self, mine, waiter, policy, why);
  }
  policy.disarm(mine);
  if (g_has_outside) [[unlikely]]
    mine.outside.note_end(mine);
}

// Where there are other processes. A function of its own, for the sake of waits without.
template <class Policy>
[[gnu::noinline]] void wait_for_outside(job::Rank& self, Mailbox& mine, Policy& policy,
                                        const sched::WaitReason& why) noexcept {
  Nearby nearby = Nearby::kNothing;
  if constexpr (Policy::kLooksNear) nearby = look_near(mine, policy);
  if (nearby == Nearby::kDone) return policy.settle(mine);
  if (!spin_until(mine, policy)) return rest_until_end(self, mine, policy, why);
  // It may have ended without a poll that counts.
  if (nearby == Nearby::kPolled) mine.outside.look_away(mine, true);
  policy.settle(mine);
}

template <class Policy>
[[gnu::always_inline]] inline void wait_for_end(job::Rank& self, Mailbox& mine,
                                                Policy& policy,
                                                const sched::WaitReason& why) noexcept {
  if (g_has_outside) [[unlikely]] {
    Policy own = policy;  // the other one stays in registers
    return wait_for_outside(self, mine, own, why);
  }
  // A rank whose core has others to run does not poll; and if senders match for it, no message waits in its ring,
  // whose lines are not looked at then.
  if ((mine.may_be_polling() || sched::may_spin()) && spin_until(mine, policy))
    return policy.settle(mine);
  rest_until_end(self, mine, policy, why);
}

// The common part of most policies: nothing to glance at, no copy to wait for, nothing to settle.
struct PlainWait {
  // A message's cell is not looked at too soon, see docs/design/0041-small-windows.md.
  static constexpr bool kLooksFirst = false;
  // Messages alone are taken near. What an upper layer waits for (windows, schedules) goes on by what only a
  // whole poll does.
  static constexpr bool kLooksNear = false;
  static bool glance() noexcept { return false; }
  static bool soon() noexcept { return false; }
  static void settle(Mailbox&) noexcept {}
  static Waiter waiter() noexcept { return Waiter{&sched::Execution::self()}; }
};

// ---- for one operation ---------------------------------------------------------------------

struct WaitForOne : PlainWait {
  static constexpr bool kLooksNear = true;
  Operation& op;

  explicit WaitForOne(Operation& operation) noexcept : op(operation) {}
  bool done() const noexcept { return is_over(op); }
  bool glance() const noexcept { return done(); }
  bool soon() const noexcept { return op.is_copying.load(std::memory_order_relaxed); }
  bool may_leave(Mailbox&, Waiter&) const noexcept { return done(); }
  void settle(Mailbox& mine) const noexcept { msg::settle(mine, op); }
  // The waiter lives until the completer has woken it, not only until the operation is complete.
  void disarm(Mailbox& mine) const noexcept { settle(mine); }
};

// A request that was started before: a non-blocking call's.
struct WaitForStarted : WaitForOne {
  job::Rank& self;

  WaitForStarted(Operation& operation, job::Rank& rank) noexcept
      : WaitForOne(operation), self(rank) {}
  void help() const noexcept {
    help_receiver(op);
    help_progress(self);
  }
  bool arm(Mailbox& mine, Waiter& waiter) const noexcept {
    return msg::arm(mine, op, waiter);
  }
};

// A blocking call's own operation, which may have its waiter from the start.
struct WaitForBlocking : WaitForOne {
  Waiter& own;

  WaitForBlocking(Operation& operation, Waiter& waiter) noexcept
      : WaitForOne(operation), own(waiter) {}
  void help() const noexcept { help_receiver(op); }
  Waiter& waiter() const noexcept { return own; }
  bool arm(Mailbox& mine, Waiter& waiter) const noexcept {
    return op.waiter_is_preset || msg::arm(mine, op, waiter);
  }
};

// ---- for several ---------------------------------------------------------------------------

struct Requests {
  Request* const* all;  // null: none
  size_t count;

  template <class Function>
  void for_each(size_t first, Function function) const noexcept {
    for (size_t i = first; i < count; ++i)
      if (all[i] != nullptr) function(*all[i]);
  }
  void help(size_t first) const noexcept {
    for_each(first, [](Request& request) {
      help_receiver(operation_of(request));
      take_back(operation_of(request));
    });
  }
};

struct WaitForAll : PlainWait {
  static constexpr bool kLooksNear = true;
  Requests requests;
  size_t next = 0;  // those before it are complete or inactive

  WaitForAll(Request* const* all, size_t count) noexcept : requests{all, count} {}
  bool done() noexcept {
    while (next < requests.count) {
      if (requests.all[next] != nullptr) {
        const Operation& op = operation_of(*requests.all[next]);
        // Acquire pairs with complete().
        const uint32_t state = op.state.load(std::memory_order_acquire);
        if (state != kComplete && state != kIdle) return false;
      }
      ++next;
    }
    return true;
  }
  bool soon() const noexcept {  // the first one that is missing
    return next < requests.count && requests.all[next] != nullptr &&
           operation_of(*requests.all[next]).is_copying.load(std::memory_order_relaxed);
  }
  void help() const noexcept { requests.help(next); }
  // One of `missing` for each armed request; our own one is subtracted when all are armed.
  bool arm(Mailbox&, Waiter& waiter) const noexcept {
    requests.for_each(next, [&](Request& request) {
      waiter.missing.fetch_add(1, std::memory_order_relaxed);
      if (!arm_any(operation_of(request), waiter)) {
        waiter.missing.fetch_sub(1, std::memory_order_relaxed);
      }
    });
    // acq_rel pairs with wake(): the last one has seen all completions.
    return waiter.missing.fetch_sub(1, std::memory_order_acq_rel) > 1;
  }
  static bool may_leave(Mailbox&, Waiter& waiter) noexcept {
    return waiter.missing.load(std::memory_order_acquire) <= 0;
  }
  void disarm(
      Mailbox& mine) const noexcept {  // completers are between wake() and kComplete
    requests.for_each(next, [&](Request& request) {
      if (request.is_active()) msg::settle(mine, operation_of(request));
    });
  }
};

// A caller's condition, which may hold when one of the requests is complete, a message has come,
// or notify() was called.
struct WaitForChange : PlainWait {
  job::Rank& self;
  Requests requests;
  Predicate ready;
  void* argument;

  WaitForChange(job::Rank& rank, Request* const* all, size_t count, Predicate condition,
                void* its_argument) noexcept
      : self(rank), requests{all, count}, ready(condition), argument(its_argument) {}
  bool done() const noexcept { return ready(argument); }
  void help() const noexcept {
    requests.help(0);
    while (help_progress(self)) {
    }
  }
  bool arm(Mailbox& mine, Waiter& waiter) const noexcept {
    waiter.wakes_at_each = true;
    requests.for_each(
        0, [&](Request& request) { arm_any(operation_of(request), waiter); });
    start_watching(mine);
    return true;
  }
  // A completer wakes us first and stores kComplete afterwards: a request in between must not be
  // taken for missing, because no other wake-up comes for it. A request
  // that is kWaited when we check will wake us; the others are complete
  // when done() checks, the last time after all of them.
  bool may_leave(Mailbox& mine, Waiter&) const noexcept {
    if (done()) return true;
    requests.for_each(0, [&](Request& request) {
      const Operation& op = operation_of(request);
      // Acquire pairs with complete().
      if (op.state.load(std::memory_order_acquire) == kCompleting)
        msg::settle(mine, op);
    });
    return done();
  }
  void disarm(Mailbox& mine) const noexcept {
    requests.for_each(
        0, [&](Request& request) { msg::disarm(mine, operation_of(request)); });
    stop_watching(mine);
  }
};

// ---- for an upper layer's condition, which that layer arms ----------------------------------

struct WaitForCondition : PlainWait {
  static constexpr bool kLooksFirst = true;
  job::Rank& self;
  const Condition& condition;

  WaitForCondition(job::Rank& rank, const Condition& upper) noexcept
      : self(rank), condition(upper) {}
  bool done() const noexcept { return condition.holds(condition.argument); }
  bool glance() const noexcept { return done(); }
  void help() const noexcept {
    while (help_progress(self)) {
    }
  }
  bool arm(Mailbox&, Waiter& waiter) const noexcept {
    condition.arm(condition.argument, *waiter.execution);
    return true;
  }
  bool may_leave(Mailbox&, Waiter&) const noexcept { return done(); }
  void disarm(Mailbox&) const noexcept { condition.disarm(condition.argument); }
};

}  // namespace

void BlockingOperation::wait(job::Rank& self, Mailbox& mine,
                             const sched::WaitReason& why) noexcept {
  WaitForBlocking policy(op(), waiter_);
  if (policy.done()) return policy.settle(mine);
  wait_for_end(self, mine, policy, why);
}

void wait(job::Rank& self, Request& request, const sched::WaitReason& why) {
  Operation& op = operation_of(request);
  if (request.is_complete() || (take_back(op) && request.is_complete())) return;
  WaitForStarted policy(op, self);
  wait_for_end(self, mailbox_of(self), policy, why);
}

void wait_all(job::Rank& self, Request* const* requests, size_t n,
              const sched::WaitReason& why) {
  WaitForAll policy(requests, n);
  if (policy.done()) return;
  wait_for_end(self, mailbox_of(self), policy, why);
}

void wait_until(job::Rank& self, Request* const* requests, size_t n, Predicate ready,
                void* argument, const sched::WaitReason& why) {
  WaitForChange policy(self, requests, n, ready, argument);
  if (policy.done()) return;
  while (help_progress(self)) {
    if (policy.done()) return;
  }
  wait_for_end(self, mailbox_of(self), policy, why);
}

void wait_for(job::Rank& self, const Condition& condition,
              const sched::WaitReason& why) {
  WaitForCondition policy(self, condition);
  if (policy.done()) return;
  Mailbox& mine = mailbox_of(self);
  const bool is_told =
      g_has_outside && condition.is_inside && is_main(mine, sched::Execution::self());
  if (is_told) [[unlikely]]
    mine.outside.set_waits_inside(true);
  wait_for_end(self, mine, policy, why);
  if (is_told) [[unlikely]]
    mine.outside.set_waits_inside(false);
}

// ---- without waiting for anything -----------------------------------------------------------

void help_receiver(Operation& op) noexcept {
  if (!op.is_send || op.state.load(std::memory_order_relaxed) == kComplete) return;
  Mailbox* const to = op.mailbox;  // null: in another process, and in no ring
  ShortWait wait;
  // Acquire pairs with accept_send().
  while (op.in_ring.load(std::memory_order_acquire)) {
    Work work;
    to->lock_now();
    to->drain(work);
    to->unlock();
    work.run();
    wait.once();
  }
}

bool progress(job::Rank& self) {
  Mailbox& mine = mailbox_of(self);
  return poll_and_run_hooks(mine);
}

void relax(job::Rank& self, bool asks_again) {
  constexpr unsigned kPollsBeforeYield = 4;
  Mailbox& mine = mailbox_of(self);
  sched::Execution& me = sched::Execution::self();
  if (g_has_outside) [[unlikely]]
    mine.outside.come_by(asks_again);
  if (!is_main(mine, me)) {
    me.yield();
    return;
  }
  if (++mine.empty_polls < kPollsBeforeYield) return;
  mine.empty_polls = 0;
  sched::look_outside();    // files, too
  if (sched::may_spin()) {  // nothing else wants this core
    __builtin_ia32_pause();
    mine.start_polling();
  } else {
    me.yield();
  }
}

}  // namespace mpc::msg
