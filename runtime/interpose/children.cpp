// Processes that a rank starts (system, popen, posix_spawn, fork) get the rank's environment, and
// the signal mask and limits that it would have had without mpcrun.

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <mutex>
#include <vector>

#include "runtime/interpose/child_signals.h"
#include "runtime/interpose/environment.h"
#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/next.h"
#include "runtime/job/inherited.h"
#include "runtime/job/start_block.h"

#define NEXT(name) MPC_NEXT(name, decltype(&::name))

namespace mpc::interpose {
namespace {

// The caller's attributes, with a signal mask added if they have none.
class Attributes {
 public:
  explicit Attributes(const posix_spawnattr_t* given) {
    if (given != nullptr)
      own_ = *given;
    else
      ::posix_spawnattr_init(&own_);
    short flags = 0;
    ::posix_spawnattr_getflags(&own_, &flags);
    if ((flags & POSIX_SPAWN_SETSIGMASK) != 0) return;
    sigset_t mask;
    ::pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    job::inherited::unblock_taken(&mask);
    if (child_signals::is_blocked()) ::sigaddset(&mask, SIGCHLD);
    ::posix_spawnattr_setsigmask(&own_, &mask);
    ::posix_spawnattr_setflags(&own_,
                               static_cast<short>(flags | POSIX_SPAWN_SETSIGMASK));
  }
  const posix_spawnattr_t* get() const { return &own_; }

 private:
  posix_spawnattr_t own_;  // plain data in glibc; nothing to destroy
};

// -1 with errno: it did not start.
pid_t start_shell(const char* command, const posix_spawn_file_actions_t* actions) {
  char* const argv[] = {const_cast<char*>("sh"), const_cast<char*>("-c"),
                        const_cast<char*>(command), nullptr};
  const Attributes attributes(nullptr);
  pid_t child = -1;
  child_signals::Starting starting;
  const int error = NEXT(posix_spawn)(&child, "/bin/sh", actions, attributes.get(),
                                      argv, present_environment());
  if (error == 0) {
    starting.note(child);
    return child;
  }
  errno = error;
  return -1;
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return status;
}

// Streams of popen() that have not been closed. Guarded by g_pipes_mutex.
struct Pipe {
  FILE* stream;
  pid_t child;
};
std::mutex g_pipes_mutex;
std::vector<Pipe>& pipes() {
  static auto* const list = new std::vector<Pipe>;
  return *list;
}

// Source: POSIX.1 popen().
FILE* open_pipe(const char* command, bool is_input) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return nullptr;
  const int own = ends[is_input ? 0 : 1];
  const int others = ends[is_input ? 1 : 0];
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, others,
                                     is_input ? STDOUT_FILENO : STDIN_FILENO);
  FILE* stream = ::fdopen(own, is_input ? "r" : "w");
  const pid_t child = stream != nullptr ? start_shell(command, &actions) : -1;
  const int error = errno;
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(others);
  if (child >= 0) {
    const std::lock_guard lock(g_pipes_mutex);
    pipes().push_back({stream, child});
    return stream;
  }
  if (stream != nullptr)
    std::fclose(stream);
  else
    ::close(own);
  errno = error;
  return nullptr;
}

// The child, or -1 if the stream is none of ours.
pid_t forget_pipe(FILE* stream) {
  const std::lock_guard lock(g_pipes_mutex);
  for (auto pipe = pipes().begin(); pipe != pipes().end(); ++pipe) {
    if (pipe->stream != stream) continue;
    const pid_t child = pipe->child;
    pipes().erase(pipe);
    return child;
  }
  return -1;
}

bool is_for_rank() { return own_rank() != nullptr && !is_forked_child(); }

// In the only thread of a child: from now on libc's environment is the rank's.
void become_a_process() {
  ::environ = present_environment();
  job::inherited::restore_in_child();
  if (child_signals::is_blocked()) {
    sigset_t only;
    ::sigemptyset(&only);
    ::sigaddset(&only, SIGCHLD);
    ::pthread_sigmask(SIG_BLOCK, &only, nullptr);
  }
  g_pipes_mutex.unlock();
}

__attribute__((constructor)) void register_hooks() {
  ::pthread_atfork([] { g_pipes_mutex.lock(); }, [] { g_pipes_mutex.unlock(); },
                   &become_a_process);
}

}  // namespace
}  // namespace mpc::interpose

using mpc::interpose::Attributes;
using mpc::interpose::is_for_rank;

MPC_EXPORT int posix_spawn(pid_t* child, const char* path,
                           const posix_spawn_file_actions_t* actions,
                           const posix_spawnattr_t* attributes, char* const argv[],
                           char* const envp[]) {
  if (!is_for_rank())
    return NEXT(posix_spawn)(child, path, actions, attributes, argv, envp);
  const auto* block = mpc::job::StartBlock::of(*mpc::interpose::own_rank());
  const bool is_own = block != nullptr && std::strcmp(path, "/proc/self/exe") == 0;
  mpc::interpose::child_signals::Starting starting;
  pid_t made = -1;
  const int error =
      NEXT(posix_spawn)(&made, is_own ? block->file().c_str() : path, actions,
                        Attributes(attributes).get(), argv, envp);
  if (error != 0) return error;
  if (child != nullptr) *child = made;
  starting.note(made);
  return 0;
}
MPC_EXPORT int posix_spawnp(pid_t* child, const char* file,
                            const posix_spawn_file_actions_t* actions,
                            const posix_spawnattr_t* attributes, char* const argv[],
                            char* const envp[]) {
  if (!is_for_rank())
    return NEXT(posix_spawnp)(child, file, actions, attributes, argv, envp);
  const mpc::interpose::BorrowedEnvironment environment;  // PATH
  mpc::interpose::child_signals::Starting starting;
  pid_t made = -1;
  const int error = NEXT(posix_spawnp)(&made, file, actions,
                                       Attributes(attributes).get(), argv, envp);
  if (error != 0) return error;
  if (child != nullptr) *child = made;
  starting.note(made);
  return 0;
}

MPC_EXPORT int system(const char* command) {
  if (!is_for_rank()) return NEXT(system)(command);
  if (command == nullptr) return 1;                      // there is a shell
  const mpc::interpose::child_signals::Blocked blocked;  // POSIX.1 system()
  const pid_t child = mpc::interpose::start_shell(command, nullptr);
  return child >= 0 ? mpc::interpose::wait_for(child) : -1;
}
MPC_EXPORT FILE* popen(const char* command, const char* mode) {
  if (!is_for_rank()) return NEXT(popen)(command, mode);
  const bool is_input = std::strchr(mode, 'r') != nullptr;
  if (is_input == (std::strchr(mode, 'w') != nullptr)) {
    errno = EINVAL;
    return nullptr;
  }
  return mpc::interpose::open_pipe(command, is_input);
}
MPC_EXPORT int pclose(FILE* stream) {
  const pid_t child = mpc::interpose::forget_pipe(stream);
  if (child < 0) return NEXT(pclose)(stream);
  std::fclose(stream);
  return mpc::interpose::wait_for(child);
}
