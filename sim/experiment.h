#pragma once
// Experiment: the paper's benchmark on a simulated machine.
//
// Role:      a fixed problem, N ranks of `cores` cores, one collective that overlaps with
//            computation: its time for every S, for a blocking call, and with the S that the
//            model chooses.
// Users:     tools/mpcinfo, tests.
// Threads:   one; deterministic.
// See also:  Denis et al. 2018, section 6; sim/player.h; nbc/model/chooser.h.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "nbc/algorithms/collectives.h"
#include "nbc/model/chooser.h"
#include "sim/player.h"

namespace mpc::sim {

struct Experiment {
  const topo::Machine* machine = nullptr;
  nbc::Parameters parameters;
  nbc::Coll coll = nbc::Coll::kBcast;
  int64_t bytes = 2 << 20;  // one rank's buffer, or its block
  int root = 0;
  const nbc::Algorithm* algorithm = nullptr;
  int arity = 2;                     // of k-nomial trees
  int64_t segment_bytes = 64 << 10;  // of segmented algorithms
  Rules rules;
  // The number of hosts like `machine`; ranks and cores are then those of one host. The algorithm
  // must be "tree" or "tree_segmented": others do not know hosts.
  int hosts = 1;
};

// One N. Times in microseconds.
struct Point {
  int ranks = 0, height = 0;  // ranks of a host, levels of the whole tree
  double compute_us =
      0;  // C(N) = cores / N * the blocking time with a rank on each core
  double blocking_us = 0;  // a blocking call of these ranks, without computation
  std::vector<double> nonblocking_us;  // start and wait at once, for S = 0, 1, ...
  std::vector<double> overlapped_us;   // start, compute, wait
  int best_split = 0;                  // lowest S on ties
  int chosen_split = 0;                // by the calibrated model
  double best_us() const { return overlapped_us[static_cast<size_t>(best_split)]; }
  double chosen_us() const { return overlapped_us[static_cast<size_t>(chosen_split)]; }
};

// The schedules of all ranks on all hosts.
// Errors: those of nbc::build().
Result<std::vector<std::shared_ptr<const nbc::Schedule>>> build_all(
    const Experiment& experiment, int ranks, int split);

// A blocking call with `ranks` ranks.
Result<double> simulate_blocking(const Experiment& experiment, int ranks);

// `full_us`: simulate_blocking() with a rank on each core. S = 0..max_split.
// Requires: 2 <= ranks < cores.
Result<Point> simulate(const Experiment& experiment, int ranks, int max_split,
                       double full_us);

// N = first..last in steps; S = 0..H(cores).
Result<std::vector<Point>> simulate_all(const Experiment& experiment, int first,
                                        int last, int step);

}  // namespace mpc::sim
