// Bodies of MPI-4.1 section 7.6: intercommunicators.

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "mpi/comm/intercomm_rooms.h"
#include "mpi/impl/inter_comm.h"
#include "mpi/objects/comm.h"
#include "mpi/objects/comm_make.h"
#include "mpi/objects/group.h"
#include "mpi/objects/meeting.h"
#include "runtime/job/job.h"

namespace mpc::mpi::impl {
namespace {

bool overlap(const GroupTable& a, const GroupTable& b) noexcept {
  for (const int rank : a.world_ranks())
    if (b.index_of(rank) >= 0) return true;
  return false;
}

// The two leaders, who may live in two processes.
ProcessList processes_of(const job::ProcessMap& map, int leader, int other) {
  return {map, {std::span<const int>(&leader, 1), std::span<const int>(&other, 1)}};
}

// The leader's part: learns the other group. Errors leave `out->error` set, for the group.
void exchange(Comm& local, Comm& peer, int remote_leader, int tag, Learnt* out) {
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
  // The leaders' ranks tell apart who meets over one communicator, or over two of the same id.
  const MeetingKey key{MeetingKind::kInterCreate,
                       place_of(peer.context(), std::min(me, other)),
                       place_of(static_cast<uint32_t>(tag), std::max(me, other)),
                       {}};
  const job::ProcessMap& map = local.self().job->processes();
  const ProcessList list = processes_of(map, me, other);
  const Members members =
      list.is_one_process() ? Members{2, nullptr} : Members{1, &list};
  const int mine = me < other ? 0 : 1;
  out->local_context = new_context(local.self());
  auto room = meet<LeadersRoom>(
      local.self(), key, members,
      [&](LeadersRoom& r) {
        r.is_reserved = !map.is_one_process();
        r.sides[mine] = {local.group(), out->local_context};
      },
      "MPI_Intercomm_create");
  const LeadersRoom::Side& theirs = room->sides[1 - mine];
  if (overlap(*local.group(), *theirs.group)) {
    out->error = MPI_ERR_COMM;
    out->message = "the two groups have members in common";
    return;
  }
  out->remote = theirs.group;
  out->ids = room->ids;
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
  Learnt learnt;
  if (local.rank() == local_leader) exchange(local, *peer, remote_leader, tag, &learnt);
  auto room = meet<LocalRoom>(
      local.self(), key, local.members(),
      [&](LocalRoom& r) {
        if (local.rank() != local_leader) return;
        r.learnt = std::move(learnt);
        r.is_learnt = true;
      },
      "MPI_Intercomm_create");
  const Learnt& common = room->learnt;
  if (common.error != MPI_SUCCESS) return fail(common.error, common.message);
  Comm::Spec spec;
  spec.group = local.group();
  spec.remote = common.remote;
  spec.rank = local.rank();
  spec.context = common.ids.first;
  spec.local_context = common.local_context;
  spec.reserve = common.ids.after(1);
  spec.is_low_group = is_low(*spec.group, *spec.remote);
  *out = create_comm(local, spec)->handle();
  return kSuccess;
}

Err intercomm_merge(Comm& inter, bool high, MPI_Comm* out) {
  const int mine = inter.is_low_group() ? 0 : 1;
  auto room = meet<MergeRoom>(
      inter.self(), meeting_key_of_everyone(MeetingKind::kMerge, inter),
      inter.everyone(),
      [&](MergeRoom& r) {
        r.groups[mine] = inter.group();
        r.groups[1 - mine] = inter.remote_group();
        r.high[mine] = high;
      },
      "MPI_Intercomm_merge");
  Comm::Spec spec;
  spec.group = room->merged;
  spec.rank = room->merged->index_of(inter.self().world_rank);
  spec.context = room->ids.first;
  spec.reserve = room->ids.after(1);
  *out = create_comm(inter, spec)->handle();
  return kSuccess;
}

}  // namespace mpc::mpi::impl
