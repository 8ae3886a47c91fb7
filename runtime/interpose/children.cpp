// Processes that a rank starts (system, popen, posix_spawn, fork) get the rank's environment and
// descriptors 0, 1 and 2, and the signal mask and limits that it would have had without mpcrun.

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

#include "base/check.h"
#include "runtime/interpose/child_signals.h"
#include "runtime/interpose/descriptors.h"
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

// The number of bytes of an action, which libc does not tell.
size_t action_bytes() {
  static const size_t bytes = [] {
    constexpr int kOne = 5, kOther = 7;
    posix_spawn_file_actions_t two;
    ::posix_spawn_file_actions_init(&two);
    constexpr int kRoom = 8, kMostBytes = 64;
    two.__actions = static_cast<__spawn_action*>(std::calloc(kRoom, kMostBytes));
    CHECK(two.__actions != nullptr, "no memory");
    two.__allocated = kRoom;
    for (const int fd : {kOne, kOther}) ::posix_spawn_file_actions_addclose(&two, fd);
    const auto* words = reinterpret_cast<const int*>(two.__actions);
    size_t first = 0, second = 0;
    while (words[first] != kOne) ++first;
    for (second = first; words[second] != kOther;) ++second;
    ::posix_spawn_file_actions_destroy(&two);
    return (second - first) * sizeof(int);
  }();
  return bytes;
}

// The caller's actions, after those that give the child the rank's descriptors 0, 1 and 2.
class Actions {
 public:
  explicit Actions(const posix_spawn_file_actions_t* given) : given_(given) {
    if (descriptors_.is_empty()) return;
    ::posix_spawn_file_actions_init(&own_);
    for (const ChildDescriptors::Move& move : descriptors_) {
      if (move.from >= 0)
        ::posix_spawn_file_actions_adddup2(&own_, move.from, move.to);
      else
        ::posix_spawn_file_actions_addclose(&own_, move.to);
    }
    if (given != nullptr) append(*given);
  }
  ~Actions() {
    // Not destroyed: the texts in the caller's actions are the caller's.
    if (!descriptors_.is_empty()) std::free(own_.__actions);
  }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;
  const posix_spawn_file_actions_t* get() const {
    return descriptors_.is_empty() ? given_ : &own_;
  }

 private:
  void append(const posix_spawn_file_actions_t& given) {
    const auto at = [](const posix_spawn_file_actions_t& actions, int index) {
      return reinterpret_cast<char*>(actions.__actions) +
             static_cast<size_t>(index) * action_bytes();
    };
    const int first = own_.__used;
    for (int i = 0; i < given.__used; ++i)  // for the room
      ::posix_spawn_file_actions_addclose(&own_, STDIN_FILENO);
    if (given.__used > 0)
      std::memcpy(at(own_, first), at(given, 0),
                  static_cast<size_t>(given.__used) * action_bytes());
  }

  const posix_spawn_file_actions_t* given_;
  const ChildDescriptors descriptors_;
  posix_spawn_file_actions_t own_{};
};

// -1 with errno: it did not start.
pid_t start_shell(const char* command, const posix_spawn_file_actions_t* actions) {
  char* const argv[] = {const_cast<char*>("sh"), const_cast<char*>("-c"),
                        const_cast<char*>(command), nullptr};
  const Attributes attributes(nullptr);
  pid_t child = -1;
  child_signals::Starting starting;
  const int error = NEXT(posix_spawn)(&child, "/bin/sh", Actions(actions).get(),
                                      attributes.get(), argv, present_environment());
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

using mpc::interpose::Actions;
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
  const int error = NEXT(posix_spawn)(&made, is_own ? block->file().c_str() : path,
                                      Actions(actions).get(),
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
  const int error = NEXT(posix_spawnp)(&made, file, Actions(actions).get(),
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
