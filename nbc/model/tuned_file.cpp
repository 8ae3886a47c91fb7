#include "nbc/model/tuned_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "nbc/model/machine_file.h"
#include "nbc/model/whole_file.h"

namespace mpc::nbc {
namespace {

using Json = nlohmann::json;

constexpr int kVersion = 1;
constexpr double kWorthIt = 0.95;  // else the clock says so, not the machine

// Both throw what tuned_from_json() catches.
TunedLimit limit_from(const Json& json) {
  TunedLimit limit;
  limit.name = json.at("name").get<std::string>();
  limit.bytes = json.at("bytes").get<int64_t>();
  if (limit.bytes < 0) throw std::out_of_range("a limit below 0");
  if (!limit_of_name(limit.name))
    throw std::out_of_range(fmt::format("there is no limit \"{}\"", limit.name));
  for (const Json& time : json.at("times"))
    limit.times.push_back({time.at("bytes").get<int64_t>(),
                           time.at("below_us").get<double>(),
                           time.at("above_us").get<double>()});
  return limit;
}

Tuned tuned_from(const Json& json) {
  if (json.at("version").get<int>() != kVersion)
    throw std::out_of_range(
        "written by another version (mpcinfo tune makes a new one)");
  Tuned tuned;
  const Json& machine = json.at("machine");
  tuned.machine = {machine.at("cpu").get<std::string>(), machine.at("cores").get<int>(),
                   machine.at("fingerprint").get<std::string>()};
  tuned.made = json.at("made").get<std::string>();
  tuned.line_us = json.at("line_us").get<double>();
  tuned.wake_us = json.at("wake_us").get<double>();
  tuned.message_us = json.at("message_us").get<double>();
  for (const Json& limit : json.at("limits")) tuned.limits.push_back(limit_from(limit));
  return tuned;
}

// FNV-1a.
uint64_t hash_of(const std::string& text) noexcept {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace

std::string to_json(const Tuned& tuned) {
  nlohmann::ordered_json json;
  json["version"] = kVersion;
  json["machine"] = {{"cpu", tuned.machine.cpu},
                     {"cores", tuned.machine.cores},
                     {"fingerprint", tuned.machine.fingerprint}};
  json["made"] = tuned.made;
  json["line_us"] = tuned.line_us;
  json["wake_us"] = tuned.wake_us;
  json["message_us"] = tuned.message_us;
  json["limits"] = nlohmann::ordered_json::array();
  for (const TunedLimit& limit : tuned.limits) {
    nlohmann::ordered_json times = nlohmann::ordered_json::array();
    for (const TunedTime& time : limit.times)
      times.push_back({{"bytes", time.bytes},
                       {"below_us", time.below_us},
                       {"above_us", time.above_us}});
    json["limits"].push_back(
        {{"name", limit.name}, {"bytes", limit.bytes}, {"times", times}});
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Tuned> tuned_from_json(const std::string& text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return {Errc::kArg, "not a JSON object"};
  try {
    return tuned_from(json);
  } catch (const std::exception& error) {
    return {Errc::kArg, error.what()};
  }
}

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
  const std::string beside = parameters_path(machine.fingerprint);
  if (beside.empty()) return "";
  const uint64_t number = hash_of(
      fmt::format("{}\n{}\n{}", machine.cpu, machine.cores, machine.fingerprint));
  return (std::filesystem::path(beside).parent_path() /
          fmt::format("tuned-{:016x}.json", number))
      .string();
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
