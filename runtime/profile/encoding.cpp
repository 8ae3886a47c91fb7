// A profile as lines of numbers, for another process; as JSON, for other programs.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "runtime/profile/profile.h"

namespace mpc::profile {
namespace {

// Returns the next word of a line, and leaves the rest in the line.
std::string_view take_word(std::string_view& line) {
  const size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

template <class Number>
bool take(std::string_view& line, Number& out) {
  const std::string_view word = take_word(line);
  const auto read = std::from_chars(word.data(), word.data() + word.size(), out);
  return read.ec == std::errc() && read.ptr == word.data() + word.size();
}

bool read_times(std::string_view line, Profile& profile) {
  RankTimes times;
  bool is_right = take(line, times.rank);
  for (int64_t& ns : times.ns) is_right = is_right && take(line, ns);
  profile.times.push_back(times);
  return is_right;
}

bool read_call(std::string_view line, Profile& profile) {
  CallTime call;
  const bool is_right = take(line, call.rank) && take(line, call.partner) &&
                        take(line, call.waiting_ns) && take(line, call.moving_ns);
  call.call = line;
  profile.calls.push_back(std::move(call));
  return is_right;
}

bool read_message(std::string_view line, Profile& profile) {
  traffic::Flow flow{};
  const bool is_right = take(line, flow.to) && take(line, flow.from) &&
                        take(line, flow.messages) && take(line, flow.bytes);
  profile.messages.push_back(flow);
  return is_right;
}

bool read_line(std::string_view line, Profile& profile) {
  const std::string_view kind = take_word(line);
  if (kind == "job") {
    const bool is_right = take(line, profile.ranks) && take(line, profile.seconds) &&
                          take(line, profile.samples);
    profile.program = line;
    return is_right;
  }
  if (kind == "times") return read_times(line, profile);
  if (kind == "call") return read_call(line, profile);
  return kind == "message" && read_message(line, profile);
}

// Names of programs may contain any character.
std::string one_line(const std::string& text) {
  std::string out = text;
  for (char& c : out)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  return out;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : one_line(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

}  // namespace

std::string encode(const Profile& profile) {
  std::string out;
  auto to = std::back_inserter(out);
  fmt::format_to(to, "job {} {} {} {}\n", profile.ranks, profile.seconds,
                 profile.samples, one_line(profile.program));
  for (const RankTimes& times : profile.times)
    fmt::format_to(to, "times {} {}\n", times.rank, fmt::join(times.ns, " "));
  for (const CallTime& call : profile.calls)
    fmt::format_to(to, "call {} {} {} {} {}\n", call.rank, call.partner,
                   call.waiting_ns, call.moving_ns, one_line(call.call));
  for (const traffic::Flow& flow : profile.messages)
    fmt::format_to(to, "message {} {} {} {}\n", flow.to, flow.from, flow.messages,
                   flow.bytes);
  return out;
}

Result<Profile> decode(std::string_view text) {
  Profile profile;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (!read_line(text.substr(0, end), profile))
      return {Errc::kArg, "no profile: " + std::string(text.substr(0, end))};
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return profile;
}

std::string to_json(const Profile& profile) {
  std::string out;
  auto to = std::back_inserter(out);
  fmt::format_to(to,
                 "{{\"profile\":1,\"program\":{},\"ranks\":{},\"seconds\":{:.6f},"
                 "\"samples\":{},\n\"states\":[",
                 quoted(profile.program), profile.ranks, profile.seconds,
                 profile.samples);
  for (int i = 0; i < kStates; ++i)
    fmt::format_to(to, "{}\"{}\"", i == 0 ? "" : ",", kStateNames[i]);
  const auto list = [&](const char* name, const auto& items, auto&& write) {
    fmt::format_to(to, "],\n\"{}\":[", name);
    bool is_first = true;
    for (const auto& item : items) {
      out += is_first ? "\n[" : ",\n[";
      is_first = false;
      write(item);
      out += ']';
    }
  };
  list("times_ns", profile.times, [&](const RankTimes& times) {
    fmt::format_to(to, "{},{}", times.rank, fmt::join(times.ns, ","));
  });
  list("calls", profile.calls, [&](const CallTime& call) {
    fmt::format_to(to, "{},{},{},{},{}", call.rank, call.partner, quoted(call.call),
                   call.waiting_ns, call.moving_ns);
  });
  list("messages", profile.messages, [&](const traffic::Flow& flow) {
    fmt::format_to(to, "{},{},{},{}", flow.to, flow.from, flow.messages, flow.bytes);
  });
  return out + "]}\n";
}

}  // namespace mpc::profile
