#include "scheduler/limits.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstring>
#include <vector>

namespace mpc::sched {
namespace {

constexpr long kUnlimited = LONG_MAX;

// The first number in a file; kUnlimited if there is none ("max", or no such file).
long number_in(const std::string& path) {
  FILE* file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return kUnlimited;
  long number = kUnlimited;
  if (std::fscanf(file, "%ld", &number) != 1) number = kUnlimited;
  std::fclose(file);
  return number;
}

// The value of "name: value" or "a/b" style words of a file of /proc.
long threads_of_system() {
  FILE* file = std::fopen("/proc/loadavg", "re");
  if (file == nullptr) return 0;
  long running = 0, total = 0;
  if (std::fscanf(file, "%*s %*s %*s %ld/%ld", &running, &total) != 2) total = 0;
  std::fclose(file);
  return total;
}

// Path of this process's cgroup (version 2) below /sys/fs/cgroup; "/" if unknown.
std::string cgroup() {
  FILE* file = std::fopen("/proc/self/cgroup", "re");
  if (file == nullptr) return "/";
  std::string path = "/";
  char line[512];
  while (std::fgets(line, sizeof line, file) != nullptr) {
    if (std::strncmp(line, "0::", 3) != 0) continue;
    path = line + 3;
    while (!path.empty() && path.back() == '\n') path.pop_back();
  }
  std::fclose(file);
  return path;
}

struct Limit {
  std::string name;
  long value, used;
  std::string remedy;
  long room() const { return value == kUnlimited ? kUnlimited : value - used; }
};

Limit tightest() {
  const long system_threads = threads_of_system();
  const std::string group = "/sys/fs/cgroup" + cgroup();
  rlimit processes{};
  getrlimit(RLIMIT_NPROC, &processes);
  const std::vector<Limit> limits = {
      {"kernel.pid_max", number_in("/proc/sys/kernel/pid_max"), system_threads,
       "sysctl -w kernel.pid_max=4194304"},
      {"kernel.threads-max", number_in("/proc/sys/kernel/threads-max"), system_threads,
       "sysctl -w kernel.threads-max=1000000"},
      {"pids.max of the control group", number_in(group + "/pids.max"),
       number_in(group + "/pids.current") == kUnlimited
           ? 0
           : number_in(group + "/pids.current"),
       "raise pids.max of " + group + " (systemd: TasksMax=infinity)"},
      {"ulimit -u (processes of this user)",
       processes.rlim_cur == RLIM_INFINITY ? kUnlimited
                                           : static_cast<long>(processes.rlim_cur),
       system_threads, "ulimit -u unlimited"},
  };
  const Limit* best = &limits.front();
  for (const Limit& limit : limits)
    if (limit.room() < best->room()) best = &limit;
  return *best;
}

}  // namespace

std::string thread_limit_advice(long more) {
  const Limit limit = tightest();
  if (limit.room() == kUnlimited)
    return "no limit on threads is known; is memory left?";
  return fmt::format(
      "each rank needs one thread; the tightest limit is {} = {}, about {} are in use, "
      "{} more "
      "were wanted; remedy: {}",
      limit.name, limit.value, limit.used, more, limit.remedy);
}

Result<> check_thread_limits(long count) {
  if (tightest().room() >= count) return {};
  return {Errc::kNoMem, fmt::format("not enough threads for {} ranks: {}", count,
                                    thread_limit_advice(count))};
}

size_t address_space_limit() noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return 0;
  return limit.rlim_cur;
}

size_t most_mappings() noexcept {
  constexpr long kKernelsDefault = 65530;
  const long count = number_in("/proc/sys/vm/max_map_count");
  return static_cast<size_t>(count == kUnlimited ? kKernelsDefault : count);
}

size_t stack_limit() noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0) return kDefaultStackBytes;
  if (limit.rlim_cur == RLIM_INFINITY) return kUnlimitedStack;
  return std::max<size_t>(limit.rlim_cur, kDefaultStackBytes);
}

size_t possible_stack_bytes(size_t wanted, size_t ranks) noexcept {
  constexpr size_t kForStacks = size_t{32} << 40;  // of 128 TiB of address space
  ranks = std::max<size_t>(ranks, 1);
  size_t most = kForStacks / ranks / 2;  // its progress thread has a stack, too
  const long pages = sysconf(_SC_PHYS_PAGES);
  if (pages > 0) most = std::min(most, static_cast<size_t>(pages) * 4096);
  if (const size_t limit = address_space_limit(); limit != 0)
    most = std::min(most, limit / 4 / ranks);
  // With vm.overcommit_memory=2 the system's promise covers all memory, not stacks alone.
  constexpr long kNever = 2;
  if (number_in("/proc/sys/vm/overcommit_memory") == kNever)
    most = std::min(most, static_cast<size_t>(pages) * 4096 / 16 / ranks);
  constexpr size_t kUnit = 1u << 20;
  return std::min(wanted, std::max(most / kUnit * kUnit, kDefaultStackBytes));
}

}  // namespace mpc::sched
