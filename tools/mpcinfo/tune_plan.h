#pragma once
// The plan of mpcinfo tune: what to measure for each limit.
//
// Role:      for each limit of nbc/schedule/limits.h that applies to calls within one process: a
//            collective, the number of ranks, and the sizes.
// Users:     tools/mpcinfo/tune_command.cpp.
// Threads:   pure.
// See also:  docs/collectives.md, section "Limits".

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace mpc::tools {

struct Trial {
  const char* limit;  // its name
  const char* call;   // as tune_rank.cpp names it
  bool is_folded;     // four ranks on each core; else one
  int least_ranks;    // with fewer ranks the limit is never used
  bool counts_all;    // the limit counts the blocks of all ranks together
  int64_t first,
      last;  // bytes that the limit counts; each size is twice the one before
};

std::span<const Trial> tune_plan() noexcept;
// The number of ranks on a machine of `cores` cores; some trials use only a few of many.
int ranks_of(const Trial& trial, int cores) noexcept;
// The sizes that the limit counts, and the bytes of a rank's block or vector for such a size.
std::vector<int64_t> sizes_of(const Trial& trial);
int64_t block_of(const Trial& trial, int ranks, int64_t bytes) noexcept;

}  // namespace mpc::tools
