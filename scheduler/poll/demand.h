#pragma once
// Demand: how many operations an arrival from outside could advance while nobody polls.
//
// Role:      the condition under which ranks that compute are interrupted (net.interrupts=auto): a
//            posted receive that a message of another process may fill, an offer or a fetch under
//            way, a question that waits for its answer. Until it is raised for the first time
//            nobody counts it, and every arrival interrupts.
// Users:     scheduler/poll reads it; runtime/message counts (outside.h).
// Threads:   any.
// See also:  scheduler/poll/poller.h, docs/design/0020-polling.md.

#include <cstdint>

namespace mpc::sched {

// The layer that knows what ranks expect from outside, and raises and lowers the demand
// accordingly. Executions that wait actively ask it, and tell it when they stop.
// Caller of both: an execution with its rank's identity, without locks. Switches: no.
class DemandAccount {
 public:
  // May an arrival from outside end the caller's wait? False: the wait ends by something inside.
  virtual bool may_help_caller() noexcept = 0;
  // The caller has polled, and is about to stop. is_over: its wait has ended; otherwise it parks.
  virtual void look_away(bool is_over) noexcept = 0;

 protected:
  ~DemandAccount() = default;
};

// Whether what arrives first may find nobody for some tens of microseconds, net.grace_us. To tell a network to
// wake somebody, and not to, takes system calls: more than a short message is worth, if the rank asks
// for it itself soon. A long one needs its receiver before it moves.
enum class Urgency : uint8_t { kCanWait, kNow };

class Demand {
 public:
  // Called before an arrival can advance the operation: what arrives from then on finds a poller.
  // Caller: any, without locks that EventSource::poll() or arm() takes. Switches: no.
  // Cost: one locked addition; where nobody polls, the first raise arms the sources (two system
  // calls), and may poll them.
  virtual void raise(uint32_t things = 1, Urgency urgency = Urgency::kNow) noexcept = 0;
  // What could wait no longer can: lower it as kNow.
  virtual void hasten(uint32_t things = 1) noexcept = 0;
  // Something long is under way, for which others may need this process soon: if nobody looks, what arrives from now
  // on finds a poller. It holds until the next thread stops looking. Caller: as raise().
  virtual void call_now() noexcept = 0;
  // For calls that do not poll for long, but come by: MPI_Test and its kin. Polls, unless that has been done some
  // microseconds ago; or a moment ago if `is_again`: the caller does nothing but ask. If nothing was there, gives the
  // core to another process of the job that has to share it. True: it has polled. Caller: an execution of a rank,
  // without locks; a thread that is on no worker, too. Switches: no.
  virtual bool come_by(uint64_t now_ns, bool is_again) noexcept = 0;
  // Called once for each raise, with its urgency; also from within EventSource::poll(). Cost: one locked
  // addition.
  virtual void lower(uint32_t things = 1, Urgency urgency = Urgency::kNow) noexcept = 0;

 protected:
  ~Demand() = default;
};

}  // namespace mpc::sched
