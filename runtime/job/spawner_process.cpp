#include "runtime/job/spawner_process.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "runtime/wireup/place.h"

namespace mpc::job {
namespace {

// Field 22 of /proc/PID/stat; the name before it may contain anything. 0: there is no such process.
unsigned long long start_of(long pid) {
  char text[1024];
  FILE* const file = std::fopen(fmt::format("/proc/{}/stat", pid).c_str(), "re");
  if (file == nullptr) return 0;
  const size_t bytes = std::fread(text, 1, sizeof text - 1, file);
  std::fclose(file);
  text[bytes] = '\0';
  const char* const name_end = std::strrchr(text, ')');
  unsigned long long start = 0;
  if (name_end == nullptr ||
      std::sscanf(
          name_end + 1,
          " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
          "%*s %*s %llu",
          &start) != 1)
    return 0;
  return start;
}

// Where process numbers mean the same: a host, and a namespace of numbers there.
std::string own_place() {
  char numbers[64] = "";
  const ssize_t length = ::readlink("/proc/self/ns/pid", numbers, sizeof numbers - 1);
  return fmt::format(
      "{:x}:{}", wireup::host_identity(),
      std::string_view(numbers, length > 0 ? static_cast<size_t>(length) : 0));
}

}  // namespace

std::string own_process_text() {
  const unsigned long long start = start_of(::getpid());
  return start == 0 ? "" : fmt::format("{}:{}:{}", ::getpid(), start, own_place());
}

SpawnerProcess open_process(const std::string& text) {
  using Fate = SpawnerProcess::Fate;
  long pid = 0;
  unsigned long long start = 0;
  int length = 0;
  if (std::sscanf(text.c_str(), "%ld:%llu:%n", &pid, &start, &length) != 2 ||
      text.substr(static_cast<size_t>(length)) != own_place())
    return {};
  const int descriptor = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (descriptor < 0) return {errno == ESRCH ? Fate::kEnded : Fate::kUnknown, -1};
  // The process behind the descriptor is the right one if it began when that did.
  if (start_of(pid) == start) return {Fate::kRuns, descriptor};
  ::close(descriptor);
  return {Fate::kEnded, -1};
}

}  // namespace mpc::job
