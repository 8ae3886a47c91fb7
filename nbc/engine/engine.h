#pragma once
// Engine: executes schedules over runtime/message.
//
// Role:      binds buffers, types and the operation to a Schedule, starts ready nodes, decrements
//            the counters of successors, completes the collective.
// Users:     mpi (blocking, non-blocking and persistent collectives).
// Threads:   start() by the owning rank; completions of nodes arrive on any execution; nodes
//            that run user code (a user's reduction) run as the owning rank.
// See also:  nbc/engine/binding.h (what a start binds), nbc/schedule/schedule.h,
//            runtime/message/message.h, docs/completion.md.

#include <memory>

#include "nbc/engine/binding.h"
#include "runtime/job/rank.h"

namespace mpc::nbc {

struct Collective;  // a schedule in flight; reusable for persistent collectives
struct CollectiveDeleter {
  void operator()(Collective*) const noexcept;
};
using CollectivePtr = std::unique_ptr<Collective, CollectiveDeleter>;

// Creates a collective that is not started yet. Caller: the
// owning rank. Ownership: retains the schedule.
// Errors: null if there is no memory.
// The owning rank may drop the pointer when the collective was never started
// or is complete; this waits for the few instructions in which a completer
// still refers to it. It then returns to the rank's pool.
CollectivePtr create(job::Rank& self, std::shared_ptr<const Schedule> schedule,
                     const Binding& binding);
// Starts it (again, once the previous start is complete). Never waits. Caller: the owning rank.
// Switches: no.
void start(Collective& collective);
// Order: acquire; the buffers are as the collective leaves them.
bool is_complete(const Collective& collective) noexcept;
// The first error of a node, if any. Valid once complete.
const msg::Status& status(const Collective& collective) noexcept;
// The execution that completes the collective (any) calls `fn` when is_complete() has become true;
// then msg::notify() wakes the rank, unless it is still in start(). `fn` must be short, must not
// wait, and must not drop the collective. `argument` must live until the collective has been
// dropped. Set before start(); stays for later starts.
void set_on_complete(Collective& collective, void (*fn)(void*), void* argument);

class RankEngine;

// While this object lives the caller is in a user's function that no schedule calls, and no other
// execution of its rank is in one. May be nested.
// Caller: an execution of `self`. Switches: waits for the execution that is in one; and as
// progress_rank(). Errors: none; if the rank has no memory for it the process ends.
class UserCode {
 public:
  explicit UserCode(job::Rank& self);
  ~UserCode();
  UserCode(const UserCode&) = delete;
  UserCode& operator=(const UserCode&) = delete;

 private:
  RankEngine& engine_;
  bool is_outermost_ = false;
};

// Runs what must run on the owning rank: user reductions, and large local work of collectives
// that the rank is waiting for. A progress hook of runtime/message calls it in every wait.
// Caller: an execution of `self`. Switches: only if a user's function does.
// Returns true if anything was done.
bool progress_rank(job::Rank& self);

// Blocking call: starts and waits, without allocation once the rank's pool is warm.
// Ownership: schedule and binding belong to the caller and outlive the call. Switches: yes.
// Errors: in the status; kNoMem, and the errors of messages.
msg::Status run(job::Rank& self, const Schedule& schedule, const Binding& binding,
                const sched::WaitReason& why);

// Frees the rank's pool. Called at the end of a rank; has no effect if there is none.
void forget_rank(job::Rank& self) noexcept;

}  // namespace mpc::nbc
