// Making communicators: agreement on context ids, splitting.

#include "mpi/objects/comm_make.h"

#include <span>
#include <vector>

#include "mpi/objects/members.h"
#include "mpi/objects/split_direct.h"
#include "mpi/objects/split_rooms.h"
#include "mpi/objects/try_to_meet.h"

namespace mpc::mpi {
namespace {

constexpr char kMoreIds[] = "a communicator of several processes";

// The spec of a communicator with the same groups as `comm`.
// Inline: MPI_Comm_dup takes 0.1 us, of which a copy of a spec is a part.
[[gnu::always_inline]] inline Comm::Spec same_groups(Comm& comm, msg::ContextId context,
                                                     msg::ContextId local_context = 0) {
  Comm::Spec spec;
  spec.group = comm.group();
  spec.rank = comm.rank();
  spec.context = context;
  if (comm.is_inter()) {
    spec.remote = comm.remote_group();
    spec.is_low_group = comm.is_low_group();
    spec.local_context = local_context;
  }
  return spec;
}

// A new context id for the members of `comm`, all in one process, without waiting for them.
Comm::Spec new_duplicate(Comm& comm) {
  job::Rank& self = comm.self();
  const auto decide = [&self](ContextRoom& r) { r.context = new_context(self); };
  if (!comm.is_inter()) {
    auto room = agree<ContextRoom>(self, meeting_key(MeetingKind::kDup, comm),
                                   comm.size(), decide);
    return same_groups(comm, room->context);
  }
  // Both groups draw the same number of their count of meetings: the id is agreed by all of
  // them in the room of the common context, the local one by each group.
  const MeetingKey key = meeting_key_of_everyone(MeetingKind::kDup, comm);
  auto common = agree<ContextRoom>(self, key, comm.size() + comm.remote_size(), decide);
  MeetingKey local_key = key;
  local_key.place = place_of(comm.local_context(), comm.group()->world_rank(0));
  auto local = agree<ContextRoom>(self, local_key, comm.size(), decide);
  return same_groups(comm, common->context, local->context);
}

Err split_intercomm(Comm& comm, int color, int key, const char* what, Comm** out) {
  const int mine = comm.is_low_group() ? 0 : 1;
  const GroupRef groups[2] = {mine == 0 ? comm.group() : comm.remote_group(),
                              mine == 0 ? comm.remote_group() : comm.group()};
  auto room = try_to_meet<InterSplitRoom>(
      comm.self(), meeting_key_of_everyone(MeetingKind::kSplit, comm), comm.everyone(),
      [&](InterSplitRoom& r) {
        r.visit(groups, mine, comm.rank(), {color, key});
      },
      what);
  *out = nullptr;
  if (room->is_broken) [[unlikely]]
    return fail_without_member(what, comm);
  const auto me = static_cast<size_t>(comm.rank());
  const InterSplitRoom::Side& side = room->sides[mine];
  if (side.part_of[me] < 0) return kSuccess;
  const InterSplitRoom::Part& part = room->parts[static_cast<size_t>(side.part_of[me])];
  Comm::Spec spec;
  spec.group = part.groups[mine];
  spec.remote = part.groups[1 - mine];
  spec.rank = side.rank_of[me];
  spec.context = part.ids.id(0);
  spec.local_context = part.ids.id(1 + mine);
  spec.is_low_group = comm.is_low_group();
  spec.reserve = part.ids.after(InterSplitRoom::kContexts);
  *out = create_comm(comm, spec);
  return kSuccess;
}

}  // namespace

Duplication::Duplication(Comm& comm) {
  if (comm.is_in_one_process()) {
    made_ = duplicate_plain(comm);
    return;
  }
  // Both groups of an intercommunicator may use the same local id: no rank is in both.
  context_ = comm.next_slot();
  if (comm.is_inter()) local_context_ = comm.next_slot();
  made_ = create_comm(comm, same_groups(comm, 0));
  is_over_ = false;
  is_over();
}

bool Duplication::is_over() {
  if (is_over_) return true;
  if (!context_.is_known() || !local_context_.is_known()) return false;
  made_->set_contexts(context_.id(), local_context_.id());
  is_over_ = true;
  return true;
}

msg::ContextId next_context(Comm& comm, const char* what) {
  ContextSlot slot = comm.next_slot();
  slot.wait(comm.self(), what);
  return slot.id();
}

namespace {

[[gnu::cold]] Comm* duplicate_over_processes(Comm& comm) {
  const msg::ContextId context = next_context(comm, kMoreIds);
  const msg::ContextId local = comm.is_inter() ? next_context(comm, kMoreIds) : 0;
  return create_comm(comm, same_groups(comm, context, local));
}

}  // namespace

Comm* duplicate_plain(Comm& comm) {
  if (!comm.is_in_one_process()) [[unlikely]]
    return duplicate_over_processes(comm);
  return create_comm(comm, new_duplicate(comm));
}

Err split_comm(Comm& comm, int color, int key, const char* what, Comm** out) {
  if (may_split_directly(comm)) return split_directly(comm, color, key, what, out);
  if (comm.is_inter()) return split_intercomm(comm, color, key, what, out);
  auto room = try_to_meet<SplitRoom>(
      comm.self(), meeting_key(MeetingKind::kSplit, comm), comm.members(),
      [&](SplitRoom& r) {
        r.visit(comm.group(), comm.rank(), {color, key});
      },
      what);
  *out = nullptr;
  if (room->is_broken) [[unlikely]]
    return fail_without_member(what, comm);
  const auto me = static_cast<size_t>(comm.rank());
  if (room->part_of[me] < 0) return kSuccess;
  const auto& part = room->parts[static_cast<size_t>(room->part_of[me])];
  Comm::Spec spec;
  spec.group = part.group;
  spec.rank = room->rank_of[me];
  spec.context = part.ids.first;
  spec.reserve = part.ids.after(1);
  *out = create_comm(comm, spec);
  return kSuccess;
}

Comm* first_ranks(Comm& comm, int n, MeetingKind kind,
                  const std::function<void(ContextRoom&)>& decide,
                  std::shared_ptr<ContextRoom>* out) {
  const MeetingKey key = meeting_key(kind, comm);  // the other members count it as well
  const bool is_alone = comm.is_in_one_process();
  const msg::ContextId reserved = is_alone ? 0 : next_context(comm, kMoreIds);
  if (comm.rank() >= n) return nullptr;
  Comm::Spec spec;
  if (n == comm.size()) {
    spec.group = comm.group();
  } else {
    const std::span<const int> ranks = comm.world_ranks().first(static_cast<size_t>(n));
    spec.group = GroupTable::make({ranks.begin(), ranks.end()});
  }
  const int here = is_alone ? n : members_of(comm.self(), *spec.group).here;
  auto room = agree<ContextRoom>(comm.self(), key, here, [&](ContextRoom& r) {
    r.context = is_alone ? new_context(comm.self()) : reserved;
    if (decide) decide(r);
  });
  spec.rank = comm.rank();
  spec.context = room->context;
  if (out != nullptr) *out = std::move(room);
  return create_comm(comm, spec);
}

void end_comm(Comm* comm) noexcept {
  comm->mark_freed();
  comm->drop();
}

}  // namespace mpc::mpi
