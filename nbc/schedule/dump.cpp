// Text and Graphviz forms of a schedule, for people.
#include <fmt/format.h>

#include "nbc/schedule/schedule.h"

namespace mpc::nbc {

namespace {

std::string text(const BufferRef& ref) {
  static constexpr const char* kSlots[] = {"send", "recv", "scratch"};
  const std::string slot =
      ref.slot < 3 ? kSlots[ref.slot] : fmt::format("slot{}", ref.slot);
  const std::string type =
      ref.type == kByteType ? "byte" : fmt::format("type{}", ref.type);
  return fmt::format("{}+{}[{} {}]", slot, ref.offset, ref.count, type);
}

std::string text(const Node& node) {
  switch (node.kind) {
    case NodeKind::kSend:
      return fmt::format("send to {} tag {}: {}", node.peer, node.tag_offset,
                         text(node.from));
    case NodeKind::kRecv:
      return fmt::format("recv from {} tag {}: {}", node.peer, node.tag_offset,
                         text(node.to));
    case NodeKind::kReduce:
      return fmt::format("reduce {} op {}", text(node.from), text(node.to));
    case NodeKind::kCopy:
      if (node.repeat.times == 1)
        return fmt::format("copy {} to {}", text(node.from), text(node.to));
      return fmt::format("copy {} to {}, {} times, strides {} {}", text(node.from),
                         text(node.to), node.repeat.times, node.repeat.from_stride,
                         node.repeat.to_stride);
    case NodeKind::kNop:
      break;
  }
  return "nop";
}

}  // namespace

std::string Schedule::dump() const {
  std::string out = fmt::format("{} nodes, {} bytes of scratch, {} tags\n",
                                nodes_.size(), scratch_bytes_, tag_count_);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    out += fmt::format("{:4} level {} {}{}", i, node.level,
                       node.where == Where::kApplication ? "(application) " : "",
                       text(node));
    if (node.successor_count > 0) out += " ->";
    for (NodeId next : successors(node)) out += fmt::format(" {}", next);
    out += '\n';
  }
  return out;
}

std::string Schedule::graphviz() const {
  static constexpr const char* kColours[] = {"lightblue", "palegreen", "gold", "white",
                                             "grey"};
  std::string out = "digraph schedule {\n  node [shape=box, style=filled];\n";
  for (size_t i = 0; i < nodes_.size(); ++i) {
    out += fmt::format("  n{} [label=\"{}: {}\\nlevel {}\", fillcolor={}];\n", i, i,
                       text(nodes_[i]), nodes_[i].level,
                       kColours[static_cast<int>(nodes_[i].kind)]);
    for (NodeId next : successors(nodes_[i]))
      out += fmt::format("  n{} -> n{};\n", i, next);
  }
  return out + "}\n";
}

}  // namespace mpc::nbc
