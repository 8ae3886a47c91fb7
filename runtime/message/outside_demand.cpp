#include "runtime/message/outside.h"

#include <algorithm>

#include "runtime/message/background.h"
#include "runtime/message/control.h"
#include "runtime/message/mailbox.h"
#include "runtime/message/main_execution.h"
#include "runtime/message/routes.h"
#include "scheduler/may_spin.h"

namespace mpc::msg {

constinit bool g_has_outside = false;
constinit std::atomic<bool> g_cares_for_posted{false};

namespace {

constinit sched::Demand* g_demand = nullptr;  // while g_has_outside

// Null: the calling execution acts for no rank.
Mailbox* mailbox_of_caller() noexcept {
  auto* const rank = static_cast<job::Rank*>(sched::Execution::self().identity());
  return rank != nullptr ? rank->mailbox : nullptr;
}

class Account final : public sched::DemandAccount {
  bool may_help_caller() noexcept override {
    const Mailbox* const mine = mailbox_of_caller();
    return mine != nullptr && mine->outside.may_help(*mine);
  }
  void look_away(bool is_over) noexcept override {
    if (Mailbox* const mine = mailbox_of_caller())
      mine->outside.look_away(*mine, is_over);
  }
};
constinit Account g_account;

// The caller is a rank that has started the operation in a call that continues, or while it polls.
bool looks_soon(const Mailbox& mine) noexcept {
  return !ShortCall::is_inside() && is_main(mine, sched::Execution::self());
}

}  // namespace

sched::DemandAccount& Outside::open(sched::Demand& demand) noexcept {
  g_demand = &demand;
  g_has_outside = true;
  g_cares_for_posted.store(true, std::memory_order_relaxed);
  return g_account;
}

void Outside::close() noexcept { g_has_outside = false; }

// ---- the senders ----------------------------------------------------------------------------

void Outside::add_senders(ContextId context, const int* world_ranks) {
  const Locked locked(lock_);
  senders_[context] = world_ranks;
  changes_.fetch_add(1, std::memory_order_release);
}

void Outside::remove_senders(ContextId context) noexcept {
  const Locked locked(lock_);
  senders_.erase(context);
  changes_.fetch_add(1, std::memory_order_release);
}

void Outside::find_sender(const Mailbox& mine, ContextId context, int source) {
  const Locked locked(lock_);
  last_changes_ = changes_.load(std::memory_order_relaxed);
  last_context_ = context;
  last_source_ = source;
  last_process_ = -1;
  const auto found = senders_.find(context);
  if (found == senders_.end() || found->second == nullptr) return;
  const int process = process_of(found->second[source]);
  if (process != process_of(mine.world_rank)) last_process_ = process;
}

void add_senders(job::Rank& self, ContextId context, const int* world_ranks) {
  if (self.mailbox != nullptr) self.mailbox->outside.add_senders(context, world_ranks);
}

void remove_senders(job::Rank& self, ContextId context) noexcept {
  if (self.mailbox != nullptr) self.mailbox->outside.remove_senders(context);
}

bool Outside::may_come_from_outside(const Mailbox& mine, ContextId context,
                                    int source) {
  // Under the lock: the receive may have been filled since it was posted, and the rank may free its communicator
  // while a thread that polls is still here.
  const Locked locked(lock_);
  const auto found = senders_.find(context);
  if (found == senders_.end() || found->second == nullptr) return false;
  return source == kAnySource ||
         process_of(found->second[source]) != process_of(mine.world_rank);
}

// ---- demand ---------------------------------------------------------------------------------

bool Outside::awaits_any(const Mailbox& mine) const noexcept {
  // Relaxed: whatever matters has been acquired before; see the header.
  return operations_.load(std::memory_order_relaxed) != 0 ||
         (has_posted_.load(std::memory_order_relaxed) && !mine.posted.empty());
}

void Outside::raise(Raised to) noexcept {
  Raised before = raised_.load(std::memory_order_relaxed);
  // Also where nothing changes: see the header, 1.
  while (!raised_.compare_exchange_weak(before, std::max(before, to),
                                        std::memory_order_acq_rel,
                                        std::memory_order_relaxed)) {
  }
  if (before == kNothing) {
    g_demand->raise(1, urgency_of(to));
  } else if (before < to) {
    g_demand->hasten();
  }
}

void Outside::lower(Mailbox& mine) noexcept {
  if (raised_.load(std::memory_order_relaxed) == kNothing) return;
  const Raised before = raised_.exchange(kNothing, std::memory_order_acq_rel);
  if (before == kNothing) return;
  g_demand->lower(1, urgency_of(before));
  if (awaits_any(mine)) raise(kUrgent);
}

void Outside::note_posted(Mailbox& mine, ContextId context, int source, bool is_awaited,
                          bool is_long) noexcept {
  const bool is_outside =
      source != kAnySource && is_main(mine, sched::Execution::self())
          ? process_of_sender(mine, context, source) >= 0
          : may_come_from_outside(mine, context, source);
  if (!is_outside) return;
  // Release pairs with look_away(): the receive is in the queue.
  has_posted_.store(true, std::memory_order_release);
  if (is_long) has_long_.store(true, std::memory_order_relaxed);
  if (is_awaited ? sched::may_spin() : looks_soon(mine)) return;
  raise(is_long ? kUrgent : kCanWait);
  note_end(mine);  // it may have been filled before it was counted as demand
}

void Outside::note_started(Mailbox& mine) noexcept {
  if (!g_has_outside || looks_soon(mine)) return;
  raise(kUrgent);
  note_end(mine);
}

void Outside::come_by(bool asks_again) noexcept {
  constexpr uint64_t kAtOnceNs = 1'000;
  const uint64_t now_ns = sched::now_ns();
  // Relaxed, of any thread of the rank: a hint.
  const uint64_t before_ns = came_by_ns_.load(std::memory_order_relaxed);
  const bool is_again = asks_again && now_ns < before_ns + kAtOnceNs;
  const bool has_polled = g_demand->come_by(now_ns, is_again);
  // Without the time for which another process had the core.
  came_by_ns_.store(has_polled ? sched::now_ns() : now_ns, std::memory_order_relaxed);
}

void Outside::note_rank_end() noexcept {
  const Raised before = raised_.exchange(kNothing, std::memory_order_acq_rel);
  if (before != kNothing) g_demand->lower(1, urgency_of(before));
}

// A rank that waits with no receive posted waits for a send, a probe, or an agreement of processes;
// or for ranks of its own process, which it says.
bool Outside::may_help(const Mailbox& mine) const noexcept {
  if (is_main(mine, sched::Execution::self()) && waits_inside_) return awaits_any(mine);
  return has_posted_.load(std::memory_order_relaxed) || mine.posted.empty() ||
         operations_.load(std::memory_order_relaxed) != 0;
}

void Outside::look_away(Mailbox& mine, bool is_over) noexcept {
  if (!is_over && may_help(mine)) return raise(kUrgent);
  if (mine.posted.empty() && has_posted_.load(std::memory_order_relaxed) &&
      has_posted_.exchange(false, std::memory_order_acq_rel)) {
    if (mine.posted.empty())
      has_long_.store(false, std::memory_order_relaxed);
    else
      has_posted_.store(true, std::memory_order_release);  // posted in between
  }
  if (awaits_any(mine)) {
    const bool is_urgent = has_long_.load(std::memory_order_relaxed) ||
                           operations_.load(std::memory_order_relaxed) != 0;
    raise(is_urgent ? kUrgent : kCanWait);
  } else {
    lower(mine);
  }
}

// ---- control messages -------------------------------------------------------------------------

void begin_to_serve() noexcept {
  if (g_has_outside) g_demand->raise(1, sched::Urgency::kCanWait);
}

void end_to_serve() noexcept {
  if (g_has_outside) g_demand->lower(1, sched::Urgency::kCanWait);
}

void serve_at_once() noexcept {
  if (g_has_outside) g_demand->call_now();
}

namespace {

// Counts as an operation until it holds, not until its wait is over: then nothing is urgent any more
// when the caller stops polling. Called by the execution that waits.
struct Awaited {
  Predicate ready;
  void* argument;
  Outside& outside;
  bool is_over = false;

  static bool holds(void* awaited) {
    auto& self = *static_cast<Awaited*>(awaited);
    if (self.is_over) return true;
    if (!self.ready(self.argument)) return false;
    self.outside.forget_operation();
    self.is_over = true;
    return true;
  }
};

}  // namespace

void wait_for_control(job::Rank& self, Predicate ready, void* argument,
                      const sched::WaitReason& why) {
  if (ready(argument)) return;
  Mailbox& mine = mailbox_of(self);
  Awaited awaited{ready, argument, mine.outside};
  mine.outside.begin_operation();
  wait_until(self, nullptr, 0, &Awaited::holds, &awaited, why);
  mine.outside.note_end(mine);
}

void wait_for_message(job::Rank& self, ContextId context, int source, Predicate ready,
                      void* argument, const sched::WaitReason& why) {
  if (g_has_outside &&
      mailbox_of(self).outside.may_come_from_outside(mailbox_of(self), context, source))
    return wait_for_control(self, ready, argument, why);
  wait_until(self, nullptr, 0, ready, argument, why);
}

}  // namespace mpc::msg
