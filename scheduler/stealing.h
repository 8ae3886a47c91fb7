#pragma once
// Stealing: which workers of a scheduler take ready user-level threads from which others.
//
// Role:      the groups of workers, and the two ways of taking: patiently (Theft), for ranks on
//            application cores, and at once, for progress threads on communication cores.
// Users:     scheduler only.
// Threads:   any, after build().
// See also:  scheduler/theft.h, docs/scheduler.md section "Stealing".

#include <memory>
#include <vector>

#include "scheduler/binding.h"
#include "scheduler/theft.h"
#include "scheduler/worker.h"
#include "topology/machine.h"

namespace mpc::sched {

class Stealing {
 public:
  // Workers take only from others of their group.
  enum Group : int8_t {
    kNobody,  // they take nothing, and nothing is taken from them
    kPatient,  // a thread that has been ready for longer than a wait usually lasts, see Theft
    kEager,  // a thread that is ready, at once; the run queues are locked for that
  };
  struct Rules {
    bool all;     // all workers: kPatient
    int patient;  // workers 0 .. patient-1: kPatient
    int eager;    // workers eager .. : kEager; below 0: none
  };
  using Workers = std::vector<std::unique_ptr<Worker>>;

  // Ownership: workers and bindings outlive it.
  Stealing(const Rules& rules, const Workers& workers, const Bindings& bindings)
      : rules_(rules), workers_(workers), bindings_(bindings) {}
  // Called when all workers exist. machine may be null: then all are equally far from each other.
  void build(const topo::Machine* machine);

  Group group(int worker) const noexcept {
    if (rules_.all || worker < rules_.patient) return kPatient;
    return rules_.eager >= 0 && worker >= rules_.eager ? kEager : kNobody;
  }
  // Null: it takes nothing from others, or not patiently.
  Theft* theft_of(const Worker& worker) const noexcept {
    if (bindings_.is_wide(worker.index()))
      return nullptr;  // otherwise the thief would search forever
    return thefts_[static_cast<size_t>(worker.index())].get();
  }
  // A ready Ult of another worker, if one may be taken. Caller: the owner of `thief`.
  Ult* take_for(Worker& thief) noexcept;
  // A worker computes while others of its Ults are ready: wakes a sleeping worker of its group.
  void wake_thief(const Worker& victim) noexcept;

 private:
  std::unique_ptr<Theft> make_theft(const Worker& thief,
                                    const topo::Machine* machine) const;
  Ult* take_at_once(Worker& thief) noexcept;
  // The n-th worker after `worker`, so that thieves do not all begin with the first one.
  Worker& after(const Worker& worker, size_t n) const noexcept {
    return *workers_[(static_cast<size_t>(worker.index()) + n) % workers_.size()];
  }

  const Rules rules_;
  const Workers& workers_;
  const Bindings& bindings_;
  std::vector<std::unique_ptr<Theft>> thefts_;  // by worker; null: not kPatient
};

}  // namespace mpc::sched
