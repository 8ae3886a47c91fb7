#include "mpi/objects/split_rooms.h"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>

#include "base/check.h"

namespace mpc::mpi {
namespace {

struct ToldChoice {
  int rank;
  Choice choice;
};

}  // namespace

void pack_choices(const std::vector<Choice>& choices, ByteWriter& out) {
  std::vector<ToldChoice> told;
  for (size_t i = 0; i < choices.size(); ++i)
    if (choices[i].color != MPI_UNDEFINED)
      told.push_back({static_cast<int>(i), choices[i]});
  out.put_all(std::span<const ToldChoice>(told));
}

void merge_choices(std::vector<Choice>& choices, ByteReader& in) {
  for (const ToldChoice& told : in.get_all<ToldChoice>()) {
    const auto rank = static_cast<size_t>(told.rank);
    CHECK(rank < choices.size(),
          "a process tells the color of a rank that is not there");
    choices[rank] = told.choice;
  }
}

// --- split ----------------------------------------------------------------------------------

void SplitRoom::visit(const GroupRef& members, int rank, Choice choice) {
  if (choices.empty()) {
    group = members;
    choices.resize(static_cast<size_t>(members->size()));
  }
  choices[static_cast<size_t>(rank)] = choice;
}

void SplitRoom::conclude(Ids& ids) {
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
      members.push_back(group->world_rank(order[i]));
    }
    parts.push_back({GroupTable::make(std::move(members)), ids.draw(1)});
  }
}

// --- split of an intercommunicator ----------------------------------------------------------

void InterSplitRoom::visit(const GroupRef groups[2], int side, int rank,
                           Choice choice) {
  for (int s = 0; s < 2; ++s) {
    if (sides[s].group) continue;
    sides[s].group = groups[s];
    sides[s].choices.resize(static_cast<size_t>(groups[s]->size()));
  }
  sides[side].choices[static_cast<size_t>(rank)] = choice;
}

void InterSplitRoom::pack(ByteWriter& out) const {
  for (const Side& side : sides) pack_choices(side.choices, out);
}

void InterSplitRoom::merge(ByteReader& in) {
  for (Side& side : sides) merge_choices(side.choices, in);
}

void InterSplitRoom::conclude(Ids& ids) {
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
    const auto high = members[1].find(color);
    if (high != members[1].end()) add_part(low, high->second, ids);
  }
}

void InterSplitRoom::add_part(std::vector<int>& low, std::vector<int>& high, Ids& ids) {
  Part part;
  part.ids = ids.draw(kContexts);
  std::vector<int>* lists[2] = {&low, &high};
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
      world.push_back(side.group->world_rank(rank));
    }
    part.groups[s] = GroupTable::make(std::move(world));
  }
  parts.push_back(std::move(part));
}

}  // namespace mpc::mpi
