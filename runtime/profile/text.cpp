// A profile as a user reads it at the end of a job.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "runtime/profile/profile.h"

namespace mpc::profile {
namespace {

constexpr size_t kMostCalls = 5, kMostWaits = 10, kMostPairs = 10;
// Fewer samples say little about a rank.
constexpr int64_t kFewSamples = 50;

std::string seconds_text(int64_t ns) {
  return fmt::format("{:.3f} s", static_cast<double>(ns) * 1e-9);
}

std::string bytes_text(uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes)
                   : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

class Text {
 public:
  explicit Text(const Profile& profile) : profile_(profile) {
    for (const RankTimes& times : profile.times)
      for (const int64_t ns : times.ns) all_ns_ += ns;
  }
  std::string write();

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    out_ += '\n';
  }
  double percent(int64_t ns) const {
    return all_ns_ > 0 ? 100 * static_cast<double>(ns) / static_cast<double>(all_ns_)
                       : 0;
  }
  void states();
  void calls();
  void waits();
  void messages();

  const Profile& profile_;
  int64_t all_ns_ = 0;
  std::string out_;
};

void Text::states() {
  add("  {:<24}{:>10}{:>12}{:>12}{:>12}", "", "all ranks", "least", "median", "most");
  for (size_t state = 0; state < kStates; ++state) {
    std::vector<std::pair<int64_t, int>> of_ranks;
    int64_t sum = 0;
    for (const RankTimes& times : profile_.times) {
      of_ranks.emplace_back(times.ns[state], times.rank);
      sum += times.ns[state];
    }
    if (of_ranks.empty() || sum == 0) continue;
    // If several ranks have the maximum, the first one is named.
    std::sort(of_ranks.begin(), of_ranks.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first < b.first : a.second > b.second;
    });
    const size_t n = of_ranks.size();
    const int64_t median = (of_ranks[(n - 1) / 2].first + of_ranks[n / 2].first) / 2;
    add("  {:<24}{:>8.1f} %{:>12}{:>12}{:>12}  rank {}", kStateNames[state],
        percent(sum), seconds_text(of_ranks.front().first), seconds_text(median),
        seconds_text(of_ranks.back().first), of_ranks.back().second);
  }
}

void Text::calls() {
  struct Sum {
    std::string call;
    int64_t waiting_ns = 0, moving_ns = 0;
    int64_t all() const { return waiting_ns + moving_ns; }
  };
  std::map<std::string, Sum> by_name;
  for (const CallTime& call : profile_.calls) {
    Sum& sum = by_name[call.call];
    sum.call = call.call;
    sum.waiting_ns += call.waiting_ns;
    sum.moving_ns += call.moving_ns;
  }
  std::vector<Sum> sums;
  for (auto& [name, sum] : by_name) sums.push_back(std::move(sum));
  if (sums.empty()) return;
  std::stable_sort(sums.begin(), sums.end(),
                   [](const Sum& a, const Sum& b) { return a.all() > b.all(); });
  add("  {:<24}{:>10}{:>12}{:>12}", "calls that cost most", "all ranks", "waiting",
      "moving");
  for (size_t i = 0; i < std::min(sums.size(), kMostCalls); ++i)
    add("  {:<24}{:>8.1f} %{:>12}{:>12}", sums[i].call, percent(sums[i].all()),
        seconds_text(sums[i].waiting_ns), seconds_text(sums[i].moving_ns));
}

void Text::waits() {
  std::vector<CallTime> waits;
  for (const CallTime& call : profile_.calls)
    if (call.waiting_ns > 0 && call.partner >= 0) waits.push_back(call);
  if (waits.empty()) return;
  std::stable_sort(
      waits.begin(), waits.end(),
      [](const CallTime& a, const CallTime& b) { return a.waiting_ns > b.waiting_ns; });
  add("  who waited longest for whom");
  const size_t shown = std::min(waits.size(), kMostWaits);
  for (size_t i = 0; i < shown; ++i)
    add("  {:<24}{:>12}  in {}",
        fmt::format("rank {} for rank {}", waits[i].rank, waits[i].partner),
        seconds_text(waits[i].waiting_ns), waits[i].call);
  if (waits.size() > shown) add("  and {} others", waits.size() - shown);
}

void Text::messages() {
  std::vector<traffic::Flow> flows = profile_.messages;
  if (flows.empty()) return;
  uint64_t messages = 0, bytes = 0;
  for (const traffic::Flow& flow : flows) {
    messages += flow.messages;
    bytes += flow.bytes;
  }
  std::stable_sort(
      flows.begin(), flows.end(),
      [](const traffic::Flow& a, const traffic::Flow& b) { return a.bytes > b.bytes; });
  add("  {} message{}, {}", messages, messages == 1 ? "" : "s", bytes_text(bytes));
  const size_t shown = std::min(flows.size(), kMostPairs);
  for (size_t i = 0; i < shown; ++i) {
    const std::string from =
        flows[i].from >= 0 ? fmt::format("rank {}", flows[i].from) : "others";
    add("  {:<24}{:>12}  in {} message{}",
        fmt::format("{} to rank {}", from, flows[i].to), bytes_text(flows[i].bytes),
        flows[i].messages, flows[i].messages == 1 ? "" : "s");
  }
  if (flows.size() > shown) add("  and {} other pairs", flows.size() - shown);
}

std::string Text::write() {
  add("mpcrun: profile of {} rank{}: {:.3f} s, looked at {} times", profile_.ranks,
      profile_.ranks == 1 ? "" : "s", profile_.seconds, profile_.samples);
  if (profile_.samples < kFewSamples)
    add("  the job was too short for times: see job.profile_us");
  states();
  calls();
  waits();
  messages();
  return std::move(out_);
}

}  // namespace

std::string to_text(const Profile& profile) { return Text(profile).write(); }

}  // namespace mpc::profile
