#pragma once
// Machine: cores, caches and NUMA nodes, real or described, and the distances between cores.
//
// Role:      what placement decisions are made from. Wraps hwloc; no hwloc type gets out.
// Users:     scheduler, runtime/job, sim, mpi, tools/mpcinfo.
// Threads:   immutable after creation.
// See also:  docs/topology.md.

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "topology/core.h"

namespace mpc::topo {

class Machine {
 public:
  // The machine we run on, restricted to what cgroup and cpuset allow.
  static Result<std::unique_ptr<Machine>> detect();
  // "knl64", "skylake48", a path of an hwloc XML file, or an hwloc synthetic string.
  // Errors: kNotFound, kArg; the message lists the known names.
  static Result<std::unique_ptr<Machine>> by_name(const std::string& name);
  virtual ~Machine() = default;

  virtual bool is_real() const = 0;  // detect(): binding makes sense
  virtual const std::string& name() const = 0;
  virtual int core_count() const = 0;
  virtual const Core& core(int index) const = 0;
  // The system's numbers of all processing units of a core, Core::os_pu first.
  virtual const std::vector<int>& units(int index) const = 0;
  // Smallest level that contains both cores.
  virtual Level shared_level(int core_a, int core_b) const = 0;
  // A metric: 0 for the same core, growing with the depth of the common ancestor.
  virtual int distance(int core_a, int core_b) const = 0;
  virtual std::string draw() const = 0;  // the text picture of `mpcinfo topology`
};

}  // namespace mpc::topo
