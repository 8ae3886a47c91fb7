#include "topology/draw.h"

#include <fmt/format.h>

#include <algorithm>

namespace mpc::topo {
namespace {

constexpr size_t kColumns = 88;

using Lines = std::vector<std::string>;

std::string size_text(uint64_t bytes) {
  constexpr uint64_t kKib = 1024, kMib = kKib * 1024, kGib = kMib * 1024;
  if (bytes >= 10 * kGib) return fmt::format(", {} GiB", bytes / kGib);
  if (bytes >= kMib) return fmt::format(", {} MiB", bytes / kMib);
  if (bytes > 0) return fmt::format(", {} KiB", bytes / kKib);
  return "";
}

// "; node 4, 16 GiB": other memory of the same cores.
std::string further_text(const Node& node) {
  constexpr size_t kMostNamed = 2;
  if (node.further.size() > kMostNamed)
    return fmt::format("; {} more nodes", node.further.size());
  std::string text;
  for (const Memory& memory : node.further)
    text += fmt::format("; node {}{}", memory.index, size_text(memory.bytes));
  return text;
}

std::string title(const Node& node) {
  const char* kind = "machine";
  switch (node.level) {
    case Level::kMachine:
      break;
    case Level::kPackage:
      kind = "package";
      break;
    case Level::kNuma:
      kind = "NUMA node";
      break;
    case Level::kL3:
      kind = "L3";
      break;
    case Level::kL2:
      kind = "L2";
      break;
    case Level::kL1:
      kind = "L1";
      break;
    case Level::kCore:
      kind = "core";
      break;
  }
  return fmt::format("{} {}{}{}", kind, node.index, size_text(node.bytes),
                     further_text(node));
}

std::string core_text(const Core& core) {
  if (core.pu_count == 1)
    return fmt::format("core {} (cpu {})", core.index, core.os_pu);
  return fmt::format("core {} (cpu {}, {} threads)", core.index, core.os_pu,
                     core.pu_count);
}

bool contains_numa(const Node& node) {
  return node.level == Level::kNuma ||
         std::any_of(node.children.begin(), node.children.end(),
                     [](const auto& child) { return contains_numa(*child); });
}

// A cache with few cores is one item of a line: "[L2 3: core 6 (cpu 24), core 7 (cpu 28)]".
// Empty if the object needs a box of its own.
std::string item_text(const Node& node, const Tree& tree) {
  constexpr size_t kInline = 4;
  if (node.level == Level::kCore) return core_text(tree.cores[node.cores.front()]);
  if (node.cores.size() > kInline || node.level > Level::kL3 || contains_numa(node))
    return "";
  if (node.cores.size() == 1) return core_text(tree.cores[node.cores.front()]);
  std::string text = fmt::format("[{}:", title(node));
  for (int core : node.cores)
    text += fmt::format("{} {}", core == node.cores.front() ? "" : ",",
                        core_text(tree.cores[core]));
  return text + "]";
}

void append_item(Lines& lines, bool& open, const std::string& item, size_t width) {
  if (open && lines.back().size() + 2 + item.size() <= width)
    lines.back() += "  " + item;
  else
    lines.push_back(item);
  open = true;
}

Lines draw_node(const Node& node, const Tree& tree, size_t width);

Lines draw_children(const Node& node, const Tree& tree, size_t width) {
  Lines lines;
  bool open = false;  // may the last line be continued?
  for (const auto& child : node.children) {
    const std::string item = item_text(*child, tree);
    if (!item.empty() && item.size() <= width) {
      append_item(lines, open, item, width);
      continue;
    }
    for (auto& line : draw_node(*child, tree, width)) lines.push_back(std::move(line));
    open = false;
  }
  return lines;
}

Lines draw_node(const Node& node, const Tree& tree, size_t width) {
  const Lines inside = draw_children(node, tree, width - 4);
  Lines lines;
  const std::string head = fmt::format("+- {} ", title(node));
  lines.push_back(head + std::string(width - 1 - head.size(), '-') + "+");
  for (const std::string& line : inside)
    lines.push_back(fmt::format("| {:<{}} |", line, width - 4));
  lines.push_back("+" + std::string(width - 2, '-') + "+");
  return lines;
}

int count(const Node& node, Level level) {
  int found = node.level == level ? 1 + static_cast<int>(node.further.size()) : 0;
  for (const auto& child : node.children) found += count(*child, level);
  return found;
}

std::string plural(int number, const char* noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

}  // namespace

std::string draw_tree(const std::string& name, const Tree& tree) {
  int threads = 0;
  for (const Core& core : tree.cores) threads += core.pu_count;
  std::string text = fmt::format("{}: {}, {}, {}, {}\n", name,
                                 plural(count(*tree.root, Level::kPackage), "package"),
                                 plural(count(*tree.root, Level::kNuma), "NUMA node"),
                                 plural(static_cast<int>(tree.cores.size()), "core"),
                                 plural(threads, "hardware thread"));
  for (const std::string& line : draw_children(*tree.root, tree, kColumns))
    text += line + "\n";
  return text;
}

}  // namespace mpc::topo
