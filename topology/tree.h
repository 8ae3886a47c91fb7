#pragma once
// Tree: what is kept of a machine's topology: objects that contain cores.
//
// Role:      the plain data between hwloc (topology/hwloc_reader.cpp) and Machine.
// Users:     topology only.
// Threads:   immutable after creation.
// See also:  topology/machine.h.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "topology/core.h"

namespace mpc::topo {

struct Memory {
  int index;  // logical, among the NUMA nodes
  uint64_t bytes;
};

// A machine, package, NUMA node, cache or core. Objects that contain one object of the same
// cores are kept: the drawing shows them.
struct Node {
  Level level = Level::kMachine;
  int index = 0;       // logical, among the objects of its level
  uint64_t bytes = 0;  // size of a cache or of a node's memory; 0: unknown
  // Of a NUMA node: others with the same cores (high-bandwidth memory, memory of a device).
  std::vector<Memory> further;
  std::vector<int> cores;
  std::vector<std::unique_ptr<Node>> children;
};

struct Tree {
  std::unique_ptr<Node> root;
  std::vector<Core> cores;
  std::vector<std::vector<int>> units;  // by core: the system's numbers
};

// Where a topology comes from: the running system, an XML file or a synthetic description.
enum class Source { kSystem, kXmlFile, kSynthetic };

// The one function that knows hwloc.
// Errors: kSystem, kNotFound, kArg. Cost: a few ms for the running system.
Result<Tree> read_tree(Source source, const std::string& text);

}  // namespace mpc::topo
