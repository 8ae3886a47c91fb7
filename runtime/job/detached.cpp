#include "runtime/job/detached.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/service_thread.h"
#include "scheduler/as_nobody.h"

namespace mpc::job {
namespace {

constexpr size_t kStackBytes = 256 << 10;  // of the intermediate process

struct Task {
  const char* path;
  char* const* words;
  const posix_spawn_file_actions_t* actions;
  const posix_spawnattr_t* attributes;
  char* const* environment;
  int error = 0;
  int process_fd = -1;
};

// The intermediate process: it has this one's memory and descriptors, and exits at once, so that
// the system adopts the process that it has started. It opens the descriptor while it is the
// parent: no other process has the number then.
int start_and_end(void* argument) {
  Task& task = *static_cast<Task*>(argument);
  pid_t child = -1;
  task.error = ::posix_spawn(&child, task.path, task.actions, task.attributes,
                             task.words, task.environment);
  if (task.error == 0) {
    task.process_fd = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
    if (task.process_fd < 0) {
      task.error = errno;
      ::syscall(SYS_kill, child, SIGKILL);
    }
  }
  ::syscall(SYS_exit_group, 0);
  return 0;
}

// It ends without a signal (none in the flags), and only a caller
// that asks for such children finds it: __WCLONE.
Result<> run_between(Task& task) {
  void* const stack = ::mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED)
    return {Errc::kSystem, fmt::format("a stack: {}", std::strerror(errno))};
  const int between =
      ::clone(&start_and_end, static_cast<char*>(stack) + kStackBytes,
              CLONE_VM | CLONE_VFORK | CLONE_FILES, static_cast<void*>(&task));
  const int error = errno;
  if (between >= 0)
    while (::syscall(SYS_wait4, between, nullptr, __WCLONE, nullptr) < 0 &&
           errno == EINTR) {
    }
  ::munmap(stack, kStackBytes);
  if (between < 0)
    return {Errc::kSystem, fmt::format("a process: {}", std::strerror(error))};
  return {};
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts)
    pointers.push_back(const_cast<char*>(text.c_str()));
  return pointers;
}

// Has one of them the same name?
bool is_among(const char* variable, const std::vector<std::string>& variables) {
  return std::ranges::any_of(variables, [&](const std::string& each) {
    return std::strncmp(variable, each.c_str(), each.find('=') + 1) == 0;
  });
}

}  // namespace

Result<wireup::OwnedFd> start_detached(const std::string& path,
                                       const std::vector<std::string>& words,
                                       const std::vector<std::string>& variables) {
  std::vector<char*> argv = pointers_to(words);
  argv.push_back(nullptr);
  std::vector<char*> environment = pointers_to(variables);
  for (char** each = ::environ; each != nullptr && *each != nullptr; ++each)
    if (!is_among(*each, variables)) environment.push_back(*each);
  environment.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  sigset_t mask;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  ::posix_spawnattr_setsigmask(&attributes, &mask);
  Task task{path.c_str(), argv.data(), &actions, &attributes, environment.data()};
  Result<> started;
  {
    const sched::AsNobody nobody;  // it is not a child of a rank
    const WithoutSignals blocked;  // a handler of the program's would run in both
    started = run_between(task);
  }
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  MPC_TRY(started);
  if (task.error != 0)
    return {Errc::kSystem, fmt::format("{}: {}", path, std::strerror(task.error))};
  return wireup::OwnedFd(task.process_fd);
}

}  // namespace mpc::job
