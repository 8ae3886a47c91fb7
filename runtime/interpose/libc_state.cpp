#include "runtime/interpose/libc_state.h"

namespace mpc::interpose {

bool g_is_ready = false;

LibcState::LibcState() {
  // Source: POSIX.1 random(): the same sequence as if srandom(1) had been called.
  initstate_r(1, random_state, sizeof random_state, &random);
}

namespace {

__attribute__((constructor)) void register_hooks() {
  job::Job::at_rank_start([](job::Rank& rank) { rank.libc = new LibcState; });
  g_is_ready = true;
  // Not freed at the rank's end: threads that it left behind may still use it.
}

}  // namespace
}  // namespace mpc::interpose
