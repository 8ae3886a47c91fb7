#include "scheduler/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <numeric>
#include <utility>

namespace mpc::sched {
namespace {

// Workers in the order in which kScatter fills them: each is as far as possible from all workers
// before it (ties: the lowest number).
std::vector<int> spread_order(const topo::Machine& machine,
                              const std::vector<int>& cores) {
  std::vector<int> order;
  // Per worker: distance to the nearest chosen one, and how many chosen ones are that near.
  std::vector<int> nearest(cores.size(), INT_MAX), ties(cores.size(), 0);
  std::vector<bool> chosen(cores.size(), false);
  while (order.size() < cores.size()) {
    size_t best = cores.size();
    for (size_t i = 0; i < cores.size(); ++i) {
      if (chosen[i]) continue;
      if (best == cores.size() || nearest[i] > nearest[best] ||
          (nearest[i] == nearest[best] && ties[i] < ties[best]))
        best = i;
    }
    chosen[best] = true;
    order.push_back(static_cast<int>(best));
    for (size_t i = 0; i < cores.size(); ++i) {
      const int distance = machine.distance(cores[best], cores[i]);
      if (distance < nearest[i]) {
        nearest[i] = distance;
        ties[i] = 0;
      }
      if (distance == nearest[i]) ++ties[i];
    }
  }
  return order;
}

// Cores have logical numbers in the order of the tree: neighbours have near numbers.
std::vector<int> neighbour_order(const std::vector<int>& cores) {
  std::vector<int> order(cores.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return cores[static_cast<size_t>(a)] < cores[static_cast<size_t>(b)];
  });
  return order;
}

Result<std::vector<int>> place_by_list(const std::vector<int>& worker_cores,
                                       size_t ranks, const std::vector<int>& list) {
  if (list.empty()) return {Errc::kArg, "placement by list needs a list of cores"};
  std::vector<int> workers;
  for (int core : list) {
    const auto found = std::find(worker_cores.begin(), worker_cores.end(), core);
    if (found == worker_cores.end())
      return {Errc::kArg, fmt::format("placement list: core {} has no worker", core)};
    workers.push_back(static_cast<int>(found - worker_cores.begin()));
  }
  std::vector<int> result(ranks);
  for (size_t rank = 0; rank < ranks; ++rank)
    result[rank] = workers[rank % workers.size()];
  return result;
}

}  // namespace

Result<std::vector<int>> place_ranks(const topo::Machine& machine,
                                     const std::vector<int>& worker_cores,
                                     int rank_count, Placement placement,
                                     const std::vector<int>& list) {
  if (rank_count < 1) return {Errc::kArg, "placement: no ranks"};
  if (worker_cores.empty()) return {Errc::kArg, "placement: no workers"};
  const auto ranks = static_cast<size_t>(rank_count);
  if (placement == Placement::kList) return place_by_list(worker_cores, ranks, list);
  const size_t workers = worker_cores.size();
  std::vector<int> result(ranks);
  if (placement == Placement::kScatter) {
    const std::vector<int> order = spread_order(machine, worker_cores);
    for (size_t rank = 0; rank < ranks; ++rank) result[rank] = order[rank % workers];
  } else {
    const std::vector<int> order = neighbour_order(worker_cores);
    for (size_t rank = 0; rank < ranks; ++rank)
      result[rank] = order[ranks <= workers ? rank : rank * workers / ranks];
  }
  return result;
}

namespace {

// The index in `free` of the core nearest to `core`; among equals the next one upwards, so
// that evenly spaced workers get the cores between them.
size_t nearest_of(const topo::Machine& machine, int core,
                  const std::vector<int>& free) {
  const int count = machine.core_count();
  const auto rank_of = [&](int other) {
    return std::pair(machine.distance(core, other), (other - core + count) % count);
  };
  const auto nearest = std::min_element(
      free.begin(), free.end(), [&](int a, int b) { return rank_of(a) < rank_of(b); });
  return static_cast<size_t>(nearest - free.begin());
}

}  // namespace

std::vector<std::vector<int>> share_cores(const topo::Machine& machine,
                                          const std::vector<int>& worker_cores,
                                          const std::vector<int>& pool) {
  std::vector<std::vector<int>> shares;
  for (const int core : worker_cores) shares.push_back({core});
  std::vector<int> free = pool;
  std::sort(free.begin(), free.end());
  free.erase(std::unique(free.begin(), free.end()), free.end());
  for (const int core : worker_cores) std::erase(free, core);
  // The workers take one core each in turn, so that no worker is left with distant cores only.
  while (!worker_cores.empty() && free.size() >= worker_cores.size()) {
    for (size_t i = 0; i < worker_cores.size(); ++i) {
      const size_t at = nearest_of(machine, worker_cores[i], free);
      shares[i].push_back(free[at]);
      free.erase(free.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
  return shares;
}

}  // namespace mpc::sched
