#include "nbc/schedule/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/nearest.h"
#include "base/settings.h"
#include "base/sizes.h"

namespace mpc::nbc {
namespace {

using enum Coll;

// Where the numbers come from: docs/collectives.md. The first two must not exceed a place's room
// (nbc/direct/post.h).
constexpr LimitFacts kFacts[kLimitCount] = {
    {"direct_reduce",
     2048,
     4096,
     "vector; above, workers reduce shares and meet once more",
     {kAllreduce, kReduceScatterBlock, kReduceScatter, kAllreduce},
     true,
     true},
    {"direct_rows",
     4096,
     4096,
     "blocks of all members of a worker; above, each is copied straight",
     {kAllgather, kAlltoall, kAllgather, kAllgather},
     true,
     true},
    {"bcast_segmented",
     256 << 10,
     kNoLimit,
     "buffer; from there on in segments",
     {kBcast, kBcast, kBcast, kBcast},
     false,
     false},
    {"reduce_segmented",
     256 << 10,
     kNoLimit,
     "vector; from there on in segments",
     {kReduce, kReduce, kReduce, kReduce},
     false,
     false},
    {"allreduce_halving",
     16 << 10,
     kNoLimit,
     "vector, each rank with a core; from there on by halving",
     {kAllreduce, kAllreduce, kAllreduce, kAllreduce},
     false,
     false},
    {"allreduce_halving_folded",
     512 << 10,
     kNoLimit,
     "vector, ranks share cores; from there on by halving",
     {kAllreduce, kAllreduce, kAllreduce, kAllreduce},
     false,
     false},
    {"allgather_bruck",
     32 << 10,
     kNoLimit,
     "all blocks, each rank with a core; above, a ring",
     {kAllgather, kAllgather, kAllgather, kAllgather},
     false,
     true},
    {"allgather_whole",
     1 << 20,
     kNoLimit,
     "all blocks, ranks share cores; above, a ring",
     {kAllgather, kAllgatherv, kAllgather, kAllgather},
     false,
     true},
    {"alltoall_bruck",
     64,
     kNoLimit,
     "one block, 16 ranks or more; above, straight",
     {kAlltoall, kAlltoall, kAlltoall, kAlltoall},
     false,
     true},
    {"alltoall_workers",
     1 << 10,
     kNoLimit,
     "one block, ranks share cores; above, straight",
     {kAlltoall, kAlltoall, kAlltoall, kAlltoall},
     false,
     true},
    {"reduce_scatter_linear",
     16 << 10,
     kNoLimit,
     "all blocks; from there on each straight to its rank",
     {kReduceScatterBlock, kReduceScatter, kReduceScatterBlock, kReduceScatterBlock},
     false,
     false},
    {"gather_binomial",
     1 << 10,
     kNoLimit,
     "one block, more than 16 ranks with a core each; above, straight",
     {kGather, kScatter, kGather, kGather},
     false,
     true},
};

consteval detail::LimitValues built_in() {
  detail::LimitValues values{};
  for (int i = 0; i < kLimitCount; ++i) values.at[i] = kFacts[i].built_in;
  return values;
}

// The measured limits, those that the user sets; below 0: none.
using Values = std::array<int64_t, kLimitCount>;
constinit Values g_tuned{}, g_forced{};
constinit bool g_has_tuned = false, g_has_forced = false;

void put(detail::LimitValues& into, const Values& values, LimitSource source) noexcept {
  for (int i = 0; i < kLimitCount; ++i) {
    const int64_t bytes = values[static_cast<size_t>(i)];
    if (bytes < 0) continue;
    into.at[i] = std::min(bytes, kFacts[i].most);
    into.source[i] = source;
  }
}

void decide() noexcept {
  for (auto& values : detail::g_limits) values = built_in();
  if (g_has_tuned) put(detail::g_limits[1], g_tuned, LimitSource::kTuned);
  if (!g_has_forced) return;
  for (auto& values : detail::g_limits) put(values, g_forced, LimitSource::kForced);
}

std::string unknown(std::string_view name) {
  std::vector<std::string> names;
  for (const LimitFacts& facts : kFacts) names.emplace_back(facts.name);
  return fmt::format("there is no limit '{}'{}", name,
                     did_you_mean(std::string(name), names));
}

// "name:bytes", separated by commas. Stored if nothing is wrong.
std::string read_forced(std::string_view text) {
  Values values;
  values.fill(-1);
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view entry = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const size_t colon = std::min(entry.find(':'), entry.size());
    const auto which = limit_of_name(entry.substr(0, colon));
    if (!which) return unknown(entry.substr(0, colon));
    const auto bytes = parse_size(entry.substr(std::min(colon + 1, entry.size())));
    if (!bytes || *bytes < 0) return fmt::format("'{}' says no number of bytes", entry);
    values[static_cast<size_t>(*which)] = *bytes;
  }
  g_forced = values;
  g_has_forced = true;
  decide();
  return "";
}

StringSetting forced_setting{
    "nbc.limits", "",
    "Sizes at which collectives change the way they take, instead of those built in or "
    "measured by mpcinfo tune: direct_reduce:1k,bcast_segmented:64k; mpcinfo "
    "collectives lists them",
    "name:bytes, separated by commas (docs/collectives.md)", &read_forced};

}  // namespace

namespace detail {
constinit LimitValues g_limits[2] = {built_in(), built_in()};
}

const LimitFacts& facts_of(Limit limit) noexcept {
  return kFacts[static_cast<int>(limit)];
}

bool goes_below(const LimitFacts& facts, int64_t bytes, int64_t limit) noexcept {
  return facts.is_inclusive ? bytes <= limit : bytes < limit;
}

std::optional<Limit> limit_of_name(std::string_view name) noexcept {
  for (int i = 0; i < kLimitCount; ++i)
    if (name == kFacts[i].name) return static_cast<Limit>(i);
  return {};
}

LimitSource source_of(Limit which, bool is_in_one_process) noexcept {
  return detail::g_limits[is_in_one_process ? 1 : 0].source[static_cast<int>(which)];
}

void use_tuned_limits(std::span<const LimitValue> tuned) noexcept {
  g_tuned.fill(-1);
  for (const auto [limit, bytes] : tuned) g_tuned[static_cast<size_t>(limit)] = bytes;
  g_has_tuned = true;
  decide();
}

}  // namespace mpc::nbc
