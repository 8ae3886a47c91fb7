#pragma once
// Engine: plays schedules over runtime/message.
//
// Role:      binds buffers, types and the operation to a Schedule, starts ready nodes, lets
//            the counters of successors fall, completes the collective.
// Users:     mpi (blocking, non-blocking and persistent collectives).
// Threads:   start() by the owning rank; completions of nodes arrive on any execution; nodes
//            that run user code (a user's reduction) run as the owning rank.
// See also:  nbc/engine/binding.h (what a start binds), nbc/schedule/schedule.h,
//            runtime/message/message.h, docs/completion.md.

#include <memory>

#include "nbc/engine/binding.h"
#include "runtime/job/rank.h"

namespace mpc::nbc {

struct Collective;  // one schedule in flight; reusable for persistent collectives
struct CollectiveDeleter {
  void operator()(Collective*) const noexcept;
};
using CollectivePtr = std::unique_ptr<Collective, CollectiveDeleter>;

// Not started yet. Caller: the owning rank. Ownership: keeps the schedule.
// Errors: null if there is no memory.
// Dropping the pointer: by the owning rank, when never started or complete; waits the few
// instructions in which a completer still refers to it. It then goes back to the rank's pool.
CollectivePtr create(job::Rank& self, std::shared_ptr<const Schedule> schedule,
                     const Binding& binding);
// Starts (again, once the start before is complete). Never waits. Caller: the owning rank.
// Switches: no.
void start(Collective& collective);
// Order: acquire; the buffers are as the collective leaves them.
bool is_complete(const Collective& collective) noexcept;
// First error of a node, if any. Valid once complete.
const msg::Status& status(const Collective& collective) noexcept;
// `fn` is called by the execution that completes it (any) when is_complete() has turned true; then
// msg::notify() wakes the rank, unless that is still in start(). Short, must not wait, must not drop the
// collective; `argument` must live until the collective has been dropped. Set before start();
// stays for later starts.
void set_on_complete(Collective& collective, void (*fn)(void*), void* argument);

class RankEngine;

// While it lives the caller is in a function of the user that no schedule calls, and nobody else
// of its rank is in one. May be nested.
// Caller: an execution of `self`. Switches: waits for the execution that is in one; and as
// progress_rank(). Errors: none, so that a rank without memory for it ends the process.
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
// Returns true if anything happened.
bool progress_rank(job::Rank& self);

// Blocking: start and wait, without allocation once the rank's pool is warm.
// Ownership: schedule and binding are the caller's and stay for the call. Switches: yes.
// Errors: in the status; kNoMem, and what a message may fail with.
msg::Status run(job::Rank& self, const Schedule& schedule, const Binding& binding,
                const sched::WaitReason& why);

// Frees the rank's pool. Called at the end of a rank; harmless if there is none.
void forget_rank(job::Rank& self) noexcept;

}  // namespace mpc::nbc
