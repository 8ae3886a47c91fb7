#include "nbc/engine/fused_reduction.h"

#include <algorithm>
#include <cstring>

#include "base/counter.h"
#include "nbc/engine/node_facts.h"
#include "nbc/engine/trace_points.h"

namespace mpc::nbc {
namespace {

Counter fused_counter{"nbc.fused_reductions",
                      "Reductions done together with a message's copy"};

bool is_same(const BufferRef& a, const BufferRef& b) noexcept {
  return a.slot == b.slot && a.offset == b.offset && a.count == b.count &&
         a.type == b.type;
}

// The reduction after a receive, if this execution, which is about to copy the receive's data, can
// do both: the reduction waits for nothing else and would run here as well.
NodeId fusible_reduction(const Collective& c, const Node& node) noexcept {
  const auto successors = c.schedule->successors(node);
  if (successors.size() != 1) return kNoNode;
  const NodeId id = successors.front();
  const Node& next = c.nodes[id];
  if (next.kind != NodeKind::kReduce || c.binding.reduction.is_user) return kNoNode;
  if (!is_same(node.to, next.to) && !is_same(node.to, next.from)) return kNoNode;
  // Acquire, as in complete_node(): what the other predecessors wrote. Once only this receive
  // remains, no other execution decrements the count.
  if (next.predecessor_count > 1 &&
      c.states[id].waiting.load(std::memory_order_acquire) != 1)
    return kNoNode;
  return executor_of(c, next, false) == Executor::kHere ? id : kNoNode;
}

void copy_and_reduce(const Collective& c, const Node& receive, const Node& reduction,
                     const void* data) noexcept {
  constexpr int64_t kPieceBytes = 16 << 10;  // two operands stay in a first-level cache
  const Reduction& r = c.binding.reduction;
  auto *from = static_cast<std::byte*>(c.address(reduction.from)),
       *to = static_cast<std::byte*>(c.address(reduction.to)),
       *arriving = static_cast<std::byte*>(c.address(receive.to));
  const Count count = receive.to.count;
  if (r.apply3 != nullptr && arriving == to)
    return r.apply3(r.context, from, data, to, count);
  const int64_t size = c.type(receive.to).size();
  const Count most = std::max<Count>(kPieceBytes / size, 1);
  for (Count done = 0; done < count; done += most) {
    const Count n = std::min(most, count - done);
    const int64_t at = done * size;
    std::memcpy(arriving + at, static_cast<const std::byte*>(data) + at,
                static_cast<size_t>(n * size));
    r.apply(r.context, from + at, to + at, n);
  }
}

bool take_and_reduce(msg::Request*, void* argument, const void* data) noexcept {
  Message& message = *static_cast<Message*>(argument);
  const Collective& c = *message.owner;
  const Node& receive = c.nodes[message.node];
  const NodeId id = fusible_reduction(c, receive);
  const dt::Datatype& type = c.type(receive.to);
  if (id == kNoNode || !type.is_contiguous() || type.size() == 0) return false;
  if (trace::enabled()) [[unlikely]]
    tracing::node_begins(c, id);
  copy_and_reduce(c, receive, c.nodes[id], data);
  message.fused = id;
  fused_counter.add();
  return true;
}

}  // namespace

constinit const msg::FusedReduction kFusedReduction{&take_and_reduce};

}  // namespace mpc::nbc
