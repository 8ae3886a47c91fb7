#include "tools/mpcinfo/tune_plan.h"

#include <algorithm>

namespace mpc::tools {
namespace {

constexpr int64_t kKiB = 1 << 10, kMiB = 1 << 20;

constexpr Trial kTrials[] = {
    {"direct_reduce", "allreduce", false, 2, false, 256, 4 * kKiB},
    {"direct_rows", "allgather", false, 2, false, 256, 4 * kKiB},
    {"bcast_segmented", "bcast", true, 3, false, 32 * kKiB, kMiB},
    {"reduce_segmented", "reduce", true, 3, false, 32 * kKiB, kMiB},
    {"allreduce_halving", "iallreduce", false, 3, false, 2 * kKiB, 128 * kKiB},
    {"allreduce_halving_folded", "iallreduce", true, 3, false, 64 * kKiB, 2 * kMiB},
    {"allgather_bruck", "iallgather", false, 3, true, 4 * kKiB, 256 * kKiB},
    {"allgather_whole", "iallgather", true, 3, true, 128 * kKiB, 4 * kMiB},
    {"alltoall_bruck", "ialltoall", false, 16, false, 8, 512},
    {"alltoall_workers", "ialltoall", true, 3, false, 64, 4 * kKiB},
    {"reduce_scatter_linear", "ireduce_scatter_block", true, 3, true, 2 * kKiB,
     128 * kKiB},
    {"gather_binomial", "gather", false, 17, false, 256, 4 * kKiB},
};

}  // namespace

std::span<const Trial> tune_plan() noexcept { return kTrials; }

int ranks_of(const Trial& trial, int cores) noexcept {
  constexpr int kRanksOfACore = 4, kMostFolded = 32, kMostSpread = 32;
  return trial.is_folded ? std::min(kRanksOfACore * cores, kMostFolded)
                         : std::min(cores, kMostSpread);
}

std::vector<int64_t> sizes_of(const Trial& trial) {
  std::vector<int64_t> sizes;
  for (int64_t bytes = trial.first; bytes <= trial.last; bytes *= 2)
    sizes.push_back(bytes);
  return sizes;
}

int64_t block_of(const Trial& trial, int ranks, int64_t bytes) noexcept {
  constexpr int64_t kNumber = 8;  // reductions are of doubles
  const int64_t block = trial.counts_all ? bytes / ranks : bytes;
  return std::max(kNumber, block / kNumber * kNumber);
}

}  // namespace mpc::tools
