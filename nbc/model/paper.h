#pragma once
// The paper's model: the cost of a split-tree collective, in transfers of one buffer.
//
// Role:      T_nonblocking and T_overlapped of Denis et al. for every S, as the authors meant
//            them; the reference for the calibrated model, the simulator and the emulation.
// Users:     nbc/model, tools/mpcinfo.
// Threads:   pure functions.
// See also:  docs/overlap-model.md (the equations, and what is wrong with them in print),
//            nbc/model/calibrated.h.
//
// Unit of time: one point-to-point transfer of one rank's buffer. Latency and caches are left
// out. N ranks sit on N of `cores` application cores, the other P = cores - N cores do
// communication. Source: Denis, Jaeger, Jeannot, Perache, Taboada, Euro-Par 2018, section 4.

#include <optional>
#include <string_view>
#include <vector>

namespace mpc::nbc {

// What an edge of the tree carries.
enum class Weight {
  kConstant,  // the same buffer on every level: broadcast, reduce
  kDoubling,  // twice as much on each level towards the root: scatter, gather
};
const char* name_of(Weight weight) noexcept;  // "constant", "doubling"
std::optional<Weight> weight_of_name(std::string_view name) noexcept;

// A collective in the model: its tree, and how often the data go through it.
struct PaperOperation {
  Weight weight = Weight::kConstant;
  int passes = 1;  // 2: up and down again, as allreduce does
};

// Identical hosts, each with the ranks and cores that the functions below are given. The tree joins
// their leaders above the levels within a host: an edge there takes
// `transfer` times as long as one in memory, and the edges of a level run at
// the same time, because each host has a link of its own.
struct PaperNetwork {
  int hosts = 1;
  double transfer = 0;
};

// Height of the tree in units of time: T_blocking, equation (1).
double paper_blocking(PaperOperation operation, int ranks,
                      PaperNetwork network = {}) noexcept;
// C(N) = cores / N * T_blocking(cores): equation (2), which is upside down in print.
double paper_compute(PaperOperation operation, int cores, int ranks,
                     PaperNetwork network = {}) noexcept;
// The `split` leaf levels, each at once on all application cores.
// If `split` exceeds the height of a host's tree, levels of the network are kept, too.
double paper_kept(PaperOperation operation, int ranks, int split,
                  PaperNetwork network = {}) noexcept;
// The other levels one after the other, each folded over the communication cores.
// Returns infinity if there are levels, but no core.
double paper_folded(PaperOperation operation, int ranks, int split, int comm_cores,
                    PaperNetwork network = {}) noexcept;

// One N of the paper's figures 2 to 4.
struct PaperRow {
  int cores = 0, ranks = 0, height = 0;
  double compute = 0;               // C(N)
  double blocking = 0;              // T_blocking(N)
  std::vector<double> nonblocking;  // equation (4) for S = 0, 1, ...
  std::vector<double> overlapped;   // equation (5) for S = 0, 1, ...
  int best_split = 0;               // of the overlapped times; the lowest S on ties
  double best() const { return overlapped[static_cast<size_t>(best_split)]; }
};
// Requires: 1 <= ranks < cores. S = 0..max_split.
PaperRow paper_row(PaperOperation operation, int cores, int ranks, int max_split,
                   PaperNetwork network = {});
// Rows for N = 2..cores-1 with S = 0..H(cores) and the levels of the network. Cost: O(cores log^2 cores).
std::vector<PaperRow> paper_table(PaperOperation operation, int cores,
                                  PaperNetwork network = {});
// The number of ranks with the lowest time over all S; the lowest number on ties, 0 if none.
int paper_best_ranks(const std::vector<PaperRow>& table);

}  // namespace mpc::nbc
