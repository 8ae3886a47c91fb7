// SIGTERM, SIGINT and SIGHUP end the job: ranks that have a handler run it first, each on its own stack.
//
// These signals are blocked in all threads of ranks (job::SignalThread waits for them). A rank that
// waits in the runtime is woken for an upcall; one that computes gets another signal on its kernel
// thread. Either may be too early or too late where the rank is being switched to: what has not
// been taken is asked for again and again (push).

#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>

#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/line_stream.h"
#include "runtime/interpose/signals.h"
#include "runtime/job/rank_signals.h"

namespace mpc::interpose {
namespace {

constexpr int kEnding[] = {SIGTERM, SIGINT, SIGHUP};

constexpr uint64_t bit_of(int signal) noexcept { return uint64_t{1} << signal; }

// A signal is ours if it points here.
constinit const char kMark = 0;

bool is_ending(int signal) noexcept {
  for (const int one : kEnding)
    if (one == signal) return true;
  return false;
}

// `context`: that of the signal handler in which we are; null: the rank has returned from a wait.
void run_due(const job::Rank& rank, void* context) {
  const int error = errno;
  ucontext_t here{};
  if (context == nullptr) {
    ::getcontext(&here);
    context = &here;
  }
  for (const int signal : kEnding) {
    // Acquire pairs with give(). Once: a second thread finds the bit gone.
    if ((rank.libc->due_signals.fetch_and(~bit_of(signal), std::memory_order_acquire) &
         bit_of(signal)) == 0)
      continue;
    siginfo_t info{};
    info.si_signo = signal;
    info.si_code = SI_USER;
    info.si_pid = ::getpid();
    info.si_uid = ::getuid();
    run_handler(&rank, signal, &info, context);
  }
  errno = error;
}

template <typename Visit>
void for_each_living_rank(Visit visit) {
  job::Job* job = job::Job::existing();
  if (job == nullptr) return;
  const job::RankRange all = job->local_ranks();
  for (int r = all.first; r < all.end; ++r) {
    const job::Rank& rank = job->rank(r);
    if (rank.libc != nullptr && rank.execution != nullptr &&
        rank.phase.load(std::memory_order_acquire) < job::kEnded)
      visit(rank);
  }
}

void wake_for_due(const job::Rank& rank) {
  rank.execution->request_upcall();
  const int thread = rank.execution->kernel_thread();
  if (thread == 0 || rank.execution->has_left_core()) return;
  siginfo_t info{};
  info.si_signo = SIGRTMAX;
  info.si_code = SI_QUEUE;
  info.si_pid = ::getpid();
  info.si_uid = ::getuid();
  info.si_value.sival_ptr = const_cast<char*>(&kMark);
  ::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), thread, SIGRTMAX, &info);
}

template <typename Visit>
void for_each_taker(int signal, Visit visit) {
  if (!is_ending(signal) || !has_any_handler(signal)) return;
  for_each_living_rank([&](const job::Rank& rank) {
    const auto* const action = handler_of(&rank, signal);
    if (action != nullptr && action->sa_handler != SIG_IGN) visit(rank, *action);
  });
}

int takers(int signal) {
  int count = 0;
  for_each_taker(signal, [&](const job::Rank&, const auto&) { ++count; });
  return count;
}

void give(int signal) {
  bool restarts = true;
  for_each_taker(signal, [&](const job::Rank&, const auto& action) {
    restarts = restarts && (action.sa_flags & SA_RESTART) != 0;
  });
  catch_carried_signals(restarts);
  for_each_taker(signal, [&](const job::Rank& rank, const auto&) {
    rank.libc->due_signals.fetch_or(bit_of(signal), std::memory_order_release);
    wake_for_due(rank);
  });
}

int push() {
  int left = 0;
  for_each_living_rank([&](const job::Rank& rank) {
    if (rank.libc->due_signals.load(std::memory_order_relaxed) == 0) return;
    ++left;
    wake_for_due(rank);
  });
  return left;
}

// At the end of a rank's wait.
void take_upcall(sched::Execution& execution) {
  const job::Rank* const rank = own_rank();
  if (rank != nullptr && rank->libc != nullptr && rank->execution == &execution)
    run_due(*rank, nullptr);
}

__attribute__((constructor)) void register_functions() {
  job::rank_signals::set({&takers, &give, &push});
  sched::Execution::set_upcall(&take_upcall);
}

}  // namespace

// Not within the scheduler, an MPI call or the output, which a handler that calls exit() would leave locked: there it
// runs at the end of a wait, or when it is asked for again.
bool take_carried_signal(int signal, const siginfo_t& info, void* context) {
  if (signal != SIGRTMAX || info.si_value.sival_ptr != &kMark) return false;
  const job::Rank* const rank = own_rank();
  if (rank == nullptr || rank->libc == nullptr) return true;
  const sched::Execution& self = sched::Execution::self();
  if (rank->execution == &self && self.is_in_own_code() && self.call() == nullptr &&
      !LineStream::is_inside())
    run_due(*rank, context);
  return true;
}

}  // namespace mpc::interpose
