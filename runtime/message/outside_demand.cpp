#include "runtime/message/outside.h"

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
}

void Outside::remove_senders(ContextId context) noexcept {
  const Locked locked(lock_);
  senders_.erase(context);
}

void add_senders(job::Rank& self, ContextId context, const int* world_ranks) {
  if (self.mailbox != nullptr) self.mailbox->outside.add_senders(context, world_ranks);
}

void remove_senders(job::Rank& self, ContextId context) noexcept {
  if (self.mailbox != nullptr) self.mailbox->outside.remove_senders(context);
}

bool Outside::may_come_from_outside(const Mailbox& mine, ContextId context,
                                    int source) {
  const int* world_ranks = nullptr;
  {
    const Locked locked(lock_);
    if (const auto found = senders_.find(context); found != senders_.end())
      world_ranks = found->second;
  }
  if (world_ranks == nullptr) return false;
  return source == kAnySource ||
         process_of(world_ranks[source]) != process_of(mine.world_rank);
}

// ---- demand ---------------------------------------------------------------------------------

bool Outside::awaits_any(const Mailbox& mine) const noexcept {
  // Relaxed: whatever matters has been acquired before; see the header.
  return operations_.load(std::memory_order_relaxed) != 0 ||
         (has_posted_.load(std::memory_order_relaxed) && !mine.posted.empty());
}

void Outside::raise() noexcept {
  if (is_raised_.exchange(true, std::memory_order_acq_rel)) return;
  g_demand->raise();
}

void Outside::lower(Mailbox& mine) noexcept {
  if (!is_raised_.load(std::memory_order_relaxed) ||
      !is_raised_.exchange(false, std::memory_order_acq_rel))
    return;
  g_demand->lower();
  if (awaits_any(mine)) raise();
}

void Outside::note_posted(Mailbox& mine, ContextId context, int source,
                          bool is_awaited) noexcept {
  if (!may_come_from_outside(mine, context, source)) return;
  // Release pairs with look_away(): the receive is in the queue.
  has_posted_.store(true, std::memory_order_release);
  if (is_awaited ? sched::may_spin() : looks_soon(mine)) return;
  raise();
  note_end(mine);  // it may have been filled before it was counted as demand
}

void Outside::note_started(Mailbox& mine) noexcept {
  if (!g_has_outside || looks_soon(mine)) return;
  raise();
  note_end(mine);
}

void Outside::note_rank_end() noexcept {
  if (is_raised_.exchange(false, std::memory_order_acq_rel)) g_demand->lower();
}

// A rank that waits with no receive posted waits for a send, a probe, or an agreement of processes;
// or for ranks of its own process, which it says.
bool Outside::may_help(const Mailbox& mine) const noexcept {
  if (is_main(mine, sched::Execution::self()) && waits_inside_) return awaits_any(mine);
  return has_posted_.load(std::memory_order_relaxed) || mine.posted.empty() ||
         operations_.load(std::memory_order_relaxed) != 0;
}

void Outside::look_away(Mailbox& mine, bool is_over) noexcept {
  if (!is_over && may_help(mine)) return raise();
  if (mine.posted.empty() && has_posted_.load(std::memory_order_relaxed) &&
      has_posted_.exchange(false, std::memory_order_acq_rel) && !mine.posted.empty())
    has_posted_.store(true, std::memory_order_release);  // posted in between
  if (awaits_any(mine)) {
    raise();
  } else {
    lower(mine);
  }
}

// ---- control messages -------------------------------------------------------------------------

void begin_to_serve() noexcept {
  if (g_has_outside) g_demand->raise();
}

void end_to_serve() noexcept {
  if (g_has_outside) g_demand->lower();
}

void wait_for_control(job::Rank& self, Predicate ready, void* argument,
                      const sched::WaitReason& why) {
  if (ready(argument)) return;
  Mailbox& mine = mailbox_of(self);
  mine.outside.begin_operation();
  wait_until(self, nullptr, 0, ready, argument, why);
  mine.outside.end_operation(mine);
}

}  // namespace mpc::msg
