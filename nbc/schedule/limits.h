#pragma once
// Limits: the sizes from which on a collective uses another algorithm, or no messages.
//
// Role:      one table of them: built in, measured on this machine (`mpcinfo tune`), or set by the
//            user (`nbc.limits`). Every choice reads it, so what is shown is what is done.
// Users:     nbc/algorithms/select.cpp, nbc/direct; nbc/overlap/tuned_limits.cpp fills it;
//            mpi/coll/info.cpp shows it.
// Threads:   reads from anywhere; written before the ranks start.
// See also:  docs/collectives.md, section "Limits", docs/design/0046-tuning.md.
//
// All members of a communicator must make the same choice. What the user sets is the same in all
// processes of a job (runtime/job/card.h), so it holds for every communicator. What was measured
// may differ on another host: it holds only for communicators whose members live in one process.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "nbc/schedule/coll.h"

namespace mpc::nbc {

enum class Limit : uint8_t {
  kDirectReduce,
  kDirectRows,
  kBcastSegmented,
  kReduceSegmented,
  kAllreduceHalving,
  kAllreduceHalvingFolded,
  kAllgatherBruck,
  kAllgatherWhole,
  kAlltoallBruck,
  kAlltoallWorkers,
  kReduceScatterLinear,
  kGatherBinomial,
};
inline constexpr int kLimitCount = 12;

struct LimitFacts {
  const char* name;   // in nbc.limits and in the file of `mpcinfo tune`
  int64_t built_in;   // bytes
  int64_t most;       // the largest value that memory allows; or kNoLimit
  const char* what;   // whose bytes it counts, and what changes there
  Coll colls[4];      // to which it applies; the last ones repeat the first
  bool is_direct;     // for blocking calls without messages
  bool is_inclusive;  // the choice below the limit includes the limit itself
};
inline constexpr int64_t kNoLimit = int64_t{1} << 40;
const LimitFacts& facts_of(Limit limit) noexcept;
// True: the choice for sizes below the limit.
bool goes_below(const LimitFacts& facts, int64_t bytes, int64_t limit) noexcept;
std::optional<Limit> limit_of_name(std::string_view name) noexcept;

enum class LimitSource : uint8_t { kBuiltIn, kTuned, kForced };

namespace detail {
struct LimitValues {
  int64_t at[kLimitCount];
  LimitSource source[kLimitCount];
};
extern LimitValues g_limits[2];  // [1]: for communicators in one process
}  // namespace detail

// In bytes. `is_in_one_process`: whether the members of the communicator are, which all of them
// know.
inline int64_t limit(Limit which, bool is_in_one_process) noexcept {
  return detail::g_limits[is_in_one_process ? 1 : 0].at[static_cast<int>(which)];
}
LimitSource source_of(Limit which, bool is_in_one_process) noexcept;

struct LimitValue {
  Limit limit;
  int64_t bytes;
};
// Sets the limits that were measured on this machine; empty: none were. Caller: before ranks start.
void use_tuned_limits(std::span<const LimitValue> tuned) noexcept;

}  // namespace mpc::nbc
