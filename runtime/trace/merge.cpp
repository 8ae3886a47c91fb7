#include "runtime/trace/merge.h"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

namespace mpc::trace {
namespace {

// The format of json.cpp: the head is the first line, each
// event has a line, the end is the last line.
constexpr std::string_view kEvents = "\"traceEvents\":[";
constexpr std::string_view kEnd = "]}";

uint64_t number_behind(std::string_view head, std::string_view name) {
  const size_t at = head.rfind(name);  // the program's name comes before all numbers
  uint64_t value = 0;
  if (at != std::string_view::npos)
    std::from_chars(head.data() + at + name.size(), head.data() + head.size(), value);
  return value;
}

// "[0,1,4,100],[0,2,..."
std::string_view list_behind(std::string_view head, std::string_view name) {
  const size_t at = head.rfind(name);
  if (at == std::string_view::npos) return {};
  head.remove_prefix(at + name.size());
  return head.substr(0, head.rfind(']'));
}

struct Head {
  std::string beginning;  // up to the number of events
  uint64_t events = 0, lost = 0;
  std::string messages;

  bool add(std::string_view line) {
    const size_t at = line.rfind(",\"events\":");
    if (at == std::string_view::npos) return false;
    if (beginning.empty()) beginning = line.substr(0, at);
    events += number_behind(line, "\"events\":");
    lost += number_behind(line, "\"lost_events\":");
    const std::string_view list = list_behind(line, "\"messages\":[");
    if (!list.empty() && !messages.empty()) messages += ',';
    messages += list;
    return true;
  }
};

std::string reason() { return std::strerror(errno != 0 ? errno : EIO); }

// Copies the events of one part; `is_first`: there are none before them.
std::string copy_events(std::ifstream& in, std::ofstream& out, bool& is_first) {
  std::string line;
  if (!std::getline(in, line) || line != kEvents) return "it is no trace";
  while (std::getline(in, line)) {
    if (line == kEnd) return "";
    if (line.empty()) continue;
    if (line.back() == ',') line.pop_back();
    out << (is_first ? "" : ",\n") << line;
    is_first = false;
  }
  return "it was cut";
}

}  // namespace

std::string merge(const std::vector<std::string>& parts, const std::string& path) {
  Head head;
  std::string line;
  for (const std::string& part : parts) {
    std::ifstream in(part, std::ios::binary);
    if (!in) return part + ": " + reason();
    if (!std::getline(in, line) || !head.add(line)) return part + ": it is no trace";
  }
  std::ofstream out(path, std::ios::binary);
  out << head.beginning
      << fmt::format(",\"events\":{},\"lost_events\":{},\"messages\":[{}]}},\n{}\n",
                     head.events, head.lost, head.messages, kEvents);
  bool is_first = true;
  for (const std::string& part : parts) {
    std::ifstream in(part, std::ios::binary);
    std::getline(in, line);
    const std::string fault = copy_events(in, out, is_first);
    if (!fault.empty()) return part + ": " + fault;
  }
  errno = 0;
  out << "\n" << kEnd << "\n" << std::flush;
  if (!out) return reason();
  std::error_code ignored;
  for (const std::string& part : parts) std::filesystem::remove(part, ignored);
  return "";
}

}  // namespace mpc::trace
