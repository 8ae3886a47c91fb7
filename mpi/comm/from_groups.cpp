// Bodies of MPI-4.1 sections 7.4.2 and 7.6.2: communicators that are created from groups alone,
// without an existing communicator.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/fnv.h"
#include "mpi/impl/inter_comm.h"
#include "mpi/impl/sessions.h"
#include "mpi/objects/comm.h"
#include "mpi/objects/comm_make.h"
#include "mpi/objects/errhandler.h"
#include "mpi/objects/group.h"
#include "mpi/objects/intercomm_leaders.h"
#include "mpi/objects/meeting.h"
#include "mpi/objects/rank_state.h"
#include "runtime/job/neighbours.h"

namespace mpc::mpi::impl {
namespace {

// Overlapping calls meet in one room if their members are the same and their texts have the same hash.
MeetingKey key_of(MeetingKind kind, const GroupRef& members, std::string_view text) {
  MeetingKey key = key_of_members(kind, members, 0, 0);
  key.sequence = fnv_of(text);
  return key;
}

Err check_text(const char* stringtag) {
  if (::strnlen(stringtag, MPI_MAX_STRINGTAG_LEN) < MPI_MAX_STRINGTAG_LEN)
    return kSuccess;
  return fail(MPI_ERR_ARG, fmt::format("the string tag is longer than {} characters",
                                       MPI_MAX_STRINGTAG_LEN - 1));
}

Err check_handler(const Errhandler& handler) {
  if (handler.target == ErrhandlerTarget::kAny ||
      handler.target == ErrhandlerTarget::kComm)
    return kSuccess;
  return fail(MPI_ERR_ARG, "the error handler was not made for communicators");
}

MPI_Comm make(job::Rank& self, const Comm::Spec& spec, const Group& origin,
              Errhandler& handler) {
  Comm* comm = new Comm(self, spec);
  comm->set_errhandler(handler);
  comm->set_session_buffer(origin.session_buffer());
  return comm->handle();
}

Err check_member(const Group& group, const char* which) {
  if (group.table()->index_of(this_world_rank()) >= 0) return kSuccess;
  return fail(MPI_ERR_GROUP, fmt::format("the calling rank is not in the {}", which));
}

// The leader's part.
void find_remote(job::Rank& self, const MeetingKey& key, const GroupRef& local,
                 const Group& remote, int remote_leader, const char* text,
                 Learnt* out) {
  if (remote_leader < 0 || remote_leader >= remote.size()) {
    out->error = MPI_ERR_RANK;
    out->message = fmt::format("remote leader {} is not in 0..{} of the remote group",
                               remote_leader, remote.size() - 1);
    return;
  }
  const int other = remote.table()->world_rank(remote_leader);
  const bool is_far = job::neighbours::slot_of(other) != 0;
  const auto name = [is_far](int rank) {
    return is_far ? job::neighbours::name_of(rank) : rank;
  };
  const int mine = name(self.world_rank), theirs = name(other);
  // The highest bit is set: no place of a communicator has it, so no meeting of a communicator has
  // this key.
  const uint64_t place =
      uint64_t{1} << 63 |
      place_of(static_cast<uint32_t>(std::max(mine, theirs)), std::min(mine, theirs));
  meet_other_leader(self, key, local, other,
                    {place, fnv_of(text), "MPI_Intercomm_create_from_groups"}, out);
}

}  // namespace

Err comm_create_from_group(Group& group, const char* stringtag, Info*,
                           Errhandler& handler, MPI_Comm* newcomm) {
  MPC_MPI_TRY(check_handler(handler));
  MPC_MPI_TRY(check_text(stringtag));
  *newcomm = MPI_COMM_NULL;
  if (group.size() == 0) return kSuccess;
  MPC_MPI_TRY(check_member(group, "group"));
  job::Rank& self = *this_rank().rank;
  const GroupRef& table = group.table();
  auto room = meet<FoundingRoom>(
      self, key_of(MeetingKind::kFromGroup, table, stringtag), members_of(self, *table),
      [](FoundingRoom&) {}, "MPI_Comm_create_from_group");
  Comm::Spec spec;
  spec.group = table;
  spec.rank = table->index_of(self.world_rank);
  spec.context = room->ids.first;
  spec.reserve = room->ids.after(1);
  *newcomm = make(self, spec, group, handler);
  return kSuccess;
}

Err intercomm_create_from_groups(Group& local, int local_leader, Group* remote,
                                 int remote_leader, const char* stringtag, Info*,
                                 Errhandler& handler, MPI_Comm* newcomm) {
  MPC_MPI_TRY(check_handler(handler));
  MPC_MPI_TRY(check_text(stringtag));
  MPC_MPI_TRY(check_member(local, "local group"));
  if (local_leader < 0 || local_leader >= local.size())
    return fail(MPI_ERR_RANK, fmt::format("local leader {} is not in 0..{}",
                                          local_leader, local.size() - 1));
  job::Rank& self = *this_rank().rank;
  const bool leads = local.table()->world_rank(local_leader) == self.world_rank;
  const MeetingKey key = key_of(MeetingKind::kInterCreate, local.table(), stringtag);
  Learnt learnt;
  if (leads)
    find_remote(self, key, local.table(), *remote, remote_leader, stringtag, &learnt);
  Comm::Spec spec;
  MPC_MPI_TRY(learn_from_leader(self, key, local.table(), leads ? &learnt : nullptr,
                                "MPI_Intercomm_create_from_groups", &spec));
  *newcomm = make(self, spec, local, handler);
  return kSuccess;
}

}  // namespace mpc::mpi::impl
