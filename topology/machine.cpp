#include "topology/machine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "topology/cluster_name.h"
#include "topology/draw.h"
#include "topology/tree.h"

namespace mpc::topo {
namespace {

struct KnownMachine {
  const char* name;
  const char* synthetic;
};

constexpr KnownMachine kKnownMachines[] = {
    // Intel Xeon Phi 7210 in quadrant mode: tiles of two cores that share an L2 cache.
    {"knl64", "pack:1 numa:1 l2:32 core:2 pu:4"},
    // Two sockets of Intel Xeon Skylake with 24 cores each.
    {"skylake48", "pack:2 numa:1 l3:1 l2:24 core:1 pu:1"},
};

constexpr size_t kLevels = static_cast<size_t>(Level::kMachine) + 1;
constexpr int kNone = -1;

class MachineImpl final : public Machine {
 public:
  MachineImpl(std::string name, bool real, Tree tree)
      : name_(std::move(name)), real_(real), tree_(std::move(tree)) {
    objects_.resize(tree_.cores.size());
    for (auto& objects : objects_) objects.fill(kNone);
    record(*tree_.root);
    for (size_t i = 0; i < objects_.size(); ++i)
      objects_[i][static_cast<size_t>(Level::kCore)] = static_cast<int>(i);
  }

  bool is_real() const override { return real_; }
  const std::string& name() const override { return name_; }
  int core_count() const override { return static_cast<int>(tree_.cores.size()); }

  const Core& core(int index) const override {
    CHECK(index >= 0 && index < core_count(), "no such core");
    return tree_.cores[static_cast<size_t>(index)];
  }
  const std::vector<int>& units(int index) const override {
    CHECK(index >= 0 && index < core_count(), "no such core");
    return tree_.units[static_cast<size_t>(index)];
  }

  Level shared_level(int core_a, int core_b) const override {
    const auto& a = objects_[static_cast<size_t>(core(core_a).index)];
    const auto& b = objects_[static_cast<size_t>(core(core_b).index)];
    for (size_t level = 0; level < kLevels; ++level)
      if (a[level] != kNone && a[level] == b[level]) return static_cast<Level>(level);
    return Level::kMachine;
  }

  int distance(int core_a, int core_b) const override {
    return static_cast<int>(shared_level(core_a, core_b));
  }

  std::string draw() const override { return draw_tree(name_, tree_); }

 private:
  void record(const Node& node) {
    for (int core : node.cores)
      objects_[static_cast<size_t>(core)][static_cast<size_t>(node.level)] = node.index;
    for (const auto& child : node.children) record(*child);
  }

  std::string name_;
  bool real_;
  Tree tree_;
  // Per core and level the object that contains it.
  std::vector<std::array<int, kLevels>> objects_;
};

Result<std::unique_ptr<Machine>> make(std::string name, Source source,
                                      const std::string& text) {
  Result<Tree> tree = read_tree(source, text);
  if (!tree) return tree.error();
  return std::unique_ptr<Machine>(std::make_unique<MachineImpl>(
      std::move(name), source == Source::kSystem, std::move(tree).value()));
}

std::string known_names() {
  std::string names;
  for (const KnownMachine& machine : kKnownMachines)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", machine.name);
  return names;
}

}  // namespace

Result<std::unique_ptr<Machine>> Machine::detect() {
  return make("this machine", Source::kSystem, "");
}

Result<std::unique_ptr<Machine>> Machine::by_name(const std::string& name) {
  for (const KnownMachine& machine : kKnownMachines)
    if (name == machine.name) return make(name, Source::kSynthetic, machine.synthetic);
  if (parse_cluster(name))
    return {Errc::kArg,
            fmt::format("machine '{}': several hosts, which only the models know "
                        "(mpcinfo model, simulate, advise)",
                        name)};
  if (name.ends_with(".xml") || name.find('/') != std::string::npos) {
    if (access(name.c_str(), R_OK) != 0)
      return {Errc::kNotFound, fmt::format("{}: no such topology file", name)};
    return make(name, Source::kXmlFile, name);
  }
  auto machine = make(name, Source::kSynthetic, name);
  if (machine.ok()) return machine;
  return {Errc::kArg,
          fmt::format(
              "machine '{}': neither a known name ({}), nor an hwloc XML file, nor a "
              "synthetic description such as \"pack:2 core:4 pu:2\"",
              name, known_names())};
}

}  // namespace mpc::topo
