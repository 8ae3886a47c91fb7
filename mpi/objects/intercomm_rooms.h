#pragma once
// LeadersRoom, LocalRoom, OpenRoom, MergeRoom: rooms in which intercommunicators are agreed on.
//
// Role:      the data that leaders tell each other, that a leader tells its group, and with which
//            two groups become one.
// Users:     mpi/objects/intercomm_leaders.cpp, mpi/comm/intercomm.cpp.
// Threads:   as rooms (mpi/objects/meeting.h).
// See also:  MPI-4.1 section 7.6.

#include <string>
#include <vector>

#include "mpi.h"
#include "mpi/objects/group_table.h"
#include "mpi/objects/meeting.h"

namespace mpc::mpi {

// The two leaders meet here; either may come first.
struct LeadersRoom final : Room {
  struct Side {
    GroupRef group;  // null: the leader has not come, or lives in another process
    msg::ContextId local_context = 0;
    bool has_far_members = false;  // the group has members of other jobs
    std::string problem;           // why the group cannot be reached; empty: it can
    ContextGrant ids;              // for communicators of several jobs; empty: none
  };
  Side sides[2];             // [0]: of the leader that comes first in comes_before()
  bool is_reserved = false;  // the new communicator may span processes
  ContextGrant ids;          // its context, then a reserve

  void pack(ByteWriter& out) const override;
  void merge(ByteReader& in) override;
  int pairs_wanted() const override { return 1 + kReservePairs; }
  void conclude(Ids& from) override;
};

// What a leader has learnt: the other group, or the error.
struct Learnt {
  GroupRef remote;
  ContextGrant ids;  // as LeadersRoom
  msg::ContextId local_context = 0;
  int error = MPI_SUCCESS;
  std::string message;
  // All processes of the group have to open themselves to other jobs, in the folder that `message`
  // names; then the group meets once more.
  bool has_to_open = false;

  void put_to(ByteWriter& out) const;
  static Learnt get_from(ByteReader& in);
};

// A local group meets here, and its leader passes on what it has learnt.
struct LocalRoom final : Room {
  Learnt learnt;
  bool is_learnt = false;  // the leader has come
  void pack(ByteWriter& out) const override;
  void merge(ByteReader& in) override;
};

// The members of a local group meet here after their processes have opened themselves to other
// jobs.
struct OpenRoom final : Room {
  std::string problem;  // of one of the processes; empty: there is none
  void pack(ByteWriter& out) const override { out.put_text(problem); }
  void merge(ByteReader& in) override;
};

// All members of both groups of an intercommunicator meet here.
struct MergeRoom final : Room {
  GroupRef groups[2];  // the low group first
  bool high[2] = {false, false};
  GroupRef merged;
  ContextGrant ids;  // the context, then a reserve if there are several processes

  void pack(ByteWriter& out) const override;
  void merge(ByteReader& in) override;
  int pairs_wanted() const override { return 1 + kReservePairs; }
  void conclude(Ids& from) override;
};

}  // namespace mpc::mpi
