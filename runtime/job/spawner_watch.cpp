#include "runtime/job/spawner_watch.h"

#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "base/service_thread.h"
#include "runtime/job/job.h"
#include "runtime/wireup/place.h"

namespace mpc::job {
namespace {

struct Watched {
  Job* job = nullptr;
  int process = -1, stop = -1;  // descriptors
};
constinit Watched g_watched;  // written before ranks run

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

void end_job() {
  g_watched.job->abort(1,
                       "mpcrun: the program that has spawned this job has ended before "
                       "all ranks were in MPI_Init; the job is ended");
}

void* watch(void*) {
  pollfd either[] = {{g_watched.process, POLLIN, 0}, {g_watched.stop, POLLIN, 0}};
  while (::poll(either, 2, -1) < 0 && errno == EINTR) {
  }
  if (either[1].revents == 0) end_job();
  return nullptr;
}

}  // namespace

std::string own_process_text() {
  const unsigned long long start = start_of(::getpid());
  return start == 0 ? "" : fmt::format("{}:{}:{}", ::getpid(), start, own_place());
}

Result<> watch_spawner(Job& job, const std::string& process) {
  long pid = 0;
  unsigned long long start = 0;
  int length = 0;
  if (std::sscanf(process.c_str(), "%ld:%llu:%n", &pid, &start, &length) != 2 ||
      process.substr(static_cast<size_t>(length)) != own_place())
    return {};
  g_watched.job = &job;
  g_watched.process = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (g_watched.process < 0 && errno != ESRCH) return {};  // a kernel that has none
  g_watched.stop = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  // The process behind the descriptor is the right one if it began when that did.
  if (g_watched.process < 0 || start_of(pid) != start) end_job();
  auto thread = start_service_thread("the end of the parent", &watch, nullptr);
  MPC_TRY(thread);
  pthread_detach(*thread);
  return {};
}

void end_spawner_watch() noexcept {
  if (g_watched.stop < 0) return;
  const uint64_t one = 1;
  (void)!::write(g_watched.stop, &one, sizeof one);
}

}  // namespace mpc::job
