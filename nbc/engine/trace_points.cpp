#include "nbc/engine/trace_points.h"

#include "runtime/job/rank.h"

namespace mpc::nbc::tracing {
namespace {

constexpr trace::Site kCollective{
    "engine", "collective", {"call", "context", "tag_base", "nodes", "number"}, true};
constexpr trace::Site kNode{
    "engine", "node", {"kind", "peer", "bytes", "level", "number"}, true};
constexpr trace::Site kWork{"engine", "work", {"kind", "bytes", "level"}, true, true};

const char* name_of(const Node& node) noexcept {
  const bool kept = node.where == Where::kApplication;
  switch (node.kind) {
    case NodeKind::kSend:
      return kept ? "application send" : "send";
    case NodeKind::kRecv:
      return kept ? "application recv" : "recv";
    case NodeKind::kReduce:
      return kept ? "application reduce" : "reduce";
    case NodeKind::kCopy:
      return kept ? "application copy" : "copy";
    case NodeKind::kNop:
      break;
  }
  return "nop";
}

uint64_t bytes_of(const Collective& c, const Node& node) noexcept {
  if (node.kind == NodeKind::kNop) return 0;
  const BufferRef& ref = node.kind == NodeKind::kSend ? node.from : node.to;
  return static_cast<uint64_t>(ref.count * c.type(ref).size() * node.repeat.times);
}

uint64_t number_of(const Collective& c, NodeId id) noexcept {
  return uint64_t{c.trace_number} << 32 | id;
}

uint64_t signed_value(int value) noexcept {
  return static_cast<uint64_t>(static_cast<int64_t>(value));
}

}  // namespace

void collective_begins(Collective& c) noexcept {
  static constinit std::atomic<uint32_t> last{0};
  c.trace_number = last.fetch_add(1, std::memory_order_relaxed) + 1;
  const char* call = sched::Execution::self().call();
  c.trace_call = call != nullptr ? call : "collective";
  trace::flight_begin(
      kCollective,
      {trace::text(c.trace_call), c.binding.context, signed_value(c.binding.tag_base),
       c.schedule->nodes().size(), c.trace_number},
      c.rank->world_rank);
}

void collective_ends(const Collective& c) noexcept {
  trace::flight_end(kCollective, {trace::text(c.trace_call), 0, 0, 0, c.trace_number},
                    c.rank->world_rank);
}

void node_begins(const Collective& c, NodeId id) noexcept {
  const Node& node = c.nodes[id];
  const int peer =
      node.peer >= 0 ? c.binding.world_ranks[static_cast<size_t>(node.peer)] : -1;
  trace::flight_begin(kNode,
                      {trace::text(name_of(node)), signed_value(peer),
                       bytes_of(c, node), signed_value(node.level), number_of(c, id)},
                      c.rank->world_rank);
}

void node_ends(const Collective& c, NodeId id) noexcept {
  trace::flight_end(kNode,
                    {trace::text(name_of(c.nodes[id])), 0, 0, 0, number_of(c, id)},
                    c.rank->world_rank);
}

void work_begins(const Collective& c, const Node& node) noexcept {
  if (node.kind == NodeKind::kNop) return;
  trace::begin(
      kWork, {trace::text(name_of(node)), bytes_of(c, node), signed_value(node.level)},
      c.rank->world_rank);
}

void work_ends(const Node& node) noexcept {
  if (node.kind != NodeKind::kNop) trace::end(kWork);
}

}  // namespace mpc::nbc::tracing
