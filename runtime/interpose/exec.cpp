// The exec family: it would replace the process, and all ranks with it, so a rank may not; a
// child that it forked may, and gets the rank's environment.
//
// A call fails with an error and does not end the job: exec* may fail in any process, so programs
// handle that. A program that restarts itself for another environment continues
// without it; one that needs it says so and ends with its own status. But the
// job did not do what it was written for, so its status is not 0.

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "runtime/interpose/descriptors.h"
#include "runtime/interpose/environment.h"
#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/next.h"
#include "runtime/job/exit_status.h"
#include "runtime/job/inherited.h"
#include "runtime/job/start_block.h"

#define NEXT(name) MPC_NEXT(name, decltype(&::name))

namespace mpc::interpose {
namespace {

job::Rank* rank_that_may_not() { return is_forked_child() ? nullptr : own_rank(); }

int refuse(const job::Rank& rank, const char* call, const char* program) {
  const std::string text = fmt::format(
      "mpcrun: rank {} of {} called {}(\"{}\"): refused, as it would replace the "
      "process that all ranks share. For a rank that becomes another program write "
      "mpcrun --ranks-per-process 1 ..., which makes each rank a process of its own; "
      "for a program that is no rank, start it as a child (system, posix_spawn, fork "
      "and exec); give mpcrun what a program restarts itself for: -x NAME=VALUE, "
      "--stack-size\n",
      rank.world_rank, rank.world_size, call, program);
  [[maybe_unused]] const ssize_t ignored =
      ::write(STDERR_FILENO, text.data(), text.size());
  rank.job->note_refusal(job::kExitNotExecutable,
                         fmt::format("mpcrun: {} of rank {} was refused, see above",
                                     call, rank.world_rank));
  errno = ENOTSUP;
  return -1;
}

// Python's child gets the mask that its parent had, and with it what the runtime has blocked.
void restore_mask() {
  if (!is_vfork_child()) return;
  sigset_t mask;
  ::sigprocmask(SIG_BLOCK, nullptr, &mask);
  job::inherited::unblock_taken(&mask);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
}

// If a rank's child executes "itself", that means the rank's program, not mpcrun.
const char* own_program(const char* path) {
  const job::Rank* rank = own_rank();
  const job::StartBlock* start = rank != nullptr ? job::StartBlock::of(*rank) : nullptr;
  const bool is_own =
      start != nullptr && path != nullptr && std::strcmp(path, "/proc/self/exe") == 0;
  return is_own ? start->file().c_str() : path;
}

int execute(const char* call, const char* path, char* const argv[],
            char* const envp[]) {
  if (const job::Rank* rank = rank_that_may_not()) return refuse(*rank, call, path);
  restore_mask();
  return NEXT(execve)(own_program(path), argv, envp);
}
int execute_found(const char* call, const char* file, char* const argv[],
                  char* const envp[]) {
  if (const job::Rank* rank = rank_that_may_not()) return refuse(*rank, call, file);
  restore_mask();
  return NEXT(execvpe)(own_program(file), argv, envp);
}

// argv of the execl family: up to the null; execle's environment follows.
std::vector<char*> collect(const char* first, va_list& list) {
  std::vector<char*> arguments;
  for (const char* a = first; a != nullptr; a = va_arg(list, const char*))
    arguments.push_back(const_cast<char*>(a));
  arguments.push_back(nullptr);
  return arguments;
}

}  // namespace
}  // namespace mpc::interpose

using mpc::interpose::execute;
using mpc::interpose::execute_found;
using mpc::interpose::present_environment;

MPC_EXPORT int execve(const char* path, char* const argv[],
                      char* const envp[]) noexcept {
  return execute("execve", path, argv, envp);
}
MPC_EXPORT int execv(const char* path, char* const argv[]) noexcept {
  return execute("execv", path, argv, present_environment());
}
MPC_EXPORT int execvpe(const char* file, char* const argv[],
                       char* const envp[]) noexcept {
  return execute_found("execvpe", file, argv, envp);
}
MPC_EXPORT int execvp(const char* file, char* const argv[]) noexcept {
  return execute_found("execvp", file, argv, present_environment());
}
MPC_EXPORT int fexecve(int fd, char* const argv[], char* const envp[]) noexcept {
  if (const auto* rank = mpc::interpose::rank_that_may_not())
    return mpc::interpose::refuse(*rank, "fexecve", argv[0]);
  mpc::interpose::restore_mask();
  return NEXT(fexecve)(fd, argv, envp);
}
MPC_EXPORT int execveat(int folder, const char* path, char* const argv[],
                        char* const envp[], int flags) noexcept {
  if (const auto* rank = mpc::interpose::rank_that_may_not())
    return mpc::interpose::refuse(*rank, "execveat", path);
  mpc::interpose::restore_mask();
  return NEXT(execveat)(folder, path, argv, envp, flags);
}
MPC_EXPORT int execl(const char* path, const char* first, ...) noexcept {
  va_list list;
  va_start(list, first);
  const auto arguments = mpc::interpose::collect(first, list);
  va_end(list);
  return execute("execl", path, arguments.data(), present_environment());
}
MPC_EXPORT int execle(const char* path, const char* first, ...) noexcept {
  va_list list;
  va_start(list, first);
  const auto arguments = mpc::interpose::collect(first, list);
  char* const* environment = va_arg(list, char* const*);
  va_end(list);
  return execute("execle", path, arguments.data(), environment);
}
MPC_EXPORT int execlp(const char* file, const char* first, ...) noexcept {
  va_list list;
  va_start(list, first);
  const auto arguments = mpc::interpose::collect(first, list);
  va_end(list);
  return execute_found("execlp", file, arguments.data(), present_environment());
}
