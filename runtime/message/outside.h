#pragma once
// Outside: what a rank expects from other processes.
//
// Role:      knows whether another process may fill a receive. So a wait polls the network at
//            once, or first checks for messages of its own process; and the scheduler's demand is
//            raised while the rank computes or sleeps and an arrival may advance an operation.
// Users:     runtime/message; mpi/objects/comm says which communicators span processes.
// Threads:   any.
// See also:  scheduler/poll/demand.h, docs/design/0020-polling.md, section "Demand".
//
// No demand is lost, except for what 0020 says. A rank has one unit of demand, `raised_`.
//  1. A thread that starts an operation first makes it count (`posted`, operations_) and then
//     raises. A thread that finds nothing left first lowers and then checks again whether anything
//     counts. Both raise and lower by a read-modify-write of `raised_`. Either the starter's is
//     the later one: it finds the unit lowered and raises it. Or the other thread's is: it reads
//     what the starter has written, so it sees what counts, and raises again.
//     A wait for what is no operation, as in a probe, counts as one: wait_for_message(), wait_for_control().
//  2. A rank that starts an operation within a call does not raise at once: it
//     will poll itself, and raises when it stops polling. Arming the network
//     for the time in between would cost more than a message takes.

#include <atomic>
#include <unordered_map>

#include "base/spin_lock.h"
#include "base/thread_safety.h"
#include "runtime/job/rank.h"
#include "runtime/message/request.h"
#include "scheduler/poll/demand.h"

namespace mpc::msg {

struct Mailbox;

// There are other processes, and a network that must be polled. Constant while ranks run.
[[gnu::visibility("hidden")]] extern bool g_has_outside;
// The same, or what a receive waits for may be lost (runtime/message/losses.h): one load for both.
// relaxed: set before there is anything that it is asked for.
[[gnu::visibility("hidden")]] extern std::atomic<bool> g_cares_for_posted;

class Outside {
 public:
  // From now on it raises and lowers this demand. The result
  // is for the poller that owns the demand.
  // Caller: a kernel thread, before ranks run; close() when none runs any more.
  static sched::DemandAccount& open(sched::Demand& demand) noexcept;
  static void close() noexcept;

  // See the functions of these names below.
  void add_senders(ContextId context, const int* world_ranks);
  void remove_senders(ContextId context) noexcept;
  // May a message of another process match this? Caller: any.
  bool may_come_from_outside(const Mailbox& mine, ContextId context, int source);
  // The process of this sender; -1: this process, or it is unknown. Caller: the rank's main execution. Cost: three
  // loads, if the last call was for the same sender.
  int process_of_sender(const Mailbox& mine, ContextId context, int source) {
    if (context != last_context_ || source != last_source_ ||
        changes_.load(std::memory_order_acquire) != last_changes_) [[unlikely]]
      find_sender(mine, context, source);
    return last_process_;
  }

  // A receive is in the posted queue. is_awaited: its caller waits for it; is_long: it has room for a message
  // that cannot come before its receiver is there.
  // Caller: the execution that has posted it, without locks.
  void note_posted(Mailbox& mine, ContextId context, int source, bool is_awaited,
                   bool is_long) noexcept;
  // Counts a send or a fetch that another process will end, before it can end. Caller: any.
  void begin_operation() noexcept {
    operations_.fetch_add(1, std::memory_order_relaxed);
  }
  void end_operation(Mailbox& mine) noexcept {
    forget_operation();
    note_end(mine);
  }
  // Its caller calls note_end() or look_away() later.
  void forget_operation() noexcept {
    operations_.fetch_sub(1, std::memory_order_acq_rel);
  }
  // Called after such a send. Caller: the sender, without locks.
  void note_started(Mailbox& mine) noexcept;
  // An operation of the rank has advanced. Caller: any.
  void note_end(Mailbox& mine) noexcept {
    if (raised_.load(std::memory_order_relaxed) != kNothing && !awaits_any(mine))
      lower(mine);
  }
  // The caller is about to park. note_end() follows. has_polled: what was urgent was raised when it stopped;
  // otherwise it is a thread that the rank has made, which does not poll.
  void begin_rest(Mailbox& mine, bool has_polled) noexcept {
    if (may_help(mine)) raise(has_polled ? kCanWait : kUrgent);
  }
  // The caller, any thread of the rank, tests something, and may do so again after a while: it polls, unless
  // another thread has done so lately. asks_again: it does nothing else, and polls sooner if it was here a moment ago.
  void come_by(bool asks_again) noexcept;
  // The rank ends, and its operations under way are forgotten.
  void note_rank_end() noexcept;

  // From now on the rank's main execution waits only for its own process, or (off) no longer does.
  // Caller: that execution.
  void set_waits_inside(bool on) noexcept { waits_inside_ = on; }
  // As in DemandAccount, for an execution of the mailbox's owner.
  bool may_help(const Mailbox& mine) const noexcept;

  uint32_t quick_turns = 0;  // see quick_remote.cpp; the main execution's

  void look_away(Mailbox& mine, bool is_over) noexcept;

 private:
  bool awaits_any(const Mailbox& mine) const noexcept;
  // The unit: not raised; raised for what can wait; raised for what is urgent, too.
  enum Raised : uint8_t { kNothing, kCanWait, kUrgent };
  static sched::Urgency urgency_of(Raised raised) noexcept {
    return raised == kUrgent ? sched::Urgency::kNow : sched::Urgency::kCanWait;
  }
  void raise(Raised to) noexcept;
  void lower(Mailbox& mine) noexcept;

  std::atomic<Raised> raised_{kNothing};
  // A receive that another process may fill has been posted since the queue was last seen empty.
  std::atomic<bool> has_posted_{false};
  std::atomic<bool> has_long_{false};  // one of them is long
  std::atomic<int> operations_{0};
  std::atomic<uint64_t> came_by_ns_{0};  // see come_by()
  bool waits_inside_ = false;            // read and written by the main execution
  SpinLock<> lock_;
  std::unordered_map<ContextId, const int*> senders_ MPC_GUARDED_BY(lock_);
  void find_sender(const Mailbox& mine, ContextId context, int source);
  std::atomic<uint32_t> changes_{
      1};  // of senders_; release pairs with process_of_sender()
  // What process_of_sender() has found, when `changes_` was last_changes_. The main execution's.
  ContextId last_context_ = 0;
  int last_source_ = 0, last_process_ = -1;
  uint32_t last_changes_ = 0;
};

// Registers a communicator whose members live in several processes: their world ranks, by rank in
// it. Other communicators are not registered. Ownership: the array must exist until it is removed.
// Caller: any execution of the rank; no receive uses this context yet, or any more.
void add_senders(job::Rank& self, ContextId context, const int* world_ranks);
void remove_senders(job::Rank& self, ContextId context) noexcept;

}  // namespace mpc::msg
