// The parts of signal masks, sigsuspend(), sigwait() and fork() of a rank that concern SIGCHLD.

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <ctime>

#include "runtime/interpose/child_signals.h"
#include "runtime/interpose/fork_locks.h"
#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/next.h"
#include "runtime/interpose/signal_waits.h"
#include "runtime/interpose/signals.h"

namespace mpc::interpose::child_signals {
namespace {

// The rank of the calling main thread if it is alive, or null.
// Its kernel thread also serves other ranks.
job::Rank* rank_of_main_thread() noexcept {
  if (!g_is_ready || is_forked_child()) return nullptr;
  job::Rank* rank = own_rank();
  if (rank == nullptr || rank->libc == nullptr) return nullptr;
  return rank->execution == &sched::Execution::self() ? rank : nullptr;
}

// The effect of sigprocmask() on one bit; SIG_BLOCK and SIG_UNBLOCK leave it unless it is in `set`.
bool bit_after(int how, const sigset_t& set, bool before) noexcept {
  const bool is_in = ::sigismember(&set, SIGCHLD) == 1;
  if (how == SIG_SETMASK) return is_in;
  return is_in ? how == SIG_BLOCK : before;
}

// `next` is libc's function, for all other signals. Source: POSIX.1 pthread_sigmask().
template <typename Next>
int change_mask(job::Rank& rank, Next next, int how, const sigset_t* set,
                sigset_t* before) noexcept {
  const bool was_blocked =
      rank.libc->blocks_child_signal.load(std::memory_order_relaxed);
  sigset_t others;
  sigset_t wanted;
  if (set != nullptr) wanted = others = *set;  // `before` may be the same
  ::sigdelset(&others, SIGCHLD);
  // Before the kernel has it: a signal that comes at once is caught by then, one that was pending ends as it should.
  if (set != nullptr) signal_waits::note_mask(rank, how, wanted);
  const int result = next(how, set != nullptr ? &others : nullptr, before);
  if (result != 0) return result;
  if (before != nullptr)
    was_blocked ? ::sigaddset(before, SIGCHLD) : ::sigdelset(before, SIGCHLD);
  if (set != nullptr) set_blocked(rank, bit_after(how, wanted, was_blocked));
  return result;
}

// Source: POSIX.1 sigsuspend(). The kernel holds SIGCHLD back between the check and the wait.
int suspend(job::Rank& rank, const sigset_t& mask, int (*next)(const sigset_t*)) {
  sigset_t only, before, others = mask;
  ::sigemptyset(&only);
  ::sigaddset(&only, SIGCHLD);
  ::sigdelset(&others, SIGCHLD);
  MPC_NEXT(pthread_sigmask, decltype(&::pthread_sigmask))(SIG_BLOCK, &only, &before);
  const uint32_t runs = handler_runs_of(rank);
  const bool was_blocked = set_blocked(rank, ::sigismember(&mask, SIGCHLD) == 1);
  // A signal for another rank that arrives here ends the call, but is not ours.
  bool is_over = handler_runs_of(rank) != runs;
  while (!is_over) {
    next(&others);
    is_over = handler_runs_of(rank) != runs;
  }
  rank.libc->blocks_child_signal.store(was_blocked, std::memory_order_relaxed);
  MPC_NEXT(pthread_sigmask, decltype(&::pthread_sigmask))
  (SIG_SETMASK, &before, nullptr);
  errno = EINTR;
  return -1;
}

// sigtimedwait() for a set with SIGCHLD, which libc would give to any rank's thread: checks from
// time to time. `timeout` null: forever.
int wait_for(const job::Rank& rank, const sigset_t& set, siginfo_t* out,
             const timespec* timeout) noexcept {
  constexpr long kFirstPauseNs = 500'000, kLastPauseNs = 10'000'000;
  sigset_t others = set;
  ::sigdelset(&others, SIGCHLD);
  const uint64_t end_ns =
      timeout == nullptr
          ? UINT64_MAX
          : sched::now_ns() + static_cast<uint64_t>(timeout->tv_sec) * 1'000'000'000 +
                static_cast<uint64_t>(timeout->tv_nsec);
  const auto next = MPC_NEXT(sigtimedwait, decltype(&::sigtimedwait));
  const signal_waits::Waiting waiting(rank, set);
  const uint32_t runs = handler_runs_of(rank);
  for (long pause_ns = kFirstPauseNs;;
       pause_ns = std::min(2 * pause_ns, kLastPauseNs)) {
    siginfo_t info{};
    if (take_ended(rank, info)) {
      if (out != nullptr) *out = info;
      return SIGCHLD;
    }
    const uint64_t now_ns = sched::now_ns();
    const uint64_t left_ns = now_ns < end_ns ? end_ns - now_ns : 0;
    const timespec pause{
        0, static_cast<long>(std::min(left_ns, static_cast<uint64_t>(pause_ns)))};
    const int signal = next(&others, out, &pause);
    // This kernel thread may have received another rank's signal.
    const bool is_ours = errno == EINTR && handler_runs_of(rank) != runs;
    if (signal > 0 && out != nullptr) restore_if_passed_on(*out);
    if (signal > 0 || left_ns == 0 || is_ours) return signal;
    if (errno != EAGAIN && errno != EINTR) return signal;
  }
}

// The rank whose thread waits for signals, or null.
job::Rank* rank_that_waits() noexcept {
  if (!g_is_ready || is_forked_child()) return nullptr;
  job::Rank* rank = own_rank();
  return rank != nullptr && rank->libc != nullptr ? rank : nullptr;
}

// sigtimedwait() of a rank. `next`: libc's, if SIGCHLD is not in the set.
template <typename Next>
int wait_as_rank(const job::Rank& rank, const sigset_t& set, siginfo_t* out,
                 const timespec* timeout, Next next) noexcept {
  if (::sigismember(&set, SIGCHLD) == 1) return wait_for(rank, set, out, timeout);
  const signal_waits::Waiting waiting(rank, set);
  const int signal = next();
  if (signal > 0 && out != nullptr) restore_if_passed_on(*out);
  return signal;
}

}  // namespace
}  // namespace mpc::interpose::child_signals

namespace child_signals = mpc::interpose::child_signals;

MPC_EXPORT int pthread_sigmask(int how, const sigset_t* set,
                               sigset_t* before) noexcept {
  const auto next = MPC_NEXT(pthread_sigmask, decltype(&::pthread_sigmask));
  mpc::job::Rank* rank = mpc::interpose::is_own_call(__builtin_return_address(0))
                             ? nullptr
                             : child_signals::rank_of_main_thread();
  if (rank == nullptr) return next(how, set, before);
  return child_signals::change_mask(*rank, next, how, set, before);
}
MPC_EXPORT int sigprocmask(int how, const sigset_t* set, sigset_t* before) noexcept {
  const auto next = MPC_NEXT(sigprocmask, decltype(&::sigprocmask));
  mpc::job::Rank* rank = mpc::interpose::is_own_call(__builtin_return_address(0))
                             ? nullptr
                             : child_signals::rank_of_main_thread();
  if (rank == nullptr) return next(how, set, before);
  return child_signals::change_mask(*rank, next, how, set, before);
}
MPC_EXPORT int sigsuspend(const sigset_t* mask) {
  const auto next = MPC_NEXT(sigsuspend, decltype(&::sigsuspend));
  mpc::job::Rank* rank = child_signals::rank_of_main_thread();
  return rank == nullptr ? next(mask) : child_signals::suspend(*rank, *mask, next);
}
MPC_EXPORT int sigtimedwait(const sigset_t* set, siginfo_t* info,
                            const timespec* timeout) {
  const auto next = MPC_NEXT(sigtimedwait, decltype(&::sigtimedwait));
  const mpc::job::Rank* rank = child_signals::rank_that_waits();
  if (rank == nullptr) return next(set, info, timeout);
  return child_signals::wait_as_rank(*rank, *set, info, timeout,
                                     [&] { return next(set, info, timeout); });
}
MPC_EXPORT int sigwaitinfo(const sigset_t* set, siginfo_t* info) {
  const auto next = MPC_NEXT(sigwaitinfo, decltype(&::sigwaitinfo));
  const mpc::job::Rank* rank = child_signals::rank_that_waits();
  if (rank == nullptr) return next(set, info);
  return child_signals::wait_as_rank(*rank, *set, info, nullptr,
                                     [&] { return next(set, info); });
}
MPC_EXPORT int sigwait(const sigset_t* set, int* signal) {
  const mpc::job::Rank* rank = child_signals::rank_that_waits();
  if (rank == nullptr) return MPC_NEXT(sigwait, decltype(&::sigwait))(set, signal);
  const auto next = MPC_NEXT(sigwaitinfo, decltype(&::sigwaitinfo));
  int found = 0;
  do {
    found = child_signals::wait_as_rank(*rank, *set, nullptr, nullptr,
                                        [&] { return next(set, nullptr); });
  } while (found < 0 && errno == EINTR);  // Source: glibc 2.36, sigwait()
  if (found < 0) return errno;
  *signal = found;
  return 0;
}
MPC_EXPORT pid_t fork() noexcept {
  const auto next = MPC_NEXT(fork, decltype(&::fork));
  if (mpc::interpose::own_rank() == nullptr || mpc::interpose::is_forked_child())
    return next();
  child_signals::Starting starting;
  const mpc::interpose::ForkLocks locks;
  const pid_t child = next();
  if (child > 0) starting.note(child);
  return child;
}
