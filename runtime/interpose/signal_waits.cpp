#include "runtime/interpose/signal_waits.h"

#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>

#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/signals.h"

namespace mpc::interpose {
namespace signal_waits {
namespace {

// The rank that has blocked the signal, or waited for it, last.
constinit std::array<std::atomic<const job::Rank*>, NSIG> g_last{};

int own_thread() noexcept { return static_cast<int>(::syscall(SYS_gettid)); }

constexpr uint64_t bit_of(int signal) noexcept { return uint64_t{1} << (signal - 1); }

// Not those that faults raise, that the runtime uses itself, or that are for mpcrun.
bool is_ours(int signal) noexcept {
  switch (signal) {
    case SIGUSR1:
    case SIGUSR2:
    case SIGALRM:
    case SIGVTALRM:
    case SIGPROF:
    case SIGIO:
    case SIGURG:
    case SIGWINCH:
    case SIGPWR:
      return true;
    default:
      return signal >= SIGRTMIN && signal < SIGRTMAX;
  }
}

template <typename Visit>
void for_each_of(const sigset_t& set, Visit visit) noexcept {
  for (int signal = 1; signal < NSIG; ++signal)
    if (is_ours(signal) && ::sigismember(&set, signal) == 1) visit(signal);
}

std::atomic<int>& waiter_of(const job::Rank& rank, int signal) noexcept {
  return rank.libc->signal_waiters[static_cast<size_t>(signal)];
}

void expect(const job::Rank& rank, int signal) noexcept {
  g_last[static_cast<size_t>(signal)].store(&rank, std::memory_order_relaxed);
  catch_for_waits(signal);
}

bool wants(const job::Rank& rank, int signal) noexcept {
  return rank.libc != nullptr &&
         rank.phase.load(std::memory_order_relaxed) < job::kEnded &&
         ((rank.libc->blocked_signals.load(std::memory_order_relaxed) &
           bit_of(signal)) != 0 ||
          waiter_of(rank, signal).load(std::memory_order_relaxed) != 0);
}

// The signal stays pending on this thread, which comes to block it.
void keep_here(int signal, const siginfo_t& info, void* context) noexcept {
  ::sigaddset(&static_cast<ucontext_t*>(context)->uc_sigmask, signal);
  pass_on_to(own_thread(), signal, info);
}

bool give_to(const job::Rank& rank, int signal, const siginfo_t& info,
             void* context) noexcept {
  if (!wants(rank, signal)) return false;
  const int thread = thread_for(rank, signal);
  if (thread != 0 && pass_on_to(thread, signal, info)) return true;
  if (!pass_on(&rank, signal, info)) keep_here(signal, info, context);
  return true;
}

}  // namespace

void note_mask(job::Rank& rank, int how, const sigset_t& set) noexcept {
  uint64_t given = 0;
  for_each_of(set, [&](int signal) { given |= bit_of(signal); });
  auto& blocked = rank.libc->blocked_signals;
  const uint64_t before = blocked.load(std::memory_order_relaxed);
  const uint64_t after = how == SIG_SETMASK ? given
                         : how == SIG_BLOCK ? before | given
                                            : before & ~given;
  blocked.store(after, std::memory_order_relaxed);
  for_each_of(set, [&](int signal) {
    if ((after & ~before & bit_of(signal)) != 0) expect(rank, signal);
  });
}

Waiting::Waiting(const job::Rank& rank, const sigset_t& set) noexcept
    : rank_(rank), set_(set), thread_(own_thread()) {
  for_each_of(set, [&](int signal) {
    waiter_of(rank, signal).store(thread_, std::memory_order_relaxed);
    expect(rank, signal);
  });
}

Waiting::~Waiting() {
  for_each_of(set_, [&](int signal) {
    int own = thread_;
    waiter_of(rank_, signal).compare_exchange_strong(own, 0, std::memory_order_relaxed);
  });
}

int thread_for(const job::Rank& rank, int signal) noexcept {
  return rank.libc != nullptr && is_ours(signal)
             ? waiter_of(rank, signal).load(std::memory_order_relaxed)
             : 0;
}

}  // namespace signal_waits

bool give_to_waiter(int signal, const siginfo_t& info, bool was_passed_on,
                    void* context) noexcept {
  using namespace signal_waits;
  job::Job* const job = job::Job::existing();
  if (!is_ours(signal) || job == nullptr || is_forked_child()) return false;
  const job::Rank* const owner =
      info.si_code == SI_KERNEL ? timer_owner(signal) : nullptr;
  const job::Rank* const maker = owner != nullptr ? owner : timer_maker(info);
  // Of the rank that runs here, by raise() or by the other half of this function; perhaps it was here a moment ago.
  if (was_passed_on || info.si_code == SI_TKILL) {
    const job::Rank* const own = own_rank();
    const bool is_main = own != nullptr && own->execution == &sched::Execution::self();
    const job::Rank* const meant = maker != nullptr ? maker : is_main ? own : nullptr;
    bool is_wanted = meant != nullptr && wants(*meant, signal);
    const job::RankRange all = job->local_ranks();
    for (int r = all.first; was_passed_on && meant == nullptr && r < all.end; ++r)
      is_wanted = is_wanted || wants(job->rank(r), signal);
    if (is_wanted) keep_here(signal, info, context);
    return is_wanted;
  }
  if (maker != nullptr) return give_to(*maker, signal, info, context);
  const bool is_for_all = (signal == SIGUSR1 || signal == SIGUSR2) &&
                          info.si_code == SI_USER && info.si_pid != ::getpid();
  if (!is_for_all) {
    const job::Rank* const last =
        g_last[static_cast<size_t>(signal)].load(std::memory_order_relaxed);
    return last != nullptr && give_to(*last, signal, info, context);
  }
  bool is_given = false;
  const job::RankRange all = job->local_ranks();
  for (int r = all.first; r < all.end; ++r)
    is_given = give_to(job->rank(r), signal, info, context) || is_given;
  return is_given;
}

}  // namespace mpc::interpose
