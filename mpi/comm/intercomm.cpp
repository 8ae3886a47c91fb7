// Bodies of MPI-4.1 section 7.6: intercommunicators.

#include <fmt/format.h>

#include "mpi/impl/inter_comm.h"
#include "mpi/objects/comm.h"
#include "mpi/objects/comm_make.h"
#include "mpi/objects/group.h"
#include "mpi/objects/meeting.h"

namespace mpc::mpi::impl {
namespace {

// What one group knows of the other.
struct Side {
  GroupRef group;
  msg::ContextId local_context = 0;
};

// The two leaders meet here; neither is first by right.
struct LeadersRoom : Room {
  std::vector<Side> sides;
  msg::ContextId context = 0;
};

// A local group meets here, and its leader brings what it has learnt.
struct LocalRoom : Room {
  GroupRef remote;
  msg::ContextId context = 0, local_context = 0;
  int error = MPI_SUCCESS;
  std::string message;
};

bool overlap(const GroupTable& a, const GroupTable& b) noexcept {
  for (const int rank : a.world_ranks())
    if (b.index_of(rank) >= 0) return true;
  return false;
}

// The leader's part: learns the other group. Errors leave `out->error` set, for the group.
void exchange(Comm& local, Comm& peer, int remote_leader, int tag, LocalRoom* out) {
  if (remote_leader < 0 || remote_leader >= peer.remote_size()) {
    out->error = MPI_ERR_RANK;
    out->message = fmt::format("remote leader {} is not in 0..{} of {}", remote_leader,
                               peer.remote_size() - 1, peer.display_name());
    return;
  }
  const int me = peer.self().world_rank, other = peer.peer_world_rank(remote_leader);
  if (me == other) {
    out->error = MPI_ERR_RANK;
    out->message = "the remote leader is the caller itself";
    return;
  }
  const MeetingKey key{MeetingKind::kInterCreate, peer.context(),
                       static_cast<uint64_t>(tag),
                       fmt::format("{},{}", std::min(me, other), std::max(me, other))};
  out->local_context = new_context();
  auto room = meet<LeadersRoom>(
      local.self(), key, 2,
      [&](LeadersRoom& r) {
        r.sides.push_back({local.group(), out->local_context});
      },
      [](LeadersRoom& r) { r.context = new_context(); }, "MPI_Intercomm_create");
  const Side& theirs =
      room->sides[room->sides[0].local_context == out->local_context ? 1 : 0];
  if (overlap(*local.group(), *theirs.group)) {
    out->error = MPI_ERR_COMM;
    out->message = "the two groups have members in common";
    return;
  }
  out->remote = theirs.group;
  out->context = room->context;
}

// Decides alike on both sides which group is the low one: the one with the smaller first rank.
bool is_low(const GroupTable& mine, const GroupTable& other) noexcept {
  return mine.world_rank(0) < other.world_rank(0);
}

}  // namespace

Err comm_test_inter(Comm& comm, int* flag) {
  *flag = comm.is_inter();
  return kSuccess;
}

Err comm_remote_size(Comm& comm, int* size) {
  *size = comm.remote_size();
  return kSuccess;
}

Err comm_remote_group(Comm& comm, MPI_Group* group) {
  *group = create_group(comm.remote_group());
  return kSuccess;
}

Err intercomm_create(Comm& local, int local_leader, Comm* peer, int remote_leader,
                     int tag, MPI_Comm* out) {
  const MeetingKey key = meeting_key(MeetingKind::kInterCreate, local);
  LocalRoom learnt;
  if (local.rank() == local_leader) exchange(local, *peer, remote_leader, tag, &learnt);
  auto room = meet<LocalRoom>(
      local.self(), key, local.size(),
      [&](LocalRoom& r) {
        if (local.rank() != local_leader) return;
        r.remote = learnt.remote;
        r.context = learnt.context;
        r.local_context = learnt.local_context;
        r.error = learnt.error;
        r.message = learnt.message;
      },
      [](LocalRoom&) {}, "MPI_Intercomm_create");
  if (room->error != MPI_SUCCESS) return fail(room->error, room->message);
  Comm::Spec spec;
  spec.group = local.group();
  spec.remote = room->remote;
  spec.rank = local.rank();
  spec.context = room->context;
  spec.local_context = room->local_context;
  spec.is_low_group = is_low(*spec.group, *spec.remote);
  *out = create_comm(local, spec)->handle();
  return kSuccess;
}

namespace {

struct MergeRoom : Room {
  GroupRef groups[2];  // the low group first
  bool high[2] = {false, false};
  GroupRef merged;
  msg::ContextId context = 0;

  void conclude() {
    // Equal flags: the order is arbitrary (MPI-4.1 section 7.6.2); the low group is first.
    const int first = high[0] && !high[1] ? 1 : 0;
    std::vector<int> ranks;
    for (const int side : {first, 1 - first})
      for (const int rank : groups[side]->world_ranks()) ranks.push_back(rank);
    merged = GroupTable::make(std::move(ranks));
    context = new_context();
  }
};

}  // namespace

Err intercomm_merge(Comm& inter, bool high, MPI_Comm* out) {
  const int mine = inter.is_low_group() ? 0 : 1;
  auto room = meet<MergeRoom>(
      inter.self(), {MeetingKind::kMerge, inter.context(), inter.next_meeting(), {}},
      inter.size() + inter.remote_size(),
      [&](MergeRoom& r) {
        r.groups[mine] = inter.group();
        r.high[mine] = high;
      },
      [](MergeRoom& r) { r.conclude(); }, "MPI_Intercomm_merge");
  Comm::Spec spec;
  spec.group = room->merged;
  spec.rank = room->merged->index_of(inter.self().world_rank);
  spec.context = room->context;
  *out = create_comm(inter, spec)->handle();
  return kSuccess;
}

}  // namespace mpc::mpi::impl
