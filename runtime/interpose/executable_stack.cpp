// The stack of a rank's main thread is executable if the program needs that, as in a process.

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "runtime/job/job.h"
#include "runtime/loader/image.h"
#include "scheduler/execution.h"

namespace {

// A nested function whose address is taken (GNU C; Fortran's internal procedures as arguments)
// is called through a few instructions on the stack.
void make_stack_executable(mpc::job::Rank& rank) {
  if (rank.instance == nullptr || !rank.instance->image().needs_executable_stack())
    return;
  const auto stack = mpc::sched::Execution::self().stack();
  if (stack.bytes == 0) return;
  if (::mprotect(const_cast<char*>(stack.low), stack.bytes,
                 PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
    mpc::log::error("rank {}: the stack cannot be made executable, which {} needs: {}",
                    rank.world_rank, rank.instance->image().path(),
                    std::strerror(errno));
}

__attribute__((constructor)) void register_stack_hook() {
  mpc::job::Job::at_rank_start(mpc::job::HookOrder::kThreads, &make_stack_executable);
}

}  // namespace
