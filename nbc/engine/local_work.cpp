#include "nbc/engine/local_work.h"

#include <algorithm>
#include <cstring>

#include "nbc/engine/node_facts.h"
#include "nbc/engine/trace_points.h"
#include "scheduler/emulation/emulation.h"

namespace mpc::nbc {
namespace {

// Blocks of a number each: a call of memcpy costs more than the copy.
template <size_t kBytes>
void copy_numbers(const Collective& c, const Node& node) {
  const auto* from = static_cast<const std::byte*>(c.address(node.from));
  auto* to = static_cast<std::byte*>(c.address(node.to));
  for (Count i = 0; i < node.repeat.times; ++i) {
    std::memcpy(to, from, kBytes);
    from += node.repeat.from_stride;
    to += node.repeat.to_stride;
  }
}

void copy_blocks(const Collective& c, const Node& node) {
  BufferRef from = node.from, to = node.to;
  const dt::Datatype &from_type = c.type(from), &to_type = c.type(to);
  const bool is_plain = from_type.is_contiguous() && to_type.is_contiguous();
  const int64_t bytes =
      std::min(from.count * from_type.size(), to.count * to_type.size());
  if (is_plain && bytes == 8) return copy_numbers<8>(c, node);
  if (is_plain && bytes == 4) return copy_numbers<4>(c, node);
  for (Count i = 0; i < node.repeat.times; ++i) {
    if (is_plain)
      std::memcpy(c.address(to), c.address(from), static_cast<size_t>(bytes));
    else
      dt::copy(c.address(to), to_type, to.count, c.address(from), from_type,
               from.count);
    from.offset += node.repeat.from_stride;
    to.offset += node.repeat.to_stride;
  }
}

void copy_or_reduce(const Collective& c, const Node& node) {
  using Emulated = sched::EmulatedLocal;
  if (node.kind == NodeKind::kCopy) {
    const Emulated emulated(Emulated::kCopy, work_bytes(c, node));
    copy_blocks(c, node);
  } else if (node.kind == NodeKind::kReduce) {
    const Emulated emulated(Emulated::kReduce, work_bytes(c, node));
    const Reduction& r = c.binding.reduction;
    r.apply(r.context, c.address(node.from), c.address(node.to), node.to.count);
  }
}

}  // namespace

void do_work(const Collective& c, const Node& node) {
  const bool is_traced = trace::enabled();
  if (is_traced) [[unlikely]]
    tracing::work_begins(c, node);
  copy_or_reduce(c, node);
  if (is_traced) [[unlikely]]
    tracing::work_ends(node);
}

}  // namespace mpc::nbc
