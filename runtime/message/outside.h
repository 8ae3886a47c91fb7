#pragma once
// Outside: what a rank awaits from other processes.
//
// Role:      knows of a receive whether another process may fill it. So a wait polls the network at
//            once, or first looks for messages of its own process; and the scheduler's demand is
//            raised while the rank computes or sleeps and something outside may move it on.
// Users:     runtime/message; mpi/objects/comm says which communicators span processes.
// Threads:   any.
// See also:  scheduler/poll/demand.h, docs/design/0020-polling.md, section "Demand".
//
// No demand is lost, except for what is said in 0020. A rank has one unit of demand, `is_raised_`.
//  1. Whoever starts something first makes it count (`posted`, operations_) and then raises; whoever
//     finds nothing left first lowers and then looks again whether something counts. Both raise and
//     lower by a read-modify-write of `is_raised_`. Either the starter's is the later one: it finds the
//     unit lowered and raises it. Or the looker's is: it reads what the starter has written, so sees
//     what counts, and raises again.
//  2. A rank that starts something within a call does not raise at once: it will look for itself, and
//     raises when it looks away. Arming the network for the time in between would cost more than a
//     message takes.

#include <atomic>
#include <unordered_map>

#include "base/spin_lock.h"
#include "base/thread_safety.h"
#include "runtime/job/rank.h"
#include "runtime/message/request.h"
#include "scheduler/poll/demand.h"

namespace mpc::msg {

struct Mailbox;

// There are other processes, and a network to them that somebody has to poll. Constant while ranks run.
[[gnu::visibility("hidden")]] extern bool g_has_outside;

class Outside {
 public:
  // From now on it raises and lowers this demand. The result is for the poller whose demand it is.
  // Caller: a kernel thread, before ranks run; close() when none runs any more.
  static sched::DemandAccount& open(sched::Demand& demand) noexcept;
  static void close() noexcept;

  // See the functions of these names below.
  void add_senders(ContextId context, const int* world_ranks);
  void remove_senders(ContextId context) noexcept;
  // May a message of another process match this? Caller: any.
  bool may_come_from_outside(const Mailbox& mine, ContextId context, int source);

  // A receive stands in the posted queue. is_awaited: its caller waits for it.
  // Caller: an execution that has posted it, without locks.
  [[gnu::cold]] void note_posted(Mailbox& mine, ContextId context, int source,
                                 bool is_awaited) noexcept;
  // A send or a fetch that another process will end; begun before it can end. Caller: any.
  void begin_operation() noexcept {
    operations_.fetch_add(1, std::memory_order_relaxed);
  }
  void end_operation(Mailbox& mine) noexcept {
    operations_.fetch_sub(1, std::memory_order_acq_rel);
    note_end(mine);
  }
  // After such a send. Caller: the sender, without locks.
  void note_started(Mailbox& mine) noexcept;
  // Something of the rank has been moved on. Caller: any.
  void note_end(Mailbox& mine) noexcept {
    if (is_raised_.load(std::memory_order_relaxed) && !awaits_any(mine)) lower(mine);
  }
  // The rank ends, and what it has under way is forgotten.
  void note_rank_end() noexcept;

  // From now on the rank's main execution waits for its own process only, or no more.
  // Caller: that one.
  void set_waits_inside(bool on) noexcept { waits_inside_ = on; }
  // As DemandAccount has it, for an execution of the mailbox's owner.
  bool may_help(const Mailbox& mine) const noexcept;
  void look_away(Mailbox& mine, bool is_over) noexcept;

 private:
  bool awaits_any(const Mailbox& mine) const noexcept;
  void raise() noexcept;
  void lower(Mailbox& mine) noexcept;

  std::atomic<bool> is_raised_{false};
  // A receive that another process may fill has been posted since the queue was last seen empty.
  std::atomic<bool> has_posted_{false};
  std::atomic<int> operations_{0};
  bool waits_inside_ = false;  // read and written by the main execution
  SpinLock<> lock_;
  std::unordered_map<ContextId, const int*> senders_ MPC_GUARDED_BY(lock_);
};

// A communicator whose members live in several processes: their world ranks, by rank in it. Of others
// nothing is said. Ownership: the ranks stay until they are removed.
// Caller: any execution of the rank; nobody receives in this context yet, or any more.
void add_senders(job::Rank& self, ContextId context, const int* world_ranks);
void remove_senders(job::Rank& self, ContextId context) noexcept;

}  // namespace mpc::msg
