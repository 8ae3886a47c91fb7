#include "nbc/algorithms/select.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/settings.h"
#include "nbc/algorithms/nest.h"
#include "nbc/algorithms/parts.h"
#include "nbc/schedule/limits.h"

namespace mpc::nbc {

namespace {

// Removes and returns the next entry of "collective:algorithm,collective:algorithm".
std::string_view take_entry(std::string_view* rest) noexcept {
  const size_t comma = std::min(rest->find(','), rest->size());
  const std::string_view entry = rest->substr(0, comma);
  rest->remove_prefix(std::min(comma + 1, rest->size()));
  return entry;
}

std::string names_of_algorithms(Coll coll) {
  std::string out;
  for (const Algorithm& algorithm : algorithms(coll)) {
    if (!out.empty()) out += ", ";
    out += algorithm.name;
  }
  return out;
}

std::string fault_of(std::string_view text) {
  while (!text.empty()) {
    const std::string_view entry = take_entry(&text);
    const size_t colon = entry.find(':');
    if (colon == std::string_view::npos)
      return fmt::format("'{}' names no algorithm", entry);
    const auto coll = coll_of_name(entry.substr(0, colon));
    if (!coll)
      return fmt::format("there is no collective '{}'", entry.substr(0, colon));
    const std::string_view name = entry.substr(colon + 1);
    if (find_algorithm(*coll, name) == nullptr) {
      return fmt::format("{} has no algorithm '{}' but {}", name_of(*coll), name,
                         names_of_algorithms(*coll));
    }
  }
  return {};
}

StringSetting algorithm_setting{
    "nbc.algorithm", "",
    "Algorithm of collectives, instead of the choice by size: "
    "allreduce:ring,bcast:chain.",
    "collective:algorithm, separated by commas (docs/collectives.md)", &fault_of};

}  // namespace

const Algorithm* wanted_algorithm(const Shape& s) {
  if (algorithm_setting.is_default()) return nullptr;
  const std::string text = algorithm_setting.get();
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view entry = take_entry(&rest);
    const size_t colon = entry.find(':');
    if (entry.substr(0, colon) != name_of(s.coll)) continue;
    const Algorithm* found = find_algorithm(s.coll, entry.substr(colon + 1));
    if (found != nullptr && is_applicable(*found, s)) return found;
  }
  return nullptr;
}

namespace {

// The size that decides, in bytes: one block of gather-like collectives, the vector of reductions.
int64_t deciding_bytes(const Shape& s) {
  switch (s.coll) {
    case Coll::kReduceScatterBlock:
      return s.size * total_bytes(s.recv_count, s.recv_type);
    case Coll::kReduceScatter:
    case Coll::kAllgatherv: {
      int64_t all = 0;
      for (Count count : s.recv_counts) all += total_bytes(count, s.recv_type);
      return all;
    }
    default:
      return block_bytes(s);
  }
}

constexpr int kManyRanks = 512;  // more messages than this are not started at once

// Between processes: from this size on a segment is worth a message of its own. For larger blocks
// than kHomesBlock the ranks' own messages go directly to the root, so that no data are copied only
// to be passed on.
constexpr int64_t kHomesSegmented = 256 << 10;
constexpr int64_t kHomesBlock = 64 << 10;

// Leaders copy the blocks of an alltoall four more times, and need memory for four times the blocks
// of all their ranks.
constexpr int64_t kHomesAlltoallBlock = 1 << 10;
constexpr int64_t kHomesAlltoallLeader = 16 << 20;
constexpr int64_t kHomesScanGathered = 32 << 10;  // all values at one rank

const char* choose_reduction_over_homes(const Shape& s, int64_t bytes) {
  const bool is_scan = s.coll == Coll::kScan || s.coll == Coll::kExscan;
  if (!is_scan) {
    if (bytes < limit(Limit::kReduceScatterLinear, false) || s.size > kManyRanks)
      return "tree";
    return regions_of_reduction(s) != nullptr ? "two_level" : "linear";
  }
  if (s.homes->rows() != nullptr) return "two_level";
  return bytes <= kHomesScanGathered / s.size ? "tree" : nullptr;
}

// For several processes with several ranks each: algorithms in which only the leaders exchange
// messages between them. Null: as in one process.
const char* choose_over_homes(const Shape& s) {
  const int64_t bytes = deciding_bytes(s);
  switch (s.coll) {
    case Coll::kBarrier:
      return "tree";
    case Coll::kBcast:
    case Coll::kReduce:
    case Coll::kAllreduce:
      return bytes < kHomesSegmented ? "tree" : "tree_segmented";
    case Coll::kAllgather:
      return s.size * bytes <= limit(Limit::kAllgatherWhole, false) ? "tree" : "ring";
    case Coll::kGather:
    case Coll::kScatter:
      return bytes <= kHomesBlock ? "tree" : "linear";
    case Coll::kAllgatherv:
      return bytes <= limit(Limit::kAllgatherWhole, false) ? "tree" : "ring";
    case Coll::kAlltoall:
      return bytes <= kHomesAlltoallBlock &&
                     bytes * s.size * s.homes->regions().most() <= kHomesAlltoallLeader
                 ? "two_level"
                 : nullptr;
    case Coll::kReduceScatter:
    case Coll::kReduceScatterBlock:
    case Coll::kScan:
    case Coll::kExscan:
      return choose_reduction_over_homes(s, bytes);
    default:
      return nullptr;
  }
}

// True: four more copies, as above, cost less than the n messages of each rank, which now sends
// two.
bool goes_over_workers(const Shape& s, int64_t bytes) {
  return s.workers != nullptr && bytes <= limit(Limit::kAlltoallWorkers, true) &&
         bytes * s.size * s.workers->regions().most() <= kHomesAlltoallLeader;
}

// `is_folded`: several ranks share a core, so the number of messages counts and not the length of
// the longest path.
const char* choose(const Shape& s, bool is_folded) {
  const int64_t bytes = deciding_bytes(s);
  const int n = s.size;
  const auto at = [&](Limit which) { return limit(which, s.is_in_one_process); };
  switch (s.coll) {
    case Coll::kBarrier:
      return is_folded ? "tree" : "dissemination";
    case Coll::kBcast:
      if (bytes < at(Limit::kBcastSegmented)) return "tree";
      return is_folded || n <= 8 ? "tree_segmented" : "scatter_ring";
    case Coll::kReduce:
      return bytes < at(Limit::kReduceSegmented) ? "tree" : "binomial_segmented";
    case Coll::kAllreduce:
      if (n > 2 && bytes >= at(is_folded ? Limit::kAllreduceHalvingFolded
                                         : Limit::kAllreduceHalving))
        return "halving";
      return is_folded ? "tree" : "recursive_doubling";
    case Coll::kGather:
    case Coll::kScatter:
      return !is_folded && n > 16 && bytes <= at(Limit::kGatherBinomial) ? "binomial"
                                                                         : "linear";
    case Coll::kAllgather:
      if (is_folded)
        return n * bytes <= at(Limit::kAllgatherWhole) ? "gather_bcast" : "ring";
      return n * bytes <= at(Limit::kAllgatherBruck) ? "bruck" : "ring";
    case Coll::kAllgatherv:
      return is_folded && bytes <= at(Limit::kAllgatherWhole) ? "gather_bcast" : "ring";
    case Coll::kAlltoall:
      if (is_folded && goes_over_workers(s, bytes)) return "two_level";
      if (n >= 16 && bytes <= at(Limit::kAlltoallBruck)) return "bruck";
      return n > kManyRanks ? "pairwise" : "linear";
    case Coll::kAlltoallv:
    case Coll::kAlltoallw:
      return n > kManyRanks ? "pairwise" : "linear";
    case Coll::kReduceScatterBlock:
    case Coll::kReduceScatter:
      return bytes >= at(Limit::kReduceScatterLinear) && n <= kManyRanks
                 ? "linear"
                 : "reduce_scatter";
    case Coll::kScan:
    case Coll::kExscan:
      return is_folded ? "linear" : "doubling";
    default:
      return "linear";
  }
}

}  // namespace

int count_places(std::span<const int> place_of_rank) {
  std::vector<int> places(place_of_rank.begin(), place_of_rank.end());
  std::sort(places.begin(), places.end());
  return static_cast<int>(std::unique(places.begin(), places.end()) - places.begin());
}

const Algorithm& select(const Shape& shape) {
  if (const Algorithm* wanted = wanted_algorithm(shape)) return *wanted;
  if (shape.algorithm != nullptr) {
    const Algorithm* given = find_algorithm(shape.coll, shape.algorithm);
    if (given != nullptr && is_applicable(*given, shape)) return *given;
  }
  if (const char* over = shape.homes != nullptr ? choose_over_homes(shape) : nullptr)
    return *find_algorithm(shape.coll, over);
  const bool is_folded = count_places(shape.place_of_rank) < shape.size;
  const Algorithm* chosen = find_algorithm(shape.coll, choose(shape, is_folded));
  if (chosen != nullptr && is_applicable(*chosen, shape)) return *chosen;
  return algorithms(shape.coll)[0];
}

}  // namespace mpc::nbc
