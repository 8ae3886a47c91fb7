// SIGUSR1 and SIGUSR2 from outside: mpcrun was sent one, which is for all ranks.

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/signals.h"

namespace mpc::interpose {
namespace {

int own_thread() noexcept { return static_cast<int>(::syscall(SYS_gettid)); }

// The ranks of this process that have a handler. Async-signal-safe.
template <typename Visit>
void for_each_handling_rank(int signal, Visit visit) noexcept {
  job::Job* job = job::Job::existing();
  const job::RankRange all = job->local_ranks();
  for (int r = all.first; r < all.end; ++r)
    if (const job::Rank& rank = job->rank(r);
        handler_of(&rank, signal) != nullptr &&
        rank.phase.load(std::memory_order_relaxed) < job::kEnded)
      visit(rank);
}

// The kernel thread where the rank's handler is to run; 0: it is not.
std::atomic<int>& due_of(const job::Rank& rank, int signal) noexcept {
  return rank.libc->user_signals_due[signal == SIGUSR2 ? 1 : 0];
}

// One signal that is pending stands for all that are due on its thread, as signals are merged.
void run_due(int signal, siginfo_t* info, void* context) noexcept {
  const int own = own_thread();
  for_each_handling_rank(signal, [&](const job::Rank& rank) {
    int expected = own;
    if (due_of(rank, signal).compare_exchange_strong(expected, 0))
      run_handler(&rank, signal, info, context);
  });
}

}  // namespace

bool give_to_all(int signal, bool was_passed_on, siginfo_t* info,
                 void* context) noexcept {
  const bool is_meant = signal == SIGUSR1 || signal == SIGUSR2;
  const bool is_from_outside = info->si_code == SI_USER && info->si_pid != ::getpid();
  if (!is_meant || !is_from_outside || !has_any_handler(signal) || is_forked_child())
    return false;
  if (!was_passed_on) {
    const int own = own_thread();
    for_each_handling_rank(signal, [&](const job::Rank& rank) {
      const int thread =
          rank.execution != nullptr ? rank.execution->kernel_thread() : 0;
      due_of(rank, signal).store(thread != 0 ? thread : own);
      if (thread != own && !pass_on(&rank, signal, *info))
        due_of(rank, signal).store(own);
    });
  }
  run_due(signal, info, context);
  return true;
}

}  // namespace mpc::interpose
