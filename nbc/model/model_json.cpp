#include "nbc/model/model_json.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/json_integer.h"

namespace mpc::nbc {

namespace {

using Json = nlohmann::json;

constexpr int kVersion = 1;
constexpr const char* kReachNames[kReachCount] = {"cache", "numa", "machine"};

// Reads fields; remembers the first one that is missing or of the wrong kind.
class Reader {
 public:
  double number(const Json& object, const char* key) {
    const auto at = object.find(key);
    if (at != object.end() && at->is_number()) return at->get<double>();
    fail(key, "a number");
    return 0;
  }
  int integer(const Json& object, const char* key) {
    const auto at = object.find(key);
    if (at != object.end()) {
      const auto value = integer_of(*at);
      if (value && *value >= 0 && *value <= 1 << 24) return static_cast<int>(*value);
    }
    fail(key, "a count");
    return 0;
  }
  std::string text(const Json& object, const char* key) {
    const auto at = object.find(key);
    if (at != object.end() && at->is_string()) return at->get<std::string>();
    fail(key, "a text");
    return "";
  }
  const Json& object(const Json& in, const char* key) {
    static const Json empty = Json::object();
    const auto at = in.find(key);
    if (at != in.end() && at->is_object()) return *at;
    fail(key, "an object");
    return empty;
  }
  // An array that files of earlier versions do not have.
  const Json& list(const Json& in, const char* key) {
    static const Json empty = Json::array();
    const auto at = in.find(key);
    if (at == in.end()) return empty;
    if (at->is_array()) return *at;
    fail(key, "a list");
    return empty;
  }
  const std::string& problem() const { return problem_; }

 private:
  void fail(const char* key, const char* wanted) {
    if (problem_.empty())
      problem_ = std::string("field \"") + key + "\" must be " + wanted;
  }
  std::string problem_;
};

Parameters read(const Json& json, Reader& reader) {
  Parameters p;
  p.machine = reader.text(json, "machine");
  p.source = reader.text(json, "source");
  const Json& shape = reader.object(json, "shape");
  p.shape.cores = reader.integer(shape, "cores");
  p.shape.cores_per_cache = reader.integer(shape, "cores_per_cache");
  p.shape.cores_per_numa = reader.integer(shape, "cores_per_numa");
  p.node_us = reader.number(json, "node_us");
  p.handover_us = reader.number(json, "handover_us");
  p.message_us = reader.number(json, "message_us");
  const Json& copies = reader.object(json, "copy");
  for (int reach = 0; reach < kReachCount; ++reach) {
    const Json& copy = reader.object(copies, kReachNames[reach]);
    p.copy[reach].latency_us = reader.number(copy, "latency_us");
    p.copy[reach].bandwidth_gbs = reader.number(copy, "bandwidth_gbs");
  }
  p.numa_gbs = reader.number(json, "numa_gbs");
  p.reduce_gbs = reader.number(json, "reduce_gbs");
  if (json.contains("network")) {
    const Json& network = reader.object(json, "network");
    p.network.latency_us = reader.number(network, "latency_us");
    p.network.bandwidth_gbs = reader.number(network, "bandwidth_gbs");
  }
  if (json.contains("call_us")) p.call_us = reader.number(json, "call_us");
  for (const Json& line : reader.list(json, "caches"))
    p.caches.push_back(
        {reader.integer(line, "bytes"), reader.number(line, "near_copy_us"),
         reader.number(line, "far_copy_us"), reader.number(line, "near_reduce_us"),
         reader.number(line, "far_reduce_us")});
  return p;
}

}  // namespace

std::string to_json(const Parameters& p) {
  nlohmann::ordered_json json;
  json["version"] = kVersion;
  json["machine"] = p.machine;
  json["source"] = p.source;
  json["shape"] = {{"cores", p.shape.cores},
                   {"cores_per_cache", p.shape.cores_per_cache},
                   {"cores_per_numa", p.shape.cores_per_numa}};
  json["node_us"] = p.node_us;
  json["handover_us"] = p.handover_us;
  json["message_us"] = p.message_us;
  for (int reach = 0; reach < kReachCount; ++reach)
    json["copy"][kReachNames[reach]] = {{"latency_us", p.copy[reach].latency_us},
                                        {"bandwidth_gbs", p.copy[reach].bandwidth_gbs}};
  json["numa_gbs"] = p.numa_gbs;
  json["reduce_gbs"] = p.reduce_gbs;
  json["network"] = {{"latency_us", p.network.latency_us},
                     {"bandwidth_gbs", p.network.bandwidth_gbs}};
  json["call_us"] = p.call_us;
  json["caches"] = nlohmann::ordered_json::array();
  for (const CacheCost& cost : p.caches)
    json["caches"].push_back({{"bytes", cost.bytes},
                              {"near_copy_us", cost.near_copy_us},
                              {"far_copy_us", cost.far_copy_us},
                              {"near_reduce_us", cost.near_reduce_us},
                              {"far_reduce_us", cost.far_reduce_us}});
  // A machine's name may hold any bytes of a path.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Parameters> parameters_from_json(const std::string& text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return {Errc::kArg, "not a JSON object"};
  Reader reader;
  if (const int version = reader.integer(json, "version");
      reader.problem().empty() && version != kVersion)
    return {Errc::kArg,
            "written by another version (mpcinfo calibrate makes a new one)"};
  const Parameters p = read(json, reader);
  if (!reader.problem().empty()) return {Errc::kArg, reader.problem()};
  if (std::string problem = problem_of(p); !problem.empty())
    return {Errc::kArg, std::move(problem)};
  return p;
}

// ---- what mpcinfo tune has found out ----------------------------------------------------------

namespace {

// These throw what tuned_from_json() catches.
int64_t bytes_in(const Json& json) {
  return integer_in(json.at("bytes"), 0, std::numeric_limits<int64_t>::max(),
                    "\"bytes\"");
}
TunedLimit limit_from(const Json& json) {
  TunedLimit limit;
  limit.name = json.at("name").get<std::string>();
  limit.bytes = bytes_in(json);
  if (!limit_of_name(limit.name))
    throw std::out_of_range(fmt::format("there is no limit \"{}\"", limit.name));
  for (const Json& time : json.at("times"))
    limit.times.push_back({bytes_in(time), time.at("below_us").get<double>(),
                           time.at("above_us").get<double>()});
  return limit;
}

Tuned tuned_from(const Json& json) {
  if (json.at("version") != kVersion)
    throw std::out_of_range(
        "written by another version (mpcinfo tune makes a new one)");
  Tuned tuned;
  const Json& machine = json.at("machine");
  tuned.machine = {
      machine.at("cpu").get<std::string>(),
      static_cast<int>(integer_in(machine.at("cores"), 1, 1 << 24, "\"cores\"")),
      machine.at("fingerprint").get<std::string>()};
  tuned.made = json.at("made").get<std::string>();
  tuned.line_us = json.at("line_us").get<double>();
  tuned.wake_us = json.at("wake_us").get<double>();
  tuned.message_us = json.at("message_us").get<double>();
  for (const Json& limit : json.at("limits")) tuned.limits.push_back(limit_from(limit));
  return tuned;
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

}  // namespace mpc::nbc
