#pragma once
// Parameters: the cost of copies, messages and reductions on a machine.
//
// Role:      the numbers of the calibrated model, the simulator and the emulation.
// Users:     nbc/model, sim, tools/mpcinfo.
// Threads:   values; the functions are pure.
// See also:  docs/overlap-model.md (where the numbers come from), nbc/model/machine_file.h.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mpc::nbc {

// How far apart the two ends of a copy are.
enum class Reach : uint8_t { kCache, kNuma, kMachine };
inline constexpr int kReachCount = 3;

// A machine as the model sees it: cores in order, cut into equal domains.
struct MachineShape {
  int cores = 1;
  int cores_per_cache = 1;  // cores that share a cache, the largest such cache
  int cores_per_numa = 1;
  bool operator==(const MachineShape&) const = default;
};

struct CopyCost {
  double latency_us = 0;     // beside the bytes
  double bandwidth_gbs = 1;  // of one copy alone, 10^9 bytes copied per second
  bool operator==(const CopyCost&) const = default;
};

// The time of a copy and of a sum of so many bytes, depending on whose cache has both buffers: that
// of the core that works (near), or that of another core (far), as for a communication core.
struct CacheCost {
  int64_t bytes = 0;
  double near_copy_us = 0, far_copy_us = 0;
  double near_reduce_us = 0, far_reduce_us = 0;
  bool operator==(const CacheCost&) const = default;
};

// Between hosts. Each host has one link, whose two directions do not disturb each other.
struct NetworkCost {
  double latency_us = 1.5;      // beside the bytes, from link to link
  double bandwidth_gbs = 12.5;  // of one link and direction
  bool operator==(const NetworkCost&) const = default;
};

struct Parameters {
  std::string machine;  // for example "knl64"
  std::string source;   // where the numbers come from, for people
  MachineShape shape;
  double node_us = 0;      // starting and completing one node of a schedule
  double handover_us = 0;  // until a communication core has seen what became ready
  double message_us = 0;   // matching one message
  CopyCost copy[kReachCount];
  double numa_gbs = 0;    // all copies together that touch one NUMA node; 0: no limit
  double reduce_gbs = 1;  // bytes of one operand per second, on one core
  // Starting and ending a non-blocking collective, without its nodes.
  double call_us = 0;
  std::vector<CacheCost> caches;  // by size; empty: not measured
  NetworkCost network;            // of a cluster of such machines
  bool operator==(const Parameters&) const = default;
};

// One copy of `bytes`, while `concurrent` copies (this one included) use its NUMA node.
double copy_us(const Parameters& parameters, Reach reach, int64_t bytes,
               double concurrent = 1) noexcept;
double reduce_us(const Parameters& parameters, int64_t bytes) noexcept;
// One message of `bytes` between two hosts whose links carry nothing else.
double network_us(const Parameters& parameters, int64_t bytes) noexcept;

// The lower value of each field. Requires: the same size.
CacheCost shortest(const CacheCost& a, const CacheCost& b) noexcept;

// The measured line for `bytes`: between two sizes interpolated
// linearly, beyond them in proportion.
// Requires: not empty.
CacheCost cache_cost(const std::vector<CacheCost>& caches, int64_t bytes) noexcept;

// Built in: "knl64", "skylake48", "generic".
std::span<const Parameters> builtin_parameters() noexcept;
const Parameters* builtin_parameters(std::string_view machine) noexcept;
// The built-in set whose shape is closest, with `shape` in place of its own: a guess for a
// machine that has not been measured.
Parameters guess_parameters(const MachineShape& shape);
// The results of a measuring program (mpcinfo calibrate).
struct Measured {
  // Bandwidth 0: the machine has no such pair of cores.
  CopyCost copy[kReachCount] = {{0, 0}, {0, 0}, {0, 0}};
  double numa_gbs = 0;  // all cores of a NUMA node copying
  double reduce_gbs = 0;
  double handover_us = 0;
  double node_us = 0, message_us = 0, call_us = 0;
  std::vector<CacheCost> caches;
};
// The other values, and those that are 0, are guessed as above. `when`: for the source line.
Parameters from_measured(const MachineShape& shape, const Measured& measured,
                         const std::string& when);
// Describes errors in the numbers (negative, zero bandwidth), or returns "".
std::string problem_of(const Parameters& parameters);

}  // namespace mpc::nbc
