#include "nbc/model/paper.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "nbc/model/levels.h"

namespace mpc::nbc {

namespace {

// The weight of one edge of level `level` (0 at the root) in a tree of height `height`.
double edge_weight(Weight weight, int height, int level) {
  return weight == Weight::kConstant ? 1.0 : std::ldexp(1.0, height - 1 - level);
}

// The time of a level of the network, 0 at the root; `height`: of the tree within a host.
double network_weight(PaperOperation operation, int height, PaperNetwork network,
                      int level) {
  const int above = tree_height(network.hosts);
  return network.transfer * edge_weight(operation.weight, height + above, level);
}

}  // namespace

const char* name_of(Weight weight) noexcept {
  return weight == Weight::kConstant ? "constant" : "doubling";
}

std::optional<Weight> weight_of_name(std::string_view name) noexcept {
  for (Weight weight : {Weight::kConstant, Weight::kDoubling})
    if (name == name_of(weight)) return weight;
  return std::nullopt;
}

double paper_kept(PaperOperation operation, int ranks, int split,
                  PaperNetwork network) noexcept {
  const int height = tree_height(ranks), above = tree_height(network.hosts);
  double time = 0;
  for (int level = std::max(0, above + height - split); level < above; ++level)
    time += network_weight(operation, height, network, level);
  for (int level = std::max(0, height - split); level < height; ++level)
    time += edge_weight(operation.weight, height, level);
  return operation.passes * time;
}

double paper_blocking(PaperOperation operation, int ranks,
                      PaperNetwork network) noexcept {
  const int levels = tree_height(ranks) + tree_height(network.hosts);
  return paper_kept(operation, ranks, levels, network);
}

double paper_compute(PaperOperation operation, int cores, int ranks,
                     PaperNetwork network) noexcept {
  return cores * paper_blocking(operation, cores, network) / ranks;
}

double paper_folded(PaperOperation operation, int ranks, int split, int comm_cores,
                    PaperNetwork network) noexcept {
  const int height = tree_height(ranks), above = tree_height(network.hosts);
  if (above + height <= split) return 0;
  if (comm_cores < 1) return std::numeric_limits<double>::infinity();
  double time = 0;
  for (int level = 0; level < std::min(above, above + height - split); ++level)
    time += network_weight(operation, height, network, level);
  for (int level = 0; level < height - split; ++level) {
    const int steps = (edges_at_level(ranks, level) + comm_cores - 1) / comm_cores;
    time += steps * edge_weight(operation.weight, height, level);
  }
  return operation.passes * time;
}

PaperRow paper_row(PaperOperation operation, int cores, int ranks, int max_split,
                   PaperNetwork network) {
  PaperRow row;
  row.cores = cores;
  row.ranks = ranks;
  row.height = tree_height(ranks) + tree_height(network.hosts);
  row.compute = paper_compute(operation, cores, ranks, network);
  row.blocking = paper_blocking(operation, ranks, network);
  for (int split = 0; split <= max_split; ++split) {
    const double kept = paper_kept(operation, ranks, split, network);
    const double folded = paper_folded(operation, ranks, split, cores - ranks, network);
    row.nonblocking.push_back(kept + folded);
    row.overlapped.push_back(kept + std::max(row.compute, folded));
  }
  const auto best = std::min_element(row.overlapped.begin(), row.overlapped.end());
  row.best_split = static_cast<int>(best - row.overlapped.begin());
  return row;
}

std::vector<PaperRow> paper_table(PaperOperation operation, int cores,
                                  PaperNetwork network) {
  const int most = tree_height(cores) + tree_height(network.hosts);
  std::vector<PaperRow> rows;
  for (int ranks = 2; ranks < cores; ++ranks)
    rows.push_back(paper_row(operation, cores, ranks, most, network));
  return rows;
}

int paper_best_ranks(const std::vector<PaperRow>& table) {
  const auto best = std::min_element(
      table.begin(), table.end(),
      [](const PaperRow& a, const PaperRow& b) { return a.best() < b.best(); });
  return best == table.end() ? 0 : best->ranks;
}

}  // namespace mpc::nbc
