#pragma once
// WaitPartner: the ranks that a rank waits for, as far as its wait reason tells.
//
// Role:      reasons belong to upper layers; these layers say here which ranks are meant, so that a
//            profile can name them. Costs nothing where waits begin.
// Users:     mpi/objects and mpi/coll register; runtime/job (profiler.cpp) asks.
// Threads:   registration before main(); asking: any thread that holds the waiter (Hold).
// See also:  scheduler/execution.h (WaitReason), docs/profile.md.

#include <span>

#include "scheduler/execution.h"

namespace mpc::job {

struct WaitPartner {
  int rank = -1;  // world rank; -1: not a single one, or not known
  // World ranks of a collective in which all wait for all; valid while the waiter is held.
  std::span<const int> members;
};

// False: the source does not know this kind of reason.
using PartnerSource = bool (*)(const sched::WaitReason& reason, WaitPartner& partner);
// Each once, by a constructor function of the library.
void add_partner_source(PartnerSource source) noexcept;

WaitPartner partner_of(const sched::WaitReason& reason);

}  // namespace mpc::job
