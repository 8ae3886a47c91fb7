#include "tools/mpcrun/hosts.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <numeric>
#include <sstream>

#include "tools/mpcrun/process_count.h"

namespace mpc::tools {
namespace {

constexpr int kMostSlots = 100000;

// A whole number above 0; otherwise 0.
int number_in(std::string_view text) {
  int value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end && value <= kMostSlots ? std::max(value, 0)
                                                                    : 0;
}

// A word that ssh would take for an option, or the launcher for a mark of its own, is no host name.
bool is_host_name(std::string_view name) {
  constexpr std::string_view kOthers = "-_.:@[]%";
  return !name.empty() && name[0] != '-' && name[0] != '.' &&
         std::all_of(name.begin(), name.end(), [&](unsigned char c) {
           return std::isalnum(c) != 0 ||
                  kOthers.find(static_cast<char>(c)) != std::string_view::npos;
         });
}

// "alpha", "alpha:4", "[fd00::1]:4", "fd00::1".
Result<HostSlots> parse_host(std::string_view word) {
  HostSlots host{std::string(word), 0};
  const size_t colon = word.rfind(':');
  const bool is_bracketed = word.starts_with('[');
  const bool has_slots =
      colon != std::string::npos &&
      (is_bracketed ? word[colon - 1] == ']' : word.find(':') == colon);
  if (has_slots) {
    host.name = word.substr(0, colon);
    host.slots = number_in(word.substr(colon + 1));
    if (host.slots == 0)
      return {Errc::kArg,
              fmt::format("'{}': behind the colon stands how many ranks the "
                          "host takes, 1 or more",
                          word)};
  }
  if (is_bracketed && host.name.ends_with(']'))
    host.name = host.name.substr(1, host.name.size() - 2);
  if (!is_host_name(host.name))
    return {Errc::kArg, fmt::format("'{}' is no name of a host", word)};
  return host;
}

// "slots = 4" as "slots=4".
std::string without_spaces_at_equals(const std::string& line) {
  std::string out;
  for (const char c : line) {
    const bool is_space = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (is_space && out.ends_with('=')) continue;
    if (c == '=') out.erase(out.find_last_not_of(" \t") + 1);
    out += c;
  }
  return out;
}

// A line without its comment: a host and its settings.
Result<HostSlots> parse_line(const std::string& line) {
  std::istringstream words(without_spaces_at_equals(line));
  std::string word;
  words >> word;
  auto host = parse_host(word);
  while (host && words >> word) {
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const int value =
        equals == std::string::npos ? 0 : number_in(word.substr(equals + 1));
    const bool is_limit = name == "max_slots" || name == "max-slots";  // Open MPI's
    if (value == 0 || (name != "slots" && !is_limit))
      return {Errc::kArg,
              fmt::format("'{}': a line is 'NAME', 'NAME slots=N' or 'NAME:N'", line)};
    if (!is_limit) host->slots = value;
  }
  return host;
}

Result<std::vector<HostSlots>> read_host_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (!file)
    return {Errc::kArg, fmt::format("--hostfile {}: {}", path, std::strerror(errno))};
  auto hosts = parse_host_file(text.str());
  if (hosts) return hosts;
  return {Errc::kArg, fmt::format("--hostfile {}: {}", path, hosts.error().message)};
}

// The hosts, each once. If a host is named again, its slots are added; a mention without slots
// counts as one.
struct Merged {
  std::vector<HostSlots> hosts;
  bool has_slots = false;
};
Merged merge(const std::vector<HostSlots>& given) {
  Merged merged;
  for (const HostSlots& one : given) {
    merged.has_slots = merged.has_slots || one.slots > 0;
    const bool is_here = is_this_host(one.name);
    const auto same =
        std::find_if(merged.hosts.begin(), merged.hosts.end(), [&](const HostSlots& h) {
          return h.name == one.name || (is_here && is_this_host(h.name));
        });
    if (same == merged.hosts.end()) {
      merged.hosts.push_back({one.name, std::max(one.slots, 1)});
    } else {
      same->slots += std::max(one.slots, 1);
      merged.has_slots = true;
    }
  }
  return merged;
}

// The number of ranks of each of some processes, or hosts: as even as possible.
std::vector<int> blocks(int ranks, int processes) {
  std::vector<int> out;
  const auto begin = [&](int p) {
    return static_cast<int>(static_cast<long long>(ranks) * p / processes);
  };
  for (int p = 0; p < processes; ++p) out.push_back(begin(p + 1) - begin(p));
  return out;
}

Result<Merged> named_hosts(const HostWish& wish) {
  auto given =
      wish.hosts.empty() ? read_host_file(wish.host_file) : parse_host_list(wish.hosts);
  if (!given && !wish.hosts.empty())
    return {Errc::kArg,
            fmt::format("--hosts {}: {}", wish.hosts, given.error().message)};
  MPC_TRY(given);
  return merge(*given);
}

int slots_of(const HostSlots& host, const HostWish& wish) {
  return wish.ranks_per_host > 0 ? wish.ranks_per_host : host.slots;
}

// The number of hosts, from the first one on, that have room for all ranks.
Result<int> count_hosts(const Merged& merged, const HostWish& wish, int ranks) {
  const int hosts = static_cast<int>(merged.hosts.size());
  if (wish.ranks_per_host == 0 && !merged.has_slots) return std::min(hosts, ranks);
  int room = 0, count = 0;
  while (count < hosts && room < ranks)
    room += slots_of(merged.hosts[static_cast<size_t>(count++)], wish);
  if (room >= ranks) return count;
  return {
      Errc::kArg,
      fmt::format("{} ranks: {} host{} with {} have room for {}; name more hosts, or "
                  "another --ranks-per-host",
                  ranks, hosts, hosts == 1 ? "" : "s",
                  wish.ranks_per_host > 0
                      ? fmt::format("--ranks-per-host {}", wish.ranks_per_host)
                      : "these slots",
                  room)};
}

// How many ranks each of the first `hosts` gets: as many as the others, or as many as it has slots.
std::vector<int> share_out(const Merged& merged, const HostWish& wish, int hosts,
                           int ranks) {
  const bool has_limits = merged.has_slots || wish.ranks_per_host > 0;
  std::vector<int> share(static_cast<size_t>(hosts), 0);  // 0: not known yet
  for (bool is_settled = false; !is_settled;) {
    const auto open = static_cast<int>(std::count(share.begin(), share.end(), 0));
    const std::vector<int> even = blocks(
        ranks - std::accumulate(share.begin(), share.end(), 0), std::max(open, 1));
    auto next = even.begin();
    std::vector<int> wanted = share;
    for (int& of_host : wanted)
      if (of_host == 0) of_host = *next++;
    is_settled = true;
    for (size_t h = 0; h < share.size() && has_limits; ++h) {
      const int room = slots_of(merged.hosts[h], wish);
      if (share[h] != 0 || wanted[h] <= room) continue;
      share[h] = room;
      is_settled = false;
    }
    if (is_settled) share = wanted;
  }
  return share;
}

// The number of processes of each host, which is the same for all.
Result<int> count_processes_of_host(const HostWish& wish, int hosts) {
  int count = std::max(wish.processes_per_host, 1);
  if (wish.processes > 0) {
    if (wish.processes % hosts != 0)
      return {Errc::kArg,
              fmt::format("-p {}: the job has {} hosts, and {} is no multiple "
                          "of that; --processes-per-host is simpler",
                          wish.processes, hosts, wish.processes)};
    count = wish.processes / hosts;
  }
  return count;
}

// The ranks of each process of a host. `each`: number of processes, unless the wish names their
// size.
Result<std::vector<int>> processes_of(const HostSlots& host, const HostWish& wish,
                                      int each, int ranks) {
  if (wish.ranks_per_process > 0) {
    if (ranks % wish.ranks_per_process != 0)
      return {
          Errc::kArg,
          fmt::format("--ranks-per-process {}: host {} gets {} ranks, which cannot be "
                      "divided so",
                      wish.ranks_per_process, host.name, ranks)};
    each = ranks / wish.ranks_per_process;
  }
  if (each <= ranks) return blocks(ranks, each);
  return {
      Errc::kArg,
      fmt::format("{} processes on host {}: it gets {} rank{}, and a process has one "
                  "at least",
                  each, host.name, ranks, ranks == 1 ? "" : "s")};
}

Result<launch::Plan> plan_one_host(const HostWish& wish, int ranks) {
  for (const auto& [value, name] : {std::pair(wish.ranks_per_host, "--ranks-per-host"),
                                    {wish.processes_per_host, "--processes-per-host"}})
    if (value > 0)
      return {
          Errc::kArg,
          fmt::format("{}: of which hosts? --hosts or --hostfile names them", name)};
  const auto processes = count_processes(wish.processes, wish.ranks_per_process, ranks);
  MPC_TRY(processes);
  launch::Plan plan;
  plan.hosts.push_back({"", true, blocks(ranks, *processes)});
  return plan;
}

Result<> check_wish(const HostWish& wish) {
  if (!wish.hosts.empty() && !wish.host_file.empty())
    return {Errc::kArg, "--hosts and --hostfile: leave one of the two out"};
  const int given = (wish.processes > 0) + (wish.processes_per_host > 0) +
                    (wish.ranks_per_process > 0);
  if (given > 1)
    return {Errc::kArg,
            "-p, --processes-per-host and --ranks-per-process say the same: "
            "one of them is enough"};
  return {};
}

}  // namespace

Result<std::vector<HostSlots>> parse_host_list(std::string_view text) {
  std::vector<HostSlots> hosts;
  std::istringstream in{std::string(text)};
  for (std::string word; std::getline(in, word, ',');) {
    auto host = parse_host(word);
    MPC_TRY(host);
    hosts.push_back(std::move(*host));
  }
  if (hosts.empty()) return {Errc::kArg, "there is no host in it"};
  return hosts;
}

Result<std::vector<HostSlots>> parse_host_file(std::string_view text) {
  std::vector<HostSlots> hosts;
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // of some editors
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::istringstream in{std::string(text)};
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    line.resize(std::min({line.find('#'), line.find('\r'), line.size()}));
    if (line.find_first_not_of(" \t") == std::string::npos) continue;
    auto host = parse_line(line);
    if (!host)
      return {Errc::kArg, fmt::format("line {}: {}", number, host.error().message)};
    hosts.push_back(std::move(*host));
  }
  if (hosts.empty()) return {Errc::kArg, "there is no host in it"};
  return hosts;
}

bool is_this_host(const std::string& name) {
  char own[256] = "";
  ::gethostname(own, sizeof own - 1);
  if (name == "localhost" || name == own) return true;
  const bool is_short =
      name.find('.') == std::string::npos || std::strchr(own, '.') == nullptr;
  if (is_short && own[0] != 0 &&
      name.substr(0, name.find('.')) ==
          std::string(own).substr(0, std::strcspn(own, ".")) &&
      std::isdigit(static_cast<unsigned char>(name[0])) == 0)
    return true;
  bool is_own = false;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return false;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    char text[INET6_ADDRSTRLEN] = "";
    if (one->ifa_addr == nullptr) continue;
    if (one->ifa_addr->sa_family == AF_INET)
      ::inet_ntop(AF_INET, &reinterpret_cast<sockaddr_in*>(one->ifa_addr)->sin_addr,
                  text, sizeof text);
    if (one->ifa_addr->sa_family == AF_INET6)
      ::inet_ntop(AF_INET6, &reinterpret_cast<sockaddr_in6*>(one->ifa_addr)->sin6_addr,
                  text, sizeof text);
    is_own = is_own || name == text;
  }
  ::freeifaddrs(all);
  return is_own;
}

Result<int> room_of(const HostWish& wish) {
  const auto named = named_hosts(wish);
  MPC_TRY(named);
  int room = 0;
  for (const HostSlots& host : named->hosts) room += slots_of(host, wish);
  return room;
}

Result<launch::Plan> plan_job(const HostWish& wish, int ranks) {
  if (!wish.names_hosts()) return plan_one_host(wish, ranks);
  MPC_TRY(check_wish(wish));
  const auto named = named_hosts(wish);
  MPC_TRY(named);
  const Merged& merged = *named;
  const auto hosts = count_hosts(merged, wish, ranks);
  MPC_TRY(hosts);
  const auto each = count_processes_of_host(wish, *hosts);
  MPC_TRY(each);
  const std::vector<int> shares = share_out(merged, wish, *hosts, ranks);
  launch::Plan plan;
  for (size_t h = 0; h < shares.size(); ++h) {
    const HostSlots& host = merged.hosts[h];
    auto processes = processes_of(host, wish, *each, shares[h]);
    MPC_TRY(processes);
    plan.hosts.push_back({host.name, is_this_host(host.name), std::move(*processes)});
  }
  return plan;
}

}  // namespace mpc::tools
