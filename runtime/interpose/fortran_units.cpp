#include "runtime/interpose/fortran_units.h"

#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

#include <atomic>
#include <cstdint>

#include "runtime/interpose/next.h"
#include "runtime/loader/image.h"

namespace mpc::interpose {
namespace {

constexpr int kHelpers = 8;                   // ranks that may be abandoned
constexpr uint64_t kPatienceNs = 50'000'000;  // for one rank
constexpr int kStandardOutput = 6, kStandardError = 0;

using Flush = void (*)(const int* unit);

// The rank's own instance: the Fortran runtime is one of its program's private libraries.
Flush flush_of(const job::Rank& rank) noexcept {
  constexpr char kName[] = "_gfortran_flush_i4";
  void* found = rank.instance != nullptr ? rank.instance->definition_of(kName)
                                         : ::dlsym(RTLD_DEFAULT, kName);  // a singleton
  return reinterpret_cast<Flush>(found);
}

// Shared by the helpers, which take one rank after the other; never destroyed, because a helper
// that was abandoned may continue when the job has moved on.
struct Work {
  job::Job& job;
  std::atomic<int> next_rank{0};
  std::atomic<int> done_count{0};  // release by helpers, acquire by wait_for()
};

void flush_units_of(job::Rank& rank) {
  const int phase = rank.phase.load(std::memory_order_acquire);
  const Flush flush = flush_of(rank);
  if (phase == job::kStarting || phase == job::kEnded || flush == nullptr) return;
  sched::Execution::self().set_identity(&rank);  // whose output it is
  if (rank.instance != nullptr) rank.instance->enter_thread();
  for (const int& unit : {kStandardOutput, kStandardError}) flush(&unit);
  flush(nullptr);  // all units: one that is in use comes last
}

void* help(void* argument) {
  auto& work = *static_cast<Work*>(argument);
  for (;;) {
    const int r = work.next_rank.fetch_add(1, std::memory_order_relaxed);
    if (r >= work.job.local_ranks().size()) return nullptr;
    flush_units_of(work.job.rank(work.job.local_ranks().first + r));
    sched::Execution::self().set_identity(nullptr);
    work.done_count.fetch_add(1, std::memory_order_release);
  }
}

bool start_helper(Work& work) {
  pthread_t thread;
  if (MPC_NEXT(pthread_create, decltype(&::pthread_create))(&thread, nullptr, &help,
                                                            &work) != 0)
    return false;
  ::pthread_detach(thread);
  return true;
}

// False: nothing has happened for so long that the helper must be stuck.
bool wait_for(const Work& work, int wanted) {
  uint64_t patient_until = sched::now_ns() + kPatienceNs;
  int seen = 0;
  for (;;) {
    const int done = work.done_count.load(std::memory_order_acquire);
    if (done >= wanted) return true;
    const uint64_t now = sched::now_ns();
    if (done != seen) patient_until = now + kPatienceNs;
    seen = done;
    if (now >= patient_until) return false;
    const timespec pause{0, 200'000};
    ::nanosleep(&pause, nullptr);
  }
}

}  // namespace

void flush_fortran_units(job::Job& job) {
  bool any = false;
  const job::RankRange local = job.local_ranks();
  for (int r = local.first; r < local.end && !any; ++r)
    any = flush_of(job.rank(r)) != nullptr;
  if (!any) return;
  static Work* work = nullptr;  // kept: a helper may be stuck in it
  work = new Work{job};
  for (int stuck = 0; stuck < kHelpers; ++stuck) {
    if (!start_helper(*work) || wait_for(*work, local.size() - stuck)) return;
  }
}

}  // namespace mpc::interpose
