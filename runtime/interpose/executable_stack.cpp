// The stacks of a rank's threads are executable if the program needs that, as in a process.

#include "runtime/interpose/executable_stack.h"

#include <pthread.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "runtime/job/job.h"
#include "runtime/loader/image.h"
#include "scheduler/execution.h"

namespace mpc::interpose {
namespace {

constexpr int kAll = PROT_READ | PROT_WRITE | PROT_EXEC;

// A nested function whose address is taken (GNU C; Fortran's internal procedures as arguments)
// is called through a few instructions on the stack.
bool needs_executable_stack(const job::Rank& rank) noexcept {
  return rank.instance != nullptr && rank.instance->image().needs_executable_stack();
}

void complain(const job::Rank& rank) {
  log::error("rank {}: a stack cannot be made executable, which {} needs: {}",
             rank.world_rank, rank.instance->image().path(), std::strerror(errno));
}

void make_stack_executable(job::Rank& rank) {
  if (!needs_executable_stack(rank)) return;
  const auto stack = sched::Execution::self().stack();
  if (stack.bytes == 0) return;
  if (::mprotect(const_cast<char*>(stack.low), stack.bytes, kAll) != 0) complain(rank);
}

__attribute__((constructor)) void register_stack_hook() {
  job::Job::at_rank_start(job::HookOrder::kThreads, &make_stack_executable);
}

}  // namespace

void make_thread_stack_executable(const job::Rank& rank) noexcept {
  if (!needs_executable_stack(rank)) return;
  pthread_attr_t attributes;
  if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return;
  void* low = nullptr;
  size_t bytes = 0;
  ::pthread_attr_getstack(&attributes, &low, &bytes);
  ::pthread_attr_destroy(&attributes);
  if (bytes != 0 && ::mprotect(low, bytes, kAll) != 0 && errno != EINVAL)
    complain(rank);
}

}  // namespace mpc::interpose
