// Making communicators: agreement on context ids, splitting.

#include "mpi/comm_make.h"

#include <algorithm>
#include <span>
#include <tuple>
#include <vector>

namespace mpc::mpi {
namespace {

// The spec of a communicator with the same groups as `comm`.
Comm::Spec same_groups(Comm& comm, msg::ContextId context) {
  Comm::Spec spec;
  spec.group = comm.group();
  spec.rank = comm.rank();
  spec.context = context;
  if (comm.is_inter()) {
    spec.remote = comm.remote_group();
    spec.is_low_group = comm.is_low_group();
  }
  return spec;
}

// A new context id for the members of `comm`, without waiting for them.
Comm::Spec new_duplicate(Comm& comm) {
  if (!comm.is_inter()) {
    auto room = agree<ContextRoom>(comm.self(), meeting_key(MeetingKind::kDup, comm),
                                   comm.size(),
                                   [](ContextRoom& r) { r.context = new_context(); });
    return same_groups(comm, room->context);
  }
  // Both groups draw the same number of their count of meetings: the id is agreed by all of
  // them in the room of the common context, the local one by each group.
  const uint64_t sequence = comm.next_meeting();
  auto common = agree<ContextRoom>(comm.self(),
                                   {MeetingKind::kDup, comm.context(), sequence, {}},
                                   comm.size() + comm.remote_size(),
                                   [](ContextRoom& r) { r.context = new_context(); });
  auto local = agree<ContextRoom>(comm.self(),
                                  {MeetingKind::kDup, comm.local_context(), sequence, {}},
                                  comm.size(),
                                  [](ContextRoom& r) { r.context = new_context(); });
  Comm::Spec spec = same_groups(comm, common->context);
  spec.local_context = local->context;
  return spec;
}

// --- split ----------------------------------------------------------------------------------
struct Choice {
  int color = MPI_UNDEFINED, key = 0;
};
struct SplitRoom : Room {
  std::vector<Choice> choices;  // by rank
  struct Part {
    GroupRef group;
    msg::ContextId context = 0;
  };
  std::vector<Part> parts;
  std::vector<int> part_of;  // by rank; -1: undefined
  std::vector<int> rank_of;  // new rank by old rank

  void conclude(std::span<const int> world_ranks);
};

void SplitRoom::conclude(std::span<const int> world_ranks) {
  const int n = static_cast<int>(choices.size());
  std::vector<int> order;
  for (int i = 0; i < n; ++i)
    if (choices[static_cast<size_t>(i)].color != MPI_UNDEFINED) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    const Choice &x = choices[static_cast<size_t>(a)], &y = choices[static_cast<size_t>(b)];
    return std::tuple(x.color, x.key, a) < std::tuple(y.color, y.key, b);
  });
  part_of.assign(static_cast<size_t>(n), -1);
  rank_of.assign(static_cast<size_t>(n), 0);
  for (size_t i = 0; i < order.size();) {
    const int color = choices[static_cast<size_t>(order[i])].color;
    std::vector<int> members;
    for (; i < order.size() && choices[static_cast<size_t>(order[i])].color == color; ++i) {
      const auto member = static_cast<size_t>(order[i]);
      part_of[member] = static_cast<int>(parts.size());
      rank_of[member] = static_cast<int>(members.size());
      members.push_back(world_ranks[member]);
    }
    parts.push_back({GroupTable::make(std::move(members)), new_context()});
  }
}

}  // namespace

Comm* duplicate_plain(Comm& comm) { return create_comm(comm, new_duplicate(comm)); }

void split_comm(Comm& comm, int color, int key, const char* what, Comm** out) {
  const auto me = static_cast<size_t>(comm.rank());
  auto room = meet<SplitRoom>(
      comm.self(), meeting_key(MeetingKind::kSplit, comm), comm.size(),
      [&](SplitRoom& r) {
        r.choices.resize(static_cast<size_t>(comm.size()));
        r.choices[me] = {color, key};
      },
      [&](SplitRoom& r) { r.conclude(comm.world_ranks()); }, what);
  *out = nullptr;
  if (room->part_of[me] < 0) return;
  const auto& part = room->parts[static_cast<size_t>(room->part_of[me])];
  Comm::Spec spec;
  spec.group = part.group;
  spec.rank = room->rank_of[me];
  spec.context = part.context;
  *out = create_comm(comm, spec);
}

Comm* first_ranks(Comm& comm, int n, MeetingKind kind,
                  const std::function<void(ContextRoom&)>& decide,
                  std::shared_ptr<ContextRoom>* out) {
  const MeetingKey key = meeting_key(kind, comm);  // the others count it as well
  if (comm.rank() >= n) return nullptr;
  auto room = agree<ContextRoom>(comm.self(), key, n, [&](ContextRoom& r) {
    r.context = new_context();
    if (decide) decide(r);
  });
  Comm::Spec spec;
  if (n == comm.size()) {
    spec.group = comm.group();
  } else {
    const std::span<const int> ranks = comm.world_ranks().first(static_cast<size_t>(n));
    spec.group = GroupTable::make({ranks.begin(), ranks.end()});
  }
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
