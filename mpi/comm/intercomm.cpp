// Bodies of MPI-4.1 section 7.6: intercommunicators.

#include <fmt/format.h>

#include <algorithm>

#include "mpi/impl/inter_comm.h"
#include "mpi/objects/comm.h"
#include "mpi/objects/comm_make.h"
#include "mpi/objects/group.h"
#include "mpi/objects/intercomm_leaders.h"
#include "mpi/objects/intercomm_rooms.h"
#include "mpi/objects/meeting.h"
#include "runtime/job/neighbours.h"

namespace mpc::mpi::impl {
namespace {

// The leader's part: learns the other group. Errors leave `out->error` set, for the group.
void exchange(Comm& local, const MeetingKey& key, Comm& peer, int remote_leader,
              int tag, Learnt* out) {
  if (remote_leader < 0 || remote_leader >= peer.remote_size()) {
    out->error = MPI_ERR_RANK;
    out->message = fmt::format("remote leader {} is not in 0..{} of {}", remote_leader,
                               peer.remote_size() - 1, peer.display_name());
    return;
  }
  const int other = peer.peer_world_rank(remote_leader);
  const bool is_far = job::neighbours::slot_of(other) != 0;
  const auto name = [is_far](int rank) {
    return is_far ? job::neighbours::name_of(rank) : rank;
  };
  const int mine = name(peer.self().world_rank), theirs = name(other);
  // The leaders' ranks distinguish meetings over one communicator, or over two with the same id.
  meet_other_leader(local.self(), key, local.group(), other,
                    {place_of(peer.context(), std::min(mine, theirs)),
                     place_of(static_cast<uint32_t>(tag), std::max(mine, theirs)),
                     "MPI_Intercomm_create"},
                    out);
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
  *group = create_group(comm.remote_group(), comm.session_buffer());
  return kSuccess;
}

Err intercomm_create(Comm& local, int local_leader, Comm* peer, int remote_leader,
                     int tag, MPI_Comm* out) {
  const MeetingKey key = meeting_key(MeetingKind::kInterCreate, local);
  Learnt learnt;
  if (local.rank() == local_leader)
    exchange(local, key, *peer, remote_leader, tag, &learnt);
  Comm::Spec spec;
  MPC_MPI_TRY(learn_from_leader(local.self(), key, local.group(),
                                local.rank() == local_leader ? &learnt : nullptr,
                                "MPI_Intercomm_create", &spec));
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
