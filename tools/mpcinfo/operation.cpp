#include "tools/mpcinfo/operation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <iterator>

#include "base/sizes.h"

namespace mpc::tools {

namespace {

struct Known {
  const char* name;
  nbc::Coll coll;
  nbc::PaperOperation paper;
};

// The collectives on trees, which can be split.
constexpr Known kKnown[] = {
    {"ibcast", nbc::Coll::kBcast, {nbc::Weight::kConstant, 1}},
    {"ireduce", nbc::Coll::kReduce, {nbc::Weight::kConstant, 1}},
    {"iscatter", nbc::Coll::kScatter, {nbc::Weight::kDoubling, 1}},
    {"igather", nbc::Coll::kGather, {nbc::Weight::kDoubling, 1}},
    {"iallreduce", nbc::Coll::kAllreduce, {nbc::Weight::kConstant, 2}},
};

// Not on a tree.
constexpr Known kAlltoall = {"ialltoall", nbc::Coll::kAlltoall, {}};

std::string lower(std::string text) {
  for (char& c : text)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::vector<std::string> split_at(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (char c : text) {
    if (c == separator)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

struct Unit {
  const char* name;
  double factor;
};

// Parses a number that is not negative, followed by one of the units ("" is one of them).
template <size_t n>
bool parse_number(const std::string& text, const Unit (&units)[n], double* value) {
  char* end = nullptr;
  *value = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || !std::isfinite(*value) || *value < 0) return false;
  const std::string unit = lower(end);
  for (const Unit& known : units)
    if (unit == known.name) {
      *value *= known.factor;
      return true;
    }
  return false;
}

}  // namespace

Result<Operation> parse_operation(const std::string& text, bool needs_tree) {
  const std::string name = lower(text);
  std::string names;
  std::vector<Known> all(std::begin(kKnown), std::end(kKnown));
  if (!needs_tree) all.push_back(kAlltoall);
  for (const Known& known : all) {
    if (name == known.name || name == known.name + 1 ||
        name == std::string("mpi_") + known.name)
      return Operation{known.name, known.coll, known.paper};
    names += fmt::format("{}{}", names.empty() ? "" : ", ", known.name);
  }
  return {
      Errc::kArg,
      fmt::format("operation '{}': {}; known are {}", text,
                  needs_tree ? "no collective on a tree" : "not in this model", names)};
}

Result<std::vector<Operation>> parse_mix(const std::string& text) {
  std::vector<Operation> mix;
  for (const std::string& entry : split_at(text, ',')) {
    const std::vector<std::string> parts = split_at(entry, ':');
    auto operation = parse_operation(parts[0]);
    if (!operation) return operation.error();
    if (parts.size() > 3)
      return {Errc::kArg,
              fmt::format("'{}': expected OPERATION[:BYTES[:COUNT]]", entry)};
    if (parts.size() > 1) {
      auto bytes = parse_bytes(parts[1]);
      if (!bytes) return bytes.error();
      operation->bytes = *bytes;
    }
    if (parts.size() > 2) {
      char* end = nullptr;
      const long count = std::strtol(parts[2].c_str(), &end, 10);
      if (end == parts[2].c_str() || *end != 0 || count < 1 || count > 1000000)
        return {Errc::kArg, fmt::format("'{}': the count must be 1 to 1000000", entry)};
      operation->count = static_cast<int>(count);
    }
    mix.push_back(*operation);
  }
  return mix;
}

Result<int64_t> parse_bytes(const std::string& text) {
  constexpr int64_t kMostBytes = int64_t{1} << 40;
  const std::optional<int64_t> bytes = parse_size(text);
  if (!bytes || *bytes < 0 || *bytes > kMostBytes)
    return {Errc::kArg,
            fmt::format("'{}': expected bytes such as 4096, 64KB or 2MB", text)};
  return *bytes;
}

Result<double> parse_time_us(const std::string& text) {
  constexpr Unit kUnits[] = {{"", 1}, {"us", 1}, {"ns", 1e-3}, {"ms", 1e3}, {"s", 1e6}};
  double value;
  if (!parse_number(text, kUnits, &value))
    return {Errc::kArg,
            fmt::format("'{}': expected a time such as 150us, 2ms or 1.5s", text)};
  return value;
}

}  // namespace mpc::tools
