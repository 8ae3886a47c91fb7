#include "tools/mpcrun/process_count.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace mpc::tools {
namespace {

// "1, 2, 4": possible numbers of processes, at most so many of them.
std::string divisors_of(int ranks) {
  constexpr int kMost = 8;
  std::string out;
  int count = 0;
  for (int d = 1; d <= ranks && count < kMost; ++d) {
    if (ranks % d != 0) continue;
    out += fmt::format("{}{}", count++ == 0 ? "" : ", ", d);
  }
  return out;
}

}  // namespace

Result<int> count_processes(int processes, int ranks_per_process, int ranks) {
  if (processes > ranks)
    return {Errc::kArg,
            fmt::format("-p {}: there {} {} rank{}, and a process has one at least",
                        processes, ranks == 1 ? "is" : "are", ranks,
                        ranks == 1 ? "" : "s")};
  if (ranks_per_process == 0) return std::max(processes, 1);
  if (ranks_per_process > ranks || ranks % ranks_per_process != 0)
    return {Errc::kArg,
            fmt::format(
                "--ranks-per-process {}: the number of ranks, {}, is no multiple of "
                "it; it is of {}",
                ranks_per_process, ranks, divisors_of(ranks))};
  const int wanted = ranks / ranks_per_process;
  if (processes > 0 && processes != wanted)
    return {Errc::kArg,
            fmt::format("-p {} and --ranks-per-process {}: {} ranks would be {} "
                        "processes; leave one of the two out",
                        processes, ranks_per_process, ranks, wanted)};
  return wanted;
}

}  // namespace mpc::tools
