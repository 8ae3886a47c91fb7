// Affinity of ranks: see affinity.h.
#include "runtime/interpose/affinity.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/main_thread.h"
#include "runtime/interpose/next.h"
#include "runtime/job/openmp.h"
#include "scheduler/binding.h"
#include "scheduler/emulation/emulation.h"

#define NEXT(name) MPC_NEXT(name, decltype(&::name))

namespace mpc::interpose {
namespace {

using job::Rank;

// The processing units on which this process may run.
cpu_set_t g_allowed;
__attribute__((constructor)) void remember_affinity() {
  NEXT(sched_getaffinity)(0, sizeof g_allowed, &g_allowed);
}

cpu_set_t share_of(const Rank& rank) {
  return sched::bindings_of(*rank.job->scheduler())
      .share_of(rank.job->worker_of(rank.world_rank));
}

cpu_set_t cpus_of_main_thread(const Rank& rank) noexcept {
  cpu_set_t cpus = g_allowed;
  NEXT(pthread_getaffinity_np)(main_thread_of(rank).id, sizeof cpus, &cpus);
  return cpus;
}

// Is the rank on the worker that it began on, and no other rank there? Then that worker may follow
// the rank's requests.
bool has_worker_for_itself(const Rank& rank) noexcept {
  job::Job& job = *rank.job;
  const int home = job.worker_of(rank.world_rank);
  const sched::Worker* now = rank.execution->worker();
  if (now == nullptr || rank.execution->core() != job.scheduler()->core_of_worker(home))
    return false;
  const job::RankRange local = job.local_ranks();
  for (int other = local.first; other < local.end; ++other)
    if (other != rank.world_rank && job.worker_of(other) == home) return false;
  return true;
}

// The kernel uses those units of `set` that are possible, and refuses a set without any.
int set_main_thread(Rank& rank, size_t size, const cpu_set_t* set) noexcept {
  cpu_set_t wanted;
  CPU_ZERO(&wanted);
  std::memcpy(&wanted, set, std::min(size, sizeof wanted));
  CPU_AND(&wanted, &wanted, &g_allowed);
  const int error =
      NEXT(pthread_setaffinity_np)(main_thread_of(rank).id, sizeof wanted, &wanted);
  if (error == 0 && !sched::Emulation::is_on() && has_worker_for_itself(rank))
    sched::bindings_of(*rank.job->scheduler())
        .set(rank.job->worker_of(rank.world_rank), wanted);
  return error;
}

// Before main(): the rank gets its share, unless that is everything.
__attribute__((constructor)) void register_hook() {
  job::Job::at_rank_start(job::HookOrder::kAffinity, [](Rank& rank) {
    if (rank.instance == nullptr) return;
    const cpu_set_t share = share_of(rank);
    if (CPU_COUNT(&share) > 0 && !CPU_EQUAL(&share, &g_allowed))
      NEXT(pthread_setaffinity_np)(pthread_self(), sizeof share, &share);
  });
}

// The processing unit of `cpus` that is `number` after the caller's; -1: there is only one. The
// system often starts a team's threads on the core of their creator and separates them 100 ms
// later; until then each barrier takes a time slice.
int nth_from_here(const cpu_set_t& cpus, int number) noexcept {
  const int count = CPU_COUNT(&cpus);
  if (count < 2) return -1;
  int place = number;
  for (int unit = 0, here = ::sched_getcpu(); unit < here; ++unit)
    place += CPU_ISSET(static_cast<size_t>(unit), &cpus) ? 1 : 0;
  place %= count;
  int unit = -1;
  for (; place >= 0; --place)
    while (!CPU_ISSET(static_cast<size_t>(++unit), &cpus)) {
    }
  return unit;
}

// The rank whose main thread `thread` means in a call by one of its threads, or null. As in a
// process the main thread's number is that of the process.
Rank* rank_of_main_thread(pid_t thread) noexcept {
  if (!g_is_ready) return nullptr;
  const bool is_main = loader::running_instance() != nullptr;
  if (thread == 0 && !is_main) return nullptr;
  if (thread != 0 && thread != ::getpid() &&
      (!is_main || thread != static_cast<pid_t>(::syscall(SYS_gettid))))
    return nullptr;
  Rank* rank = own_rank();
  return rank != nullptr && rank->instance != nullptr && !is_forked_child() ? rank
                                                                            : nullptr;
}

}  // namespace

CpusOfThread cpus_for_thread(Rank& rank, int number) noexcept {
  sched::Bindings& bindings = sched::bindings_of(*rank.job->scheduler());
  const int home = rank.job->worker_of(rank.world_rank);
  if (bindings.has_several_cores(home) && !bindings.is_wide(home) &&
      rank.execution->core() == rank.job->scheduler()->core_of_worker(home))
    bindings.widen(home);
  CpusOfThread cpus{cpus_of_main_thread(rank)};
  if (job::has_openmp(rank.instance->image()))
    cpus.first = nth_from_here(cpus.all, number);
  return cpus;
}

void bind_this_thread(const CpusOfThread& cpus) noexcept {
  if (cpus.first >= 0) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<size_t>(cpus.first), &one);
    NEXT(sched_setaffinity)(0, sizeof one, &one);
  }
  NEXT(sched_setaffinity)(0, sizeof cpus.all, &cpus.all);
}

}  // namespace mpc::interpose

using namespace mpc::interpose;

MPC_EXPORT int sched_setaffinity(pid_t thread, size_t size,
                                 const cpu_set_t* set) noexcept {
  mpc::job::Rank* rank = rank_of_main_thread(thread);
  if (rank == nullptr) return NEXT(sched_setaffinity)(thread, size, set);
  errno = set_main_thread(*rank, size, set);
  return errno == 0 ? 0 : -1;
}
MPC_EXPORT int sched_getaffinity(pid_t thread, size_t size, cpu_set_t* set) noexcept {
  mpc::job::Rank* rank = rank_of_main_thread(thread);
  if (rank == nullptr) return NEXT(sched_getaffinity)(thread, size, set);
  errno = NEXT(pthread_getaffinity_np)(main_thread_of(*rank).id, size, set);
  return errno == 0 ? 0 : -1;
}
// pthread_getaffinity_np() needs no replacement: see affinity.h.
MPC_EXPORT int pthread_setaffinity_np(pthread_t thread, size_t size,
                                      const cpu_set_t* set) noexcept {
  mpc::job::Rank* rank = rank_with_main_thread(thread);
  if (rank == nullptr) return NEXT(pthread_setaffinity_np)(thread, size, set);
  return set_main_thread(*rank, size, set);
}

// A child that a rank forked begins on the cores of the rank, not on those of its worker.
namespace {
thread_local constinit cpu_set_t t_cpus_of_child{};
__attribute__((constructor)) void register_fork_handlers() {
  ::pthread_atfork(
      [] {
        CPU_ZERO(&t_cpus_of_child);
        if (mpc::job::Rank* rank = rank_of_main_thread(0))
          t_cpus_of_child = cpus_of_main_thread(*rank);
      },
      nullptr,
      [] {
        if (CPU_COUNT(&t_cpus_of_child) > 0) bind_this_thread({t_cpus_of_child});
      });
}
}  // namespace
