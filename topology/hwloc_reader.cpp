// The only file that includes hwloc.
#include <fmt/format.h>
#include <hwloc.h>

#include <cerrno>
#include <cstring>

#include "topology/tree.h"

namespace mpc::topo {
namespace {

class Topology {
 public:
  Topology() { ok_ = hwloc_topology_init(&handle_) == 0; }
  ~Topology() {
    if (ok_) hwloc_topology_destroy(handle_);
  }
  Topology(const Topology&) = delete;
  bool ok() const { return ok_; }
  operator hwloc_topology_t() const { return handle_; }

 private:
  hwloc_topology_t handle_ = nullptr;
  bool ok_ = false;
};

Error cannot_read(Source source, const std::string& text) {
  switch (source) {
    case Source::kSystem:
      return {Errc::kSystem,
              fmt::format("hwloc cannot read this machine's topology: {}",
                          std::strerror(errno))};
    case Source::kXmlFile:
      return {Errc::kArg, fmt::format("{}: not an hwloc XML file", text)};
    case Source::kSynthetic:
      break;
  }
  return {Errc::kArg, fmt::format("'{}' is no hwloc synthetic description", text)};
}

// Packages, NUMA nodes, caches and cores only; no I/O devices, no Misc, no extra matrices.
unsigned long flags_for(Source source) {
  unsigned long flags = HWLOC_TOPOLOGY_FLAG_NO_DISTANCES |
                        HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS |
                        HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS;
  // taskset and a resource manager's binding count like the cgroup, which is the default.
  if (source == Source::kSystem)
    flags |=
        HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM | HWLOC_TOPOLOGY_FLAG_RESTRICT_TO_CPUBINDING;
  return flags;
}

bool set_source(hwloc_topology_t topology, Source source, const std::string& text) {
  switch (source) {
    case Source::kSystem:
      // The x86 component reads cpuid on every core in turn by moving the thread there; the
      // kernel's files say the same.
      hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
                                    "x86");
      return true;
    case Source::kXmlFile:
      return hwloc_topology_set_xml(topology, text.c_str()) == 0;
    case Source::kSynthetic:
      return hwloc_topology_set_synthetic(topology, text.c_str()) == 0;
  }
  return false;
}

// ---- copying hwloc's tree ----------------------------------------------------------------

bool level_of(hwloc_obj_t object, Level& level) {
  switch (object->type) {
    case HWLOC_OBJ_MACHINE:
      level = Level::kMachine;
      return true;
    case HWLOC_OBJ_PACKAGE:
      level = Level::kPackage;
      return true;
    case HWLOC_OBJ_NUMANODE:
      level = Level::kNuma;
      return true;
    case HWLOC_OBJ_L3CACHE:
      level = Level::kL3;
      return true;
    case HWLOC_OBJ_L2CACHE:
      level = Level::kL2;
      return true;
    case HWLOC_OBJ_L1CACHE:
      level = Level::kL1;
      return true;
    case HWLOC_OBJ_CORE:
      level = Level::kCore;
      return true;
    default:
      return false;
  }
}

class Reader {
 public:
  explicit Reader(hwloc_topology_t topology) : topology_(topology) {}

  Tree read() {
    read_cores();
    auto root = std::make_unique<Node>();
    hwloc_obj_t machine = hwloc_get_root_obj(topology_);
    std::vector<int> all(cores_.size());
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
    root->cores = cores_in(machine->cpuset, all);
    copy_children(machine, *root);
    Tree tree;
    tree.root = std::move(root);
    tree.cores = std::move(cores_);
    tree.units = std::move(units_);
    return tree;
  }

 private:
  // A machine whose description has no cores (some virtual ones) gets one per PU.
  void read_cores() {
    core_type_ = hwloc_get_nbobjs_by_type(topology_, HWLOC_OBJ_CORE) > 0
                     ? HWLOC_OBJ_CORE
                     : HWLOC_OBJ_PU;
    const int count = hwloc_get_nbobjs_by_type(topology_, core_type_);
    const int node_count = hwloc_get_nbobjs_by_type(topology_, HWLOC_OBJ_NUMANODE);
    for (int i = 0; i < count; ++i) {
      hwloc_obj_t core =
          hwloc_get_obj_by_type(topology_, core_type_, static_cast<unsigned>(i));
      hwloc_obj_t package =
          hwloc_get_ancestor_obj_by_type(topology_, HWLOC_OBJ_PACKAGE, core);
      const int package_index =
          package != nullptr ? static_cast<int>(package->logical_index) : 0;
      hwloc_obj_t node = numa_of(core);
      cores_.push_back(
          {i, hwloc_bitmap_first(core->cpuset), hwloc_bitmap_weight(core->cpuset),
           node != nullptr ? static_cast<int>(node->logical_index)
                           : node_count + package_index,
           package_index, node != nullptr ? static_cast<int>(node->os_index) : -1});
      units_.push_back(numbers_in(core->cpuset));
    }
  }

  static std::vector<int> numbers_in(hwloc_const_bitmap_t set) {
    std::vector<int> numbers;
    for (int i = hwloc_bitmap_first(set); i >= 0; i = hwloc_bitmap_next(set, i))
      numbers.push_back(i);
    return numbers;
  }

  hwloc_obj_t numa_of(hwloc_obj_t core) const {
    hwloc_obj_t node = nullptr;
    while ((node = hwloc_get_next_obj_by_type(topology_, HWLOC_OBJ_NUMANODE, node)))
      if (hwloc_bitmap_isincluded(core->cpuset, node->cpuset)) return node;
    return nullptr;
  }

  // Those of `candidates`, so that a machine of 10,000 cores is not searched 10,000 times.
  std::vector<int> cores_in(hwloc_const_bitmap_t cpuset,
                            const std::vector<int>& candidates) const {
    std::vector<int> result;
    for (int i : candidates) {
      hwloc_obj_t core =
          hwloc_get_obj_by_type(topology_, core_type_, static_cast<unsigned>(i));
      if (hwloc_bitmap_isincluded(core->cpuset, cpuset)) result.push_back(i);
    }
    return result;
  }

  // Behind memory-side caches, too (a Xeon Phi's fast memory as a cache).
  static void collect_memory(hwloc_obj_t object, std::vector<hwloc_obj_t>& nodes) {
    for (hwloc_obj_t child = object->memory_first_child; child != nullptr;
         child = child->next_sibling) {
      if (child->type == HWLOC_OBJ_NUMANODE) nodes.push_back(child);
      collect_memory(child, nodes);
    }
  }

  // hwloc hangs a NUMA node beside its cores ("memory child"); here it contains them. The first
  // one does, which is the usual memory.
  Node& enter_memory(hwloc_obj_t object, Node& parent) {
    std::vector<hwloc_obj_t> nodes;
    collect_memory(object, nodes);
    if (nodes.empty()) return parent;
    Node& first = add(nodes.front(), Level::kNuma, parent);
    for (size_t i = 1; i < nodes.size(); ++i)
      first.further.push_back({static_cast<int>(nodes[i]->logical_index),
                               nodes[i]->attr->numanode.local_memory});
    return first;
  }

  void copy_children(hwloc_obj_t object, Node& into) {
    Node& parent = enter_memory(object, into);
    for (hwloc_obj_t child = object->first_child; child != nullptr;
         child = child->next_sibling)
      copy(child, parent);
  }

  void copy(hwloc_obj_t object, Node& parent) {
    Level level;
    if (object->type == core_type_) {
      add(object, Level::kCore, enter_memory(object, parent));
    } else if (level_of(object, level)) {
      copy_children(object, add(object, level, parent));
    } else {  // a group, die or instruction cache: its children belong to the parent
      copy_children(object, parent);
    }
  }

  Node& add(hwloc_obj_t object, Level level, Node& parent) {
    auto node = std::make_unique<Node>();
    node->level = level;
    node->index = static_cast<int>(object->logical_index);
    if (level == Level::kCore)
      node->cores = {node->index};
    else
      node->cores = cores_in(object->cpuset, parent.cores);
    if (level == Level::kNuma)
      node->bytes = object->attr->numanode.local_memory;
    else if (level == Level::kL1 || level == Level::kL2 || level == Level::kL3)
      node->bytes = object->attr->cache.size;
    parent.children.push_back(std::move(node));
    return *parent.children.back();
  }

  hwloc_topology_t topology_;
  hwloc_obj_type_t core_type_ = HWLOC_OBJ_CORE;
  std::vector<Core> cores_;
  std::vector<std::vector<int>> units_;  // by core
};

}  // namespace

Result<Tree> read_tree(Source source, const std::string& text) {
  Topology topology;
  if (!topology.ok()) return {Errc::kNoMem, "hwloc cannot be initialised"};
  hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL);
  hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_type_filter(topology, HWLOC_OBJ_MISC, HWLOC_TYPE_FILTER_KEEP_NONE);
  if (hwloc_topology_set_flags(topology, flags_for(source)) != 0 ||
      !set_source(topology, source, text) || hwloc_topology_load(topology) != 0)
    return cannot_read(source, text);
  return Reader(topology).read();
}

}  // namespace mpc::topo
