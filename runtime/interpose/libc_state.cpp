#include "runtime/interpose/libc_state.h"

#include <unistd.h>

namespace mpc::interpose {

bool g_is_ready = false;

LibcState::LibcState() {
  // Source: POSIX.1 random(): the same sequence as if srandom(1) had been called.
  initstate_r(1, random_state, sizeof random_state, &random);
}

namespace {

const pid_t kProcess = ::getpid();

// First: the hooks of the other files need what this one creates.
__attribute__((constructor(200))) void register_hooks() {
  job::Job::at_rank_start(job::HookOrder::kLibcState,
                          [](job::Rank& rank) { rank.libc = new LibcState; });
  g_is_ready = true;
  // Not freed at the rank's end: threads that it left behind may still use it.
}

}  // namespace

bool is_forked_child() noexcept { return ::getpid() != kProcess; }

}  // namespace mpc::interpose
