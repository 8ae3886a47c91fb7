// Making communicators: agreement on context ids, splitting.

#include "mpi/objects/comm_make.h"

#include <algorithm>
#include <map>
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
  auto common =
      agree<ContextRoom>(comm.self(), {MeetingKind::kDup, comm.context(), sequence, {}},
                         comm.size() + comm.remote_size(),
                         [](ContextRoom& r) { r.context = new_context(); });
  auto local = agree<ContextRoom>(
      comm.self(), {MeetingKind::kDup, comm.local_context(), sequence, {}}, comm.size(),
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
    const Choice &x = choices[static_cast<size_t>(a)],
                 &y = choices[static_cast<size_t>(b)];
    return std::tuple(x.color, x.key, a) < std::tuple(y.color, y.key, b);
  });
  part_of.assign(static_cast<size_t>(n), -1);
  rank_of.assign(static_cast<size_t>(n), 0);
  for (size_t i = 0; i < order.size();) {
    const int color = choices[static_cast<size_t>(order[i])].color;
    std::vector<int> members;
    for (; i < order.size() && choices[static_cast<size_t>(order[i])].color == color;
         ++i) {
      const auto member = static_cast<size_t>(order[i]);
      part_of[member] = static_cast<int>(parts.size());
      rank_of[member] = static_cast<int>(members.size());
      members.push_back(world_ranks[member]);
    }
    parts.push_back({GroupTable::make(std::move(members)), new_context()});
  }
}

// --- split of an intercommunicator ----------------------------------------------------------
// Members of the same color in both groups form a new intercommunicator; a color that only one
// group has gives MPI_COMM_NULL (MPI-4.1 section 7.4.2).
struct InterSplitRoom : Room {
  struct Side {
    std::vector<Choice> choices;   // by rank
    std::vector<int> world_ranks;  // likewise
    std::vector<int> part_of, rank_of;
  };
  struct Part {
    GroupRef groups[2];  // by side
    msg::ContextId context = 0, local_context[2] = {0, 0};
  };
  Side sides[2];  // the low group first
  std::vector<Part> parts;

  void conclude();
};

void InterSplitRoom::conclude() {
  std::map<int, std::vector<int>> members[2];  // by color
  for (int s = 0; s < 2; ++s) {
    Side& side = sides[s];
    side.part_of.assign(side.choices.size(), -1);
    side.rank_of.assign(side.choices.size(), 0);
    for (size_t i = 0; i < side.choices.size(); ++i)
      if (side.choices[i].color != MPI_UNDEFINED)
        members[s][side.choices[i].color].push_back(static_cast<int>(i));
  }
  for (auto& [color, low] : members[0]) {
    const auto other = members[1].find(color);
    if (other == members[1].end()) continue;
    Part part;
    part.context = new_context();
    std::vector<int>* lists[2] = {&low, &other->second};
    for (int s = 0; s < 2; ++s) {
      Side& side = sides[s];
      std::stable_sort(lists[s]->begin(), lists[s]->end(), [&](int a, int b) {
        return side.choices[static_cast<size_t>(a)].key <
               side.choices[static_cast<size_t>(b)].key;
      });
      std::vector<int> world;
      for (const int rank : *lists[s]) {
        const auto r = static_cast<size_t>(rank);
        side.part_of[r] = static_cast<int>(parts.size());
        side.rank_of[r] = static_cast<int>(world.size());
        world.push_back(side.world_ranks[r]);
      }
      part.groups[s] = GroupTable::make(std::move(world));
      part.local_context[s] = new_context();
    }
    parts.push_back(std::move(part));
  }
}

void split_intercomm(Comm& comm, int color, int key, const char* what, Comm** out) {
  const auto me = static_cast<size_t>(comm.rank());
  const int mine = comm.is_low_group() ? 0 : 1;
  auto room = meet<InterSplitRoom>(
      comm.self(), {MeetingKind::kSplit, comm.context(), comm.next_meeting(), {}},
      comm.size() + comm.remote_size(),
      [&](InterSplitRoom& r) {
        InterSplitRoom::Side& side = r.sides[mine];
        side.choices.resize(static_cast<size_t>(comm.size()));
        side.choices[me] = {color, key};
        if (side.world_ranks.empty()) {
          const std::span<const int> ranks = comm.world_ranks();
          side.world_ranks.assign(ranks.begin(), ranks.end());
        }
      },
      [](InterSplitRoom& r) { r.conclude(); }, what);
  *out = nullptr;
  const InterSplitRoom::Side& side = room->sides[mine];
  if (side.part_of[me] < 0) return;
  const InterSplitRoom::Part& part = room->parts[static_cast<size_t>(side.part_of[me])];
  Comm::Spec spec;
  spec.group = part.groups[mine];
  spec.remote = part.groups[1 - mine];
  spec.rank = side.rank_of[me];
  spec.context = part.context;
  spec.local_context = part.local_context[mine];
  spec.is_low_group = comm.is_low_group();
  *out = create_comm(comm, spec);
}

}  // namespace

Comm* duplicate_plain(Comm& comm) { return create_comm(comm, new_duplicate(comm)); }

void split_comm(Comm& comm, int color, int key, const char* what, Comm** out) {
  if (comm.is_inter()) return split_intercomm(comm, color, key, what, out);
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
