#pragma once
// CallersRoom: who has called a collective that compares without waiting.
//
// Role:      the part of such a comparison that tells at the end who has called, and who never will.
// Users:     mpi/objects/check.cpp (fills it), mpi/objects/check_missing.cpp.
// Threads:   under the room's mutex.
// See also:  docs/checking.md.

#include <string>
#include <vector>

#include "mpi/objects/comm.h"
#include "mpi/objects/fault.h"
#include "mpi/objects/meeting.h"

namespace mpc::mpi {

struct Caller {
  int world_rank;
  const char* name;  // "MPI_Bcast"
  CodePlace place;
};

// All rooms of MeetingKind::kCheck are of this type.
struct CallersRoom : Room {
  GroupRef group;  // null: the members wait for each other
  std::string comm;
  std::vector<Caller> callers;

  void add(const Comm& of, Caller caller) {
    if (callers.empty()) {
      group = of.group();
      comm = of.display_name();
    }
    callers.push_back(std::move(caller));
  }
};

}  // namespace mpc::mpi
