#include "sim/node_table.h"

#include <algorithm>
#include <tuple>

namespace mpc::sim {

using nbc::NodeKind;

Result<> NodeTable::load(const Schedules& schedules, const Placement& placement,
                         bool all_on_application) {
  schedules_ = &schedules;
  for (uint32_t rank = 0; rank < schedules.size(); ++rank) {
    first_.push_back(size());
    const bool has_helper = placement.helper_of_rank[rank] >= 0;
    for (const nbc::Node& node : schedules[rank]->nodes()) {
      NodeState state;
      state.waiting = node.predecessor_count;
      state.rank = static_cast<int>(rank);
      state.is_kept =
          all_on_application || !has_helper || node.where == nbc::Where::kApplication;
      nodes_.push_back(&node);
      states_.push_back(state);
    }
  }
  MPC_TRY(match());
  find_startable();
  return {};
}

// Which send meets which receive does not depend on time: messages between the same ranks with
// the same tag have the same order in both schedules.
Result<> NodeTable::match() {
  using Message = std::tuple<uint32_t, uint32_t, int, uint32_t>;  // from, to, tag, node
  std::vector<Message> sends, receives;
  for (uint32_t id = 0; id < size(); ++id) {
    const auto peer = static_cast<uint32_t>(node(id).peer);
    if (node(id).kind == NodeKind::kSend)
      sends.emplace_back(rank_of(id), peer, node(id).tag_offset, id);
    if (node(id).kind == NodeKind::kRecv)
      receives.emplace_back(peer, rank_of(id), node(id).tag_offset, id);
  }
  std::sort(sends.begin(), sends.end());
  std::sort(receives.begin(), receives.end());
  if (sends.size() != receives.size())
    return {Errc::kInternal, "the schedules have more sends than receives, or less"};
  for (size_t i = 0; i < sends.size(); ++i) {
    const auto& [from, to, tag, send] = sends[i];
    const auto& [source, target, wanted_tag, receive] = receives[i];
    if (from != source || to != target || tag != wanted_tag)
      return {Errc::kInternal, "a receive of the schedules has no send"};
    states_[send].partner = receive;
    states_[receive].partner = send;
  }
  return {};
}

// Kept nodes whose predecessors and partners are all startable. They are what remains after all
// others have been removed, repeatedly until nothing changes.
void NodeTable::find_startable() {
  std::vector<uint32_t> not_startable;
  for (uint32_t id = 0; id < size(); ++id) {
    states_[id].is_startable = states_[id].is_kept;
    if (!states_[id].is_kept) not_startable.push_back(id);
  }
  const auto exclude = [&](uint32_t id) {
    if (!states_[id].is_startable) return;
    states_[id].is_startable = false;
    not_startable.push_back(id);
  };
  while (!not_startable.empty()) {
    const uint32_t id = not_startable.back();
    not_startable.pop_back();
    const uint32_t first = first_of(rank_of(id));
    for (nbc::NodeId next : successors(id)) exclude(first + next);
    if (states_[id].partner != kNone) exclude(states_[id].partner);
  }
}

std::pair<uint32_t, uint32_t> NodeTable::ends(uint32_t id) const {
  const uint32_t here = rank_of(id), partner = states_[id].partner;
  return {here, partner == kNone ? here : rank_of(partner)};
}

}  // namespace mpc::sim
