#include "nbc/schedule/rounds.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace mpc::nbc {

namespace {

bool is_message(const Node& node) noexcept {
  return node.kind == NodeKind::kSend || node.kind == NodeKind::kRecv;
}

}  // namespace

std::vector<int> rounds_of(const Schedule& schedule) {
  const auto nodes = schedule.nodes();
  std::vector<int> rounds(nodes.size(), 0);
  std::vector<uint32_t> waiting(nodes.size());
  // The order of the builder, except where a node was created before its dependency.
  std::priority_queue<NodeId, std::vector<NodeId>, std::greater<>> ready;
  for (NodeId id = 0; id < nodes.size(); ++id) {
    waiting[id] = nodes[id].predecessor_count;
    if (waiting[id] == 0) ready.push(id);
  }
  int open = 0;  // the round of the previous message
  while (!ready.empty()) {
    const NodeId id = ready.top();
    ready.pop();
    if (is_message(nodes[id])) open = rounds[id] = std::max(open, rounds[id]);
    const int next_round = rounds[id] + (is_message(nodes[id]) ? 1 : 0);
    for (const NodeId next : schedule.successors(nodes[id])) {
      rounds[next] = std::max(rounds[next], next_round);
      if (--waiting[next] == 0) ready.push(next);
    }
  }
  return rounds;
}

Result<std::shared_ptr<const Schedule>> to_rounds(const Schedule& schedule) {
  const auto nodes = schedule.nodes();
  const std::vector<int> rounds = rounds_of(schedule);
  const int last = nodes.empty() ? 0 : *std::max_element(rounds.begin(), rounds.end());
  ScheduleBuilder b;
  b.scratch(schedule.scratch_bytes(), 0, kByteType);
  std::vector<bool> has_before(nodes.size()), has_after(nodes.size());
  for (const Node& node : nodes) {
    Node& copy = b.node(b.nop());
    copy = node;
    copy.first_successor = copy.successor_count = copy.predecessor_count = 0;
  }
  for (NodeId id = 0; id < nodes.size(); ++id)
    for (const NodeId next : schedule.successors(nodes[id])) {
      // The rounds between them ensure the order.
      if (rounds[id] != rounds[next]) continue;
      b.connect(id, next);
      has_after[id] = has_before[next] = true;
    }
  const auto first_barrier = static_cast<NodeId>(nodes.size());
  for (int round = 0; round < last; ++round) b.nop();
  for (NodeId id = 0; id < nodes.size(); ++id) {
    const auto round = static_cast<NodeId>(rounds[id]);
    if (round > 0 && !has_before[id]) b.connect(first_barrier + round - 1, id);
    if (rounds[id] < last && !has_after[id]) b.connect(id, first_barrier + round);
  }
  return b.finish();
}

}  // namespace mpc::nbc
