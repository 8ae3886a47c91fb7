#pragma once
// Demand: how many things an arrival from outside could move on while nobody looks.
//
// Role:      the condition under which ranks that compute are interrupted (net.interrupts=auto): a
//            posted receive that a message of another process may fill, an offer or a fetch under
//            way, a question that waits for its answer. Until it is raised for the first time nobody
//            keeps account of it, and all that comes interrupts.
// Users:     scheduler/poll asks; runtime/message keeps account (outside.h).
// Threads:   any.
// See also:  scheduler/poll/poller.h, docs/design/0020-polling.md.

#include <cstdint>

namespace mpc::sched {

// Who knows what ranks await from outside, and raises and lowers the demand accordingly. Asked by
// executions that wait actively, and told by them.
// Caller of both: an execution with its rank's identity, without locks. Switches: no.
class DemandAccount {
 public:
  // May an arrival from outside end what the caller waits for? False: it comes from within.
  virtual bool may_help_caller() noexcept = 0;
  // The caller has looked, and is about to look away. is_over: its wait is; else it parks.
  virtual void look_away(bool is_over) noexcept = 0;

 protected:
  ~DemandAccount() = default;
};

class Demand {
 public:
  // Before the thing can be moved by an arrival: what comes from then on finds somebody.
  // Caller: any, without locks that EventSource::poll() or arm() takes. Switches: no.
  // Cost: one locked addition; where nobody looks, the first one arms the sources (two system
  // calls), and may poll them.
  virtual void raise(uint32_t things = 1) noexcept = 0;
  // Once each for what was raised; also from within EventSource::poll(). Cost: one locked addition.
  virtual void lower(uint32_t things = 1) noexcept = 0;

 protected:
  ~Demand() = default;
};

}  // namespace mpc::sched
