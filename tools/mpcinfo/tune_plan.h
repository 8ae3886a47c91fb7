#pragma once
// The plan of mpcinfo tune: what is measured for which limit.
//
// Role:      for each limit of nbc/schedule/limits.h that blocking or non-blocking calls of one process meet: a collective,
//            on how many ranks, at which sizes.
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
  int least_ranks;    // with fewer the limit is never met
  bool counts_all;    // the limit counts the blocks of all ranks together
  int64_t first,
      last;  // bytes that the limit counts; each size is twice the one before
};

std::span<const Trial> tune_plan() noexcept;
// On a machine of so many cores; some trials are for a few of many.
int ranks_of(const Trial& trial, int cores) noexcept;
// What the limit counts, and the bytes of a rank's block or vector that belong to each.
std::vector<int64_t> sizes_of(const Trial& trial);
int64_t block_of(const Trial& trial, int ranks, int64_t bytes) noexcept;

}  // namespace mpc::tools
