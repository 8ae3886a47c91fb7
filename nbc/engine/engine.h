#pragma once
// Engine: plays schedules over runtime/message.
//
// Role:      binds buffers, types and the operation to a Schedule, starts ready nodes, lets
//            the counters of successors fall, completes the collective.
// Users:     mpi (blocking, non-blocking and persistent collectives).
// Threads:   start() by the owning rank; completions of nodes arrive on any execution; nodes
//            that run user code (a user's reduction) run as the owning rank.
// See also:  nbc/schedule/schedule.h, runtime/message/message.h.

#include <memory>
#include <span>

#include "nbc/schedule/schedule.h"
#include "runtime/job/rank.h"
#include "runtime/message/message.h"

namespace mpc::nbc {

// How a reduction is applied: a predefined kernel, or a user's function with its datatype
// handle. inout = in op inout, n elements.
struct Reduction {
  void (*apply)(void* context, const void* in, void* inout, Count n) = nullptr;
  void* context = nullptr;
  bool is_user = false;  // must run as the owning rank; see may_run_in_background
  bool commutative = true;
  // Optional: out = a op b. `out` overlaps neither.
  void (*apply3)(void* context, const void* a, const void* b, void* out,
                 Count n) = nullptr;
  // Of a user's function: also on the rank's progress thread, while the rank computes. Otherwise in
  // calls of the rank only. The same for all that a rank has in flight.
  bool may_run_in_background = false;
};

// What a start binds. create() copies the two spans' elements; what they point to, and
// world_ranks, must stay valid until the collective is complete. See nbc/algorithms/collectives.h
// for which buffers and types a collective wants.
struct Binding {
  std::span<void* const> buffers;              // by slot (slot kScratch is ignored)
  std::span<const dt::Datatype* const> types;  // by Place::type
  Reduction reduction;
  std::span<const int> world_ranks;  // communicator rank -> world rank
  int my_rank = 0;                   // in the communicator
  msg::ContextId context = 0;        // of the communicator's collectives
  int tag_base = 0;                  // same at all members for this collective
  // A message that is shorter than its receive is an error (kCount), as a longer one is.
  bool needs_whole_messages = false;
};

class Collective;  // one schedule in flight; reusable for persistent collectives
struct CollectiveDeleter {
  void operator()(Collective*) const noexcept;
};
using CollectivePtr = std::unique_ptr<Collective, CollectiveDeleter>;

// Caller: the owning rank. Ownership: keeps the schedule. Not started yet.
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
// Called by whoever completes it (any execution) when is_complete() has turned true; then
// msg::notify() wakes the rank, in any case. Short, must not wait, must not drop the
// collective; `argument` must live until the collective has been dropped. Set before start();
// stays for later starts.
void set_on_complete(Collective& collective, void (*fn)(void*), void* argument);

class RankState;

// While it lives the caller is in a function of the user that no schedule calls, and nobody else
// of its rank is in one. May be nested.
// Caller: an execution of `self`. Switches: waits for who is in one; and as help().
class UserCode {
 public:
  explicit UserCode(job::Rank& self);
  ~UserCode();
  UserCode(const UserCode&) = delete;
  UserCode& operator=(const UserCode&) = delete;

 private:
  RankState& state_;
  bool is_outermost_ = false;
};

// Runs what must run on the owning rank: user reductions, and large local work of collectives
// that the rank is waiting for. A progress hook of runtime/message calls it in every wait.
// Caller: an execution of `self`. Switches: only if a user's function does.
// Returns true if anything happened.
bool help(job::Rank& self);
// The same for another execution while the rank computes; leaves what only the rank may run.
bool help_in_background(job::Rank& rank);

// Blocking: start and wait, without allocation once the rank's pool is warm.
// Ownership: schedule and binding are the caller's and stay for the call. Switches: yes.
msg::Status run(job::Rank& self, const Schedule& schedule, const Binding& binding,
                const sched::WaitReason& why);

// Frees the rank's pool. Called at the end of a rank; harmless if there is none.
void forget_rank(job::Rank& self) noexcept;

}  // namespace mpc::nbc
