#pragma once
// Limits: the sizes at which a collective changes the way it takes.
//
// Role:      one table of them: built in, measured on this machine (`mpcinfo tune`), or as the user says
//            (`nbc.limits`). Whoever chooses asks here, so what is shown is what is done.
// Users:     nbc/algorithms/select.cpp, nbc/direct; nbc/overlap/tuned_limits.cpp fills it; mpi/coll/info.cpp shows it.
// Threads:   reads from anywhere; written before the ranks start.
// See also:  docs/collectives.md, section "Limits", docs/design/0046-tuning.md.
//
// All members of a communicator must choose alike. What the user says all processes of a job have alike
// (runtime/job/card.h), so it holds for every communicator. What was measured another host may not have: it holds only for
// communicators whose members live in one process.

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
  int64_t most;       // what memory allows; else kNoLimit
  const char* what;   // of what it counts the bytes, and what changes there
  Coll colls[4];      // whose; the last ones repeat the first
  bool is_direct;     // of blocking calls without messages
  bool is_inclusive;  // as many bytes as the limit go the way below it
};
inline constexpr int64_t kNoLimit = int64_t{1} << 40;
const LimitFacts& facts_of(Limit limit) noexcept;
// The way below the limit is taken.
bool goes_below(const LimitFacts& facts, int64_t bytes, int64_t limit) noexcept;
std::optional<Limit> limit_of_name(std::string_view name) noexcept;

enum class LimitSource : uint8_t { kBuiltIn, kTuned, kForced };

namespace detail {
struct LimitValues {
  int64_t at[kLimitCount];
  LimitSource source[kLimitCount];
};
extern LimitValues g_limits[2];  // [1]: of communicators in one process
}  // namespace detail

// Bytes. `is_in_one_process`: of the members of the communicator, which all of them know alike.
inline int64_t limit(Limit which, bool is_in_one_process) noexcept {
  return detail::g_limits[is_in_one_process ? 1 : 0].at[static_cast<int>(which)];
}
LimitSource source_of(Limit which, bool is_in_one_process) noexcept;

struct LimitValue {
  Limit limit;
  int64_t bytes;
};
// What this machine was measured to want; none: nothing is known. Caller: before ranks start.
void use_tuned_limits(std::span<const LimitValue> tuned) noexcept;

}  // namespace mpc::nbc
