#include "scheduler/thread_state.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace mpc::sched {

char thread_state(int tid) noexcept {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 'R';
  char text[256];
  const ssize_t size = read(file, text, sizeof text - 1);
  close(file);
  if (size <= 0) return 'R';
  text[size] = '\0';
  // "tid (name) S ...": the name may contain anything, so look for the last parenthesis.
  const char* end_of_name = std::strrchr(text, ')');
  return end_of_name != nullptr && end_of_name[1] != '\0' ? end_of_name[2] : 'R';
}

// Source: Linux, include/linux/posix-timers_types.h: a clock's number has the thread's, and what kind it is.
uint64_t thread_cpu_ns(int tid) noexcept {
  constexpr clockid_t kOfThread = 4, kScheduled = 2;
  const clockid_t clock =
      static_cast<clockid_t>(~static_cast<unsigned>(tid) << 3) | kOfThread | kScheduled;
  timespec time{};
  if (::clock_gettime(clock, &time) != 0) return 0;
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<uint64_t>(time.tv_nsec);
}

}  // namespace mpc::sched
