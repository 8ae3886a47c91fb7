// A rank's queries of its CPU time are answered for the rank itself, not for all ranks.

#include "runtime/interpose/rank_clock.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <utility>

#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/next.h"
#include "scheduler/cpu_time.h"

#define NEXT(name) MPC_NEXT(name, decltype(&::name))

namespace mpc::interpose {
namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;

// Guards all ranks' threads; held over short stretches without a switch.
constinit std::mutex g_mutex;
constinit ThreadClock* g_clocks = nullptr;

// A forked child must find it free.
__attribute__((constructor)) void register_mutex() {
  const auto unlock = [] { g_mutex.unlock(); };
  ::pthread_atfork([] { g_mutex.lock(); }, unlock, unlock);
}

uint64_t clock_ns(clockid_t id) noexcept {
  timespec time{};
  NEXT(clock_gettime)(id, &time);
  return static_cast<uint64_t>(time.tv_sec) * kNsPerSecond +
         static_cast<uint64_t>(time.tv_nsec);
}

// For a program that calls one of these functions counting begins at its
// start. For others (plugins, ids obtained at run time) it begins when
// they ask, with an even share of what was used before.
void count_if_asked_for(job::Rank& rank) {
  const bool is_first =  // of its program
      rank.job->find(rank.world_rank - 1) == nullptr ||
      rank.job->rank(rank.world_rank - 1).app_index != rank.app_index;
  if (is_first && rank.instance != nullptr && !sched::counts_cpu_time() &&
      rank.instance->image().imports({"clock", "times", "getrusage",
                                      "_gfortran_cpu_time_4", "_gfortran_cpu_time_8",
                                      "_gfortran_dtime_sub", "_gfortran_etime_sub",
                                      "_gfortran_second"}))
    sched::count_cpu_time();
}

std::atomic<uint64_t> g_share_before_ns{0};

void begin_counting(const job::Rank& rank) noexcept {
  static std::once_flag once;
  std::call_once(once, [&] {
    if (sched::counts_cpu_time()) return;
    g_share_before_ns.store(clock_ns(CLOCK_PROCESS_CPUTIME_ID) /
                                static_cast<uint64_t>(rank.job->local_ranks().size()),
                            std::memory_order_relaxed);
    sched::count_cpu_time();
  });
}

uint64_t main_thread_ns(const job::Rank& rank) noexcept {
  begin_counting(rank);
  return sched::cpu_time_ns(*rank.execution) +
         g_share_before_ns.load(std::memory_order_relaxed);
}

uint64_t rank_ns(const job::Rank& rank) noexcept {
  const auto* state = rank.libc;
  const uint64_t ended =
      state != nullptr ? state->ended_threads_ns.load(std::memory_order_relaxed) : 0;
  return main_thread_ns(rank) + ended + live_threads_ns(rank);
}

__attribute__((constructor)) void register_hooks() {
  job::Job::at_rank_start(job::HookOrder::kRankClock, &count_if_asked_for);
}

// The caller's rank, if it is in one and not in its child.
const job::Rank* asking_rank() {
  const job::Rank* rank = own_rank();
  return rank != nullptr && rank->execution != nullptr && !is_forked_child() ? rank
                                                                             : nullptr;
}

// Divided between the program and the kernel in the same proportion as the process's time.
std::pair<uint64_t, uint64_t> user_and_system(const rusage& process,
                                              uint64_t total_ns) noexcept {
  const auto us = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_usec);
  };
  const double all = us(process.ru_utime) + us(process.ru_stime);
  const double share = all > 0 ? us(process.ru_stime) / all : 0;
  const auto system = static_cast<uint64_t>(static_cast<double>(total_ns) * share);
  return {total_ns - system, system};
}

timeval as_timeval(uint64_t ns) noexcept {
  return {static_cast<time_t>(ns / kNsPerSecond),
          static_cast<suseconds_t>(ns % kNsPerSecond / 1000)};
}

// Is the caller the rank's main thread? Its kernel thread also runs other ranks.
bool is_main_thread() noexcept { return sched::Execution::self().is_ult(); }

}  // namespace

ThreadClock::ThreadClock(const job::Rank& rank) noexcept : rank_(&rank) {
  ::pthread_getcpuclockid(::pthread_self(), &id_);
  const std::lock_guard lock(g_mutex);
  next_ = g_clocks;
  if (next_ != nullptr) next_->previous_ = this;
  g_clocks = this;
}

ThreadClock::~ThreadClock() {
  const uint64_t used = clock_ns(id_);
  const std::lock_guard lock(g_mutex);
  (previous_ != nullptr ? previous_->next_ : g_clocks) = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
  if (auto* state = rank_->libc)
    state->ended_threads_ns.fetch_add(used, std::memory_order_relaxed);
}

uint64_t live_threads_ns(const job::Rank& rank) noexcept {
  uint64_t sum = 0;
  const std::lock_guard lock(g_mutex);
  for (const ThreadClock* clock = g_clocks; clock != nullptr; clock = clock->next_)
    if (clock->rank_ == &rank) sum += clock_ns(clock->id_);
  return sum;
}

}  // namespace mpc::interpose

using mpc::interpose::asking_rank;
using mpc::interpose::rank_ns;

MPC_EXPORT int clock_gettime(clockid_t id, timespec* time) noexcept {
  if (id == CLOCK_PROCESS_CPUTIME_ID || id == CLOCK_THREAD_CPUTIME_ID) [[unlikely]] {
    const auto* rank = asking_rank();
    const bool is_thread = id == CLOCK_THREAD_CPUTIME_ID;
    if (rank != nullptr && (!is_thread || mpc::interpose::is_main_thread())) {
      const uint64_t ns =
          is_thread ? mpc::interpose::main_thread_ns(*rank) : rank_ns(*rank);
      *time = {static_cast<time_t>(ns / mpc::interpose::kNsPerSecond),
               static_cast<long>(ns % mpc::interpose::kNsPerSecond)};
      return 0;
    }
  }
  return NEXT(clock_gettime)(id, time);
}
MPC_EXPORT clock_t clock() noexcept {
  const auto* rank = asking_rank();
  return rank != nullptr ? static_cast<clock_t>(rank_ns(*rank) / 1000) : NEXT(clock)();
}
MPC_EXPORT int getrusage(__rusage_who_t who, rusage* usage) noexcept {
  const int result = NEXT(getrusage)(who, usage);
  const auto* rank = result == 0 ? asking_rank() : nullptr;
  const bool is_thread = who == RUSAGE_THREAD && mpc::interpose::is_main_thread();
  if (rank == nullptr || (who != RUSAGE_SELF && !is_thread)) return result;
  const auto [user, system] = mpc::interpose::user_and_system(
      *usage, is_thread ? mpc::interpose::main_thread_ns(*rank) : rank_ns(*rank));
  usage->ru_utime = mpc::interpose::as_timeval(user);
  usage->ru_stime = mpc::interpose::as_timeval(system);
  return 0;
}
MPC_EXPORT clock_t times(tms* out) noexcept {
  const clock_t now = NEXT(times)(out);
  const auto* rank = out != nullptr ? asking_rank() : nullptr;
  if (rank == nullptr) return now;
  rusage process{};
  NEXT(getrusage)(RUSAGE_SELF, &process);
  const auto [user, system] = mpc::interpose::user_and_system(process, rank_ns(*rank));
  const auto tick_ns = static_cast<uint64_t>(1'000'000'000 / ::sysconf(_SC_CLK_TCK));
  out->tms_utime = static_cast<clock_t>(user / tick_ns);
  out->tms_stime = static_cast<clock_t>(system / tick_ns);
  return now;
}
