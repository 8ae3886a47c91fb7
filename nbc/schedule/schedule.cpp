#include "nbc/schedule/schedule.h"

#include <algorithm>
#include <utility>

namespace mpc::nbc {

namespace {

constexpr int64_t kScratchAlignment =
    64;  // bytes: a cache line, enough for any basic type

int64_t align_up(int64_t bytes) noexcept {
  return (bytes + kScratchAlignment - 1) & ~(kScratchAlignment - 1);
}

Node make_node(NodeKind kind) {
  Node node;
  node.kind = kind;
  return node;
}

}  // namespace

NodeId ScheduleBuilder::add(const Node& node) {
  nodes_.push_back(node);
  return static_cast<NodeId>(nodes_.size() - 1);
}

NodeId ScheduleBuilder::send(int peer, BufferRef from, int tag_offset) {
  Node node = make_node(NodeKind::kSend);
  node.peer = peer;
  node.tag_offset = tag_offset;
  node.from = from;
  return add(node);
}

NodeId ScheduleBuilder::recv(int peer, BufferRef to, int tag_offset) {
  Node node = make_node(NodeKind::kRecv);
  node.peer = peer;
  node.tag_offset = tag_offset;
  node.to = to;
  return add(node);
}

NodeId ScheduleBuilder::reduce(BufferRef in, BufferRef inout) {
  Node node = make_node(NodeKind::kReduce);
  node.from = in;
  node.to = inout;
  return add(node);
}

NodeId ScheduleBuilder::copy(BufferRef from, BufferRef to, Repeat repeat) {
  Node node = make_node(NodeKind::kCopy);
  node.from = from;
  node.to = to;
  node.repeat = repeat;
  return add(node);
}

NodeId ScheduleBuilder::nop() { return add(make_node(NodeKind::kNop)); }

void ScheduleBuilder::connect(NodeId before, NodeId after) {
  if (before == kNoNode || after == kNoNode) return;
  edges_.emplace_back(before, after);
}

BufferRef ScheduleBuilder::scratch(int64_t bytes, Count count, uint16_t type) {
  BufferRef ref;
  ref.slot = kScratch;
  ref.type = type;
  ref.count = count;
  ref.offset = scratch_bytes_;
  int64_t end;
  if (bytes < 0 || __builtin_add_overflow(scratch_bytes_, bytes, &end) ||
      end > INT64_MAX - kScratchAlignment) {
    too_large_ = true;
    return ref;
  }
  scratch_bytes_ = align_up(end);
  return ref;
}

namespace {

// Kahn's algorithm: true if every node can be reached in an order of dependencies.
bool is_acyclic(const Schedule& schedule) {
  const auto nodes = schedule.nodes();
  std::vector<uint32_t> waiting(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) waiting[i] = nodes[i].predecessor_count;
  std::vector<NodeId> ready(schedule.start_nodes().begin(),
                            schedule.start_nodes().end());
  size_t done = 0;
  while (!ready.empty()) {
    const NodeId id = ready.back();
    ready.pop_back();
    ++done;
    for (NodeId next : schedule.successors(nodes[id]))
      if (--waiting[next] == 0) ready.push_back(next);
  }
  return done == nodes.size();
}

}  // namespace

Result<std::shared_ptr<const Schedule>> ScheduleBuilder::finish() {
  ScheduleBuilder all = std::exchange(*this, ScheduleBuilder());
  if (all.too_large_)
    return {Errc::kNoMem, "a collective's scratch memory exceeds the address space"};
  auto schedule = std::make_shared<Schedule>();
  schedule->nodes_ = std::move(all.nodes_);
  schedule->scratch_bytes_ = all.scratch_bytes_;
  std::vector<Node>& nodes = schedule->nodes_;
  for (auto [before, after] : all.edges_) {
    if (before >= nodes.size() || after >= nodes.size())
      return {Errc::kInternal, "schedule: an edge to a node that does not exist"};
    ++nodes[before].successor_count;
    ++nodes[after].predecessor_count;
  }
  uint32_t first = 0;
  for (Node& node : nodes) {
    node.first_successor = first;
    first += std::exchange(node.successor_count, 0u);
  }
  schedule->successors_.resize(first);
  for (auto [before, after] : all.edges_) {
    Node& node = nodes[before];
    schedule->successors_[node.first_successor + node.successor_count++] = after;
  }
  for (NodeId id = 0; id < nodes.size(); ++id) {
    Node& node = nodes[id];
    const bool is_message =
        node.kind == NodeKind::kSend || node.kind == NodeKind::kRecv;
    if (node.tag_offset < 0 || node.tag_offset >= kTagsPerCollective ||
        node.from.count < 0 || node.to.count < 0 || node.repeat.times < 0)
      return {Errc::kInternal, "schedule: a tag or a count out of range"};
    if (is_message) {
      node.request = schedule->message_count_++;
      schedule->tag_count_ = std::max(schedule->tag_count_, node.tag_offset + 1);
    }
    schedule->has_reductions_ |= node.kind == NodeKind::kReduce;
    if (node.predecessor_count == 0) schedule->start_.push_back(id);
    if (node.successor_count == 0) ++schedule->sink_count_;
  }
  // Receives are posted before anything else starts.
  std::stable_partition(schedule->start_.begin(), schedule->start_.end(),
                        [&](NodeId id) { return nodes[id].kind == NodeKind::kRecv; });
  if (!is_acyclic(*schedule))
    return {Errc::kInternal, "schedule: a cycle of dependencies"};
  return std::shared_ptr<const Schedule>(std::move(schedule));
}

}  // namespace mpc::nbc
