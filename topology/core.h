#pragma once
// Core, Level: one core of a machine, and the sizes of what contains it.
//
// Role:      the words in which a machine is described.
// Users:     topology/machine.h, topology/tree.h.
// Threads:   plain data.
// See also:  docs/topology.md.

namespace mpc::topo {

enum class Level { kCore, kL1, kL2, kL3, kNuma, kPackage, kMachine };

struct Core {
  int index;          // logical index among the machine's cores, 0..core_count()-1
  int os_pu;          // operating system's number of its first processing unit
  int pu_count;       // hardware threads
  int numa, package;  // logical indices; of cores without a node: docs/topology.md
  int os_numa;        // operating system's number of the NUMA node, for mbind; -1: none
};

}  // namespace mpc::topo
