#include "runtime/message/notify.h"

#include "base/check.h"
#include "runtime/message/message.h"
#include "runtime/message/waiter.h"
#include "scheduler/execution.h"

namespace mpc::msg {
namespace {

constexpr int kMaxHooks = 8;
ProgressHook g_hooks[kMaxHooks];
std::atomic<int> g_hook_count{0};

// Relaxed: the rank may end at this moment. The mailbox itself exists until all ranks have ended.
Mailbox* mailbox_hint(const job::Rank& rank) noexcept {
  return std::atomic_ref(const_cast<Mailbox*&>(rank.mailbox))
      .load(std::memory_order_relaxed);
}

}  // namespace

void add_progress_hook(ProgressHook hook) {
  const int n = g_hook_count.load(std::memory_order_relaxed);
  CHECK(n < kMaxHooks, "too many progress hooks");
  g_hooks[n] = hook;
  g_hook_count.store(n + 1, std::memory_order_release);  // pairs with call_hooks()
}

bool call_hooks(Mailbox& mine) noexcept {
  // acq_rel pairs with notify(): what is to be checked.
  if (!mine.attention.exchange(false, std::memory_order_acq_rel)) return false;
  const int n = g_hook_count.load(std::memory_order_acquire);
  for (int i = 0; i < n; ++i) g_hooks[i](*mine.owner.load(std::memory_order_relaxed));
  return true;
}

namespace {

void unpark_others(Mailbox& mine) {
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

}  // namespace

void notify(job::Rank& self) {
  Mailbox* const mailbox = mailbox_hint(self);
  if (mailbox == nullptr) return;
  mailbox->attention.store(true, std::memory_order_release);  // pairs with call_hooks()
  if (self.execution != nullptr) self.execution->unpark();
  unpark_others(*mailbox);
}

void notify_waits(job::Rank& self) {
  if (self.execution != &sched::Execution::self()) return notify(self);
  if (Mailbox* const mine = mailbox_hint(self)) unpark_others(*mine);
}

bool is_parked(const job::Rank& self) noexcept {
  const Mailbox* const mailbox = mailbox_hint(self);
  return mailbox != nullptr && mailbox->is_parking.load(std::memory_order_relaxed) &&
         self.execution != nullptr && self.execution->is_parked();
}

bool is_parked_idly(const job::Rank& self) noexcept {
  return is_parked(self) && self.execution->is_on_idle_core();
}

// Whatever the caller has left for the hooks is run: unpark() has synchronised with the rank's
// park(), whose return is followed by run_hooks(). If that park() was a different one, as in a
// sleep, then is_parking, written before it, is false here.
bool call_parked(job::Rank& self) {
  Mailbox* const mine = mailbox_hint(self);
  if (mine == nullptr || self.execution == nullptr) return false;
  mine->attention.store(true, std::memory_order_release);  // pairs with call_hooks()
  return self.execution->unpark() && mine->is_parking.load(std::memory_order_relaxed);
}

}  // namespace mpc::msg
