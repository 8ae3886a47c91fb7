#include "nbc/model/tuned_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "nbc/model/whole_file.h"

namespace mpc::nbc {
namespace {

constexpr double kWorthIt = 0.95;  // else the clock says so, not the machine

// FNV-1a.
uint64_t hash_of(const std::string& text) noexcept {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace

Result<Tuned> read_tuned(const std::string& path) {
  auto text = read_whole_file(path);
  if (!text) return text.error();
  auto tuned = tuned_from_json(*text);
  if (!tuned) return {tuned.error().code, path + ": " + tuned.error().message};
  return tuned;
}

Result<> write_tuned(const Tuned& tuned, const std::string& path) {
  return write_whole_file(to_json(tuned), path);
}

std::string tuned_path(const TunedMachine& machine) {
  const std::string folder = cache_folder();
  if (folder.empty()) return "";
  const uint64_t number = hash_of(
      fmt::format("{}\n{}\n{}", machine.cpu, machine.cores, machine.fingerprint));
  return fmt::format("{}/tuned-{:016x}.json", folder, number);
}

int64_t best_limit(const LimitFacts& facts, const std::vector<TunedTime>& times) {
  const int64_t built_in = facts.built_in;
  if (times.empty()) return built_in;
  // Sums of logarithms: each size counts alike.
  const auto cost = [&](int64_t limit) {
    double sum = 0;
    for (const TunedTime& time : times)
      sum += std::log(std::max(
          1e-6, goes_below(facts, time.bytes, limit) ? time.below_us : time.above_us));
    return sum;
  };
  std::vector<int64_t> limits;
  if (facts.is_inclusive) limits.push_back(times.front().bytes / 2);
  for (const TunedTime& time : times) limits.push_back(time.bytes);
  if (!facts.is_inclusive) limits.push_back(2 * times.back().bytes);
  int64_t best = built_in;
  for (const int64_t limit : limits)
    if (cost(limit) < cost(best)) best = limit;
  const auto between = std::count_if(times.begin(), times.end(), [&](const auto& time) {
    return goes_below(facts, time.bytes, best) !=
           goes_below(facts, time.bytes, built_in);
  });
  if (between == 0) return built_in;
  const double gain =
      std::exp((cost(best) - cost(built_in)) / static_cast<double>(between));
  return gain <= kWorthIt ? best : built_in;
}

}  // namespace mpc::nbc
