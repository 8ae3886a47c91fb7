#include "sim/experiment.h"

#include <algorithm>

#include "nbc/algorithms/nest.h"
#include "nbc/model/levels.h"

namespace mpc::sim {

namespace {

// Counts in bytes: the datatype does not matter here.
nbc::Shape shape(const Experiment& e, int rank, int ranks, int split) {
  nbc::Shape s;
  s.coll = e.coll;
  s.rank = rank;
  s.size = ranks;
  s.root = e.root % ranks;
  s.send_count = s.recv_count = e.bytes;
  nbc::TypeShape byte;
  byte.size = byte.extent = byte.true_extent = 1;
  byte.is_contiguous = true;
  s.send_type = s.recv_type = byte;
  s.split = split;
  s.arity = e.arity;
  s.segment_bytes = e.segment_bytes;
  return s;
}

// Where the ranks live: each has a core of its own.
std::unique_ptr<const nbc::Homes> homes_of(int ranks, int hosts) {
  if (hosts == 1) return nullptr;
  std::vector<int> host, core;
  for (int rank = 0; rank < ranks * hosts; ++rank) {
    host.push_back(rank / ranks);
    core.push_back(rank % ranks);
  }
  return std::make_unique<const nbc::Homes>(host, host, core);
}

using Schedules = std::vector<std::shared_ptr<const nbc::Schedule>>;

Result<Outcome> run(const Experiment& e, const Schedules& schedules, int ranks,
                    double compute_us, const Rules& rules) {
  const Placement placement = place(*e.machine, ranks, e.hosts);
  Run all;
  all.machine = e.machine;
  all.parameters = &e.parameters;
  all.placement = &placement;
  all.schedules = &schedules;
  all.compute_us = compute_us;
  all.rules = rules;
  all.hosts = e.hosts;
  return play(all);
}

}  // namespace

Result<std::vector<std::shared_ptr<const nbc::Schedule>>> build_all(const Experiment& e,
                                                                    int ranks,
                                                                    int split) {
  const auto homes = homes_of(ranks, e.hosts);
  Schedules schedules;
  for (int rank = 0; rank < ranks * e.hosts; ++rank) {
    nbc::Shape s = shape(e, rank, ranks * e.hosts, split);
    s.homes = homes.get();
    s.is_nonblocking = e.hosts > 1;
    auto built = nbc::build(s, *e.algorithm);
    if (!built) return built.error();
    schedules.push_back(*built);
  }
  return schedules;
}

Result<double> simulate_blocking(const Experiment& e, int ranks) {
  Rules rules = e.rules;
  rules.all_on_application = true;
  auto schedules = build_all(e, ranks, 0);
  if (!schedules) return schedules.error();
  auto outcome = run(e, *schedules, ranks, 0, rules);
  if (!outcome) return outcome.error();
  return outcome->time_us;
}

Result<Point> simulate(const Experiment& e, int ranks, int max_split, double full_us) {
  const int cores = e.machine->core_count();
  Point point;
  point.ranks = ranks;
  point.height = nbc::tree_height(ranks) + nbc::tree_height(e.hosts);
  point.compute_us = full_us * cores / ranks;
  auto blocking = simulate_blocking(e, ranks);
  if (!blocking) return blocking.error();
  point.blocking_us = *blocking;
  for (int split = 0; split <= max_split; ++split) {
    if (split > point.height) {  // larger splits change nothing
      point.nonblocking_us.push_back(point.nonblocking_us.back());
      point.overlapped_us.push_back(point.overlapped_us.back());
      continue;
    }
    auto schedules = build_all(e, ranks, split);
    if (!schedules) return schedules.error();
    auto alone = run(e, *schedules, ranks, 0, e.rules);
    if (!alone) return alone.error();
    auto overlapped = run(e, *schedules, ranks, point.compute_us, e.rules);
    if (!overlapped) return overlapped.error();
    point.nonblocking_us.push_back(alone->time_us);
    point.overlapped_us.push_back(overlapped->time_us);
  }
  const auto& times = point.overlapped_us;
  point.best_split =
      static_cast<int>(std::min_element(times.begin(), times.end()) - times.begin());
  nbc::Situation situation;
  situation.coll = e.coll;
  situation.ranks = situation.application_cores = ranks;
  situation.communication_cores = cores - ranks;
  situation.bytes = e.bytes;
  situation.window_us = point.compute_us;
  situation.algorithm = e.algorithm->name;
  situation.arity = e.arity;
  situation.segment_bytes = e.segment_bytes;
  situation.hosts = e.hosts;
  point.chosen_split = std::min(nbc::choose(situation, e.parameters).split, max_split);
  return point;
}

Result<std::vector<Point>> simulate_all(const Experiment& e, int first, int last,
                                        int step) {
  const int cores = e.machine->core_count();
  auto full = simulate_blocking(e, cores);
  if (!full) return full.error();
  std::vector<Point> points;
  for (int ranks = first; ranks <= last; ranks += step) {
    auto point = simulate(e, ranks, nbc::tree_height(cores), *full);
    if (!point) return point.error();
    points.push_back(std::move(*point));
  }
  return points;
}

}  // namespace mpc::sim
