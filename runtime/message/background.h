#pragma once
// Background: copies that a rank leaves to its progress thread.
//
// Role:      a non-blocking call that has found the other side gives the copy to a free core
//            and returns. A thread that waits for such a copy before it has begun makes it itself.
// Users:     runtime/message (Work, the waits), nbc/engine (starts), mpi (starts).
// Threads:   see each function.
// See also:  scheduler/progress/progress.h, docs/overlap.md.

#include "runtime/job/rank.h"
#include "runtime/message/request.h"

namespace mpc::msg {

// While this object lives, the execution is in a call that should return soon: long copies that it
// finds are left to progress threads, if there is a core for them. May be nested.
class ShortCall {
 public:
  ShortCall() noexcept : outer_(t_inside) { t_inside = true; }
  ~ShortCall() { t_inside = outer_; }
  ShortCall(const ShortCall&) = delete;
  ShortCall& operator=(const ShortCall&) = delete;

  static bool is_inside() noexcept { return t_inside; }

 private:
  // Belongs to the user-level thread, as every thread_local here.
  static thread_local constinit bool t_inside
      __attribute__((tls_model("initial-exec")));
  const bool outer_;
};

// Leaves the copy of `message` into `receive` to the receiver's progress
// thread, or to the sender's if that can begin sooner. False: the caller must
// make it. `has_more`: the caller has other work after this.
// Caller: Work, which owns both operations.
bool leave_to_progress(Operation& receive, Entry& message, bool has_more) noexcept;

// Called after an item was left to `rank`'s progress thread: if that thread
// naps and the rank itself waits anyway, on a core that is awake, the rank
// is told to check. Caller: any execution. Switches: no.
void call_waiting(job::Rank& rank) noexcept;

// Do ranks that wait take part? (setting progress.help)
bool waits_help() noexcept;

// Where the data of an operation between these ranks, of so many bytes in all, are likely to be,
// from the point of view of the caller's core.
sched::ProgressData place_of_data(const job::Rank& a, const job::Rank& b,
                                  int64_t bytes) noexcept;

// Before a wait for `op`: makes its copy, if that lies in a queue. True if so. Most are in none.
bool take_back_from(sched::ProgressThread& progress, Operation& op) noexcept;
inline bool take_back(Operation& op) noexcept {
  // Acquire pairs with leave_to_progress().
  sched::ProgressThread* const progress = op.background.load(std::memory_order_acquire);
  return progress != nullptr && take_back_from(*progress, op);
}

// Does one piece of the rank's own background work. True if there was one. Each wait calls this,
// mostly in vain.
bool do_own_progress(job::Rank& self) noexcept;
inline bool help_progress(job::Rank& self) noexcept {
  return self.progress != nullptr && self.progress->has_items() &&
         do_own_progress(self);
}

// At the end of a non-blocking start whose operation continues: from now on senders to
// this rank also match for it. Caller: an execution of `self`. Switches: no.
void leave(job::Rank& self);

}  // namespace mpc::msg
