#pragma once
// Bridge: how the members of a communicator that live in several processes meet in blocking collectives.
//
// Role:      the levels in which they work, made once for each communicator: within each process, between
//            the first members of all processes, and, if these are processes of one host, in memory that
//            they share.
// Users:     mpi/coll/bridged.cpp.
// Threads:   any execution of the rank, in a blocking collective.
// See also:  docs/collectives.md (over processes), docs/design/0047-host-segment.md.

#include <cstdint>
#include <memory>

#include "mpi/objects/comm.h"
#include "nbc/direct/host_meeting.h"

namespace mpc::mpi {

struct Bridge {
  // Null, both, if no two members share a process.
  Comm* inside = nullptr;   // the members of this process
  Comm* between = nullptr;  // the first of each process; null at others
  // Of the first member of each process; null: they send messages.
  std::unique_ptr<nbc::direct::HostMeeting> meeting;
  uint32_t calls = 0;  // as far as they matter for kCallsBeforeMeeting

  Bridge() = default;
  Bridge(const Bridge&) = delete;
  ~Bridge();
};

// Null: the members have no bridge; all get the same answer. `call`: the call in which reports say that
// the rank waits. Caller: all members alike. Switches: yes.
Bridge* bridge_of(Comm& comm, const char* call);

}  // namespace mpc::mpi
