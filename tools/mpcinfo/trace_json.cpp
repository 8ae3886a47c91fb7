#include "tools/mpcinfo/trace_json.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>

#include "base/json_integer.h"

namespace mpc::tools {
namespace {

// No real trace has more tracks, or lasts longer.
constexpr int kMostTracks = 1 << 20;
constexpr double kLatestUs = 1e15;

}  // namespace

int64_t number_in(const Json& args, const char* name, int64_t fallback) {
  const auto found = args.find(name);
  if (found == args.end()) return fallback;
  const auto number = integer_of(*found);
  return number && *number >= -kMostNumber && *number <= kMostNumber ? *number
                                                                     : fallback;
}

int track_in(const Json& object, const char* name) {
  const int64_t number = number_in(object, name, 0);
  if (number < 0 || number > kMostTracks) throw std::out_of_range(name);
  return static_cast<int>(number);
}

double time_of(const Json& event) {
  const double time = event.value("ts", 0.0);
  if (!(time >= 0 && time <= kLatestUs)) throw std::out_of_range("ts");
  return time;
}

Result<> load_json(const std::string& path, const char* what,
                   const std::function<void(const Json& file)>& read) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (exists(status) &&
      !is_regular_file(status))  // opening a FIFO would wait for a writer
    return {Errc::kArg, path + " is no regular file"};
  std::ifstream file(path);
  if (!file)
    return {Errc::kNotFound, fmt::format("{}: {}", path, std::strerror(errno))};
  try {
    read(Json::parse(file));
  } catch (const Json::parse_error&) {
    return {Errc::kArg,
            fmt::format("{} is no file of {}: it is no JSON, or was cut", path, what)};
  } catch (const std::exception&) {
    return {Errc::kArg, fmt::format("{} is no file of {}", path, what)};
  }
  return {};
}

}  // namespace mpc::tools
