#pragma once
// Profiler: samples each rank many times a second, and adds up what it was doing.
//
// Role:      `mpcrun --profile`. Ranks record nothing: the cost is that of
//            a kernel thread that wakes up, and it wakes up less often if
//            that would be more than a hundredth of one core.
// Users:     runtime/job (node_job_profile.cpp).
// Threads:   its own; start() and take() by the thread that starts and ends the job.
// See also:  docs/profile.md, docs/design/0037-profile.md; base/traffic.h counts messages.

#include <pthread.h>

#include <atomic>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "base/futex.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/thread_safety.h"
#include "runtime/job/job.h"
#include "runtime/job/wait_partner.h"
#include "runtime/profile/profile.h"

namespace mpc::job {

class Profiler {
 public:
  explicit Profiler(Job& job) : job_(job) {}
  Profiler(const Profiler&) = delete;

  // Begins sampling. Caller: when the ranks have been spawned. Errors: kSystem.
  Result<> start();
  // Stops sampling. Caller: once, not the thread itself.
  void stop() noexcept;
  // Times and calls so far. Caller: any but the thread itself.
  profile::Profile take();

 private:
  // The sample of one rank.
  struct Found {
    bool is_there = false;
    profile::State state = profile::kComputing;
    const char* call = nullptr;
    const void* turn =
        nullptr;  // the worker, or the thread, that one rank at a time has
    int partner = -1;
    bool waits_for_members = false;
  };
  // What is stored about a rank's wait, so that it is asked for its reason only once; and its thread at the last
  // look.
  struct Known {
    uint64_t park_count = ~uint64_t{0};
    int partner = -1;
    std::vector<int> members;
    int thread = 0;
    uint64_t cpu_ns = 0;
    bool sleeps = false;  // outside of MPI
  };
  struct Sum {
    int64_t waiting_ns = 0, moving_ns = 0;
  };
  using CallKey = std::tuple<int, int, const char*>;  // rank, partner, call

  static void* thread_main(void* self);
  void run() noexcept;
  void look(int64_t elapsed_ns);
  void look_at(const sched::Execution& execution);
  bool sleeps_in_kernel(Known& known, int thread) noexcept;
  void ask_partner(const sched::Execution& execution, const sched::WaitReason& reason,
                   size_t index);
  void add_up(int64_t elapsed_ns) MPC_REQUIRES(lock_);
  void add_call(size_t index, int64_t ns) MPC_REQUIRES(lock_);
  void add_members_wait(size_t index, int64_t ns) MPC_REQUIRES(lock_);
  size_t index_of(int world_rank) const {
    return static_cast<size_t>(world_rank - job_.local_ranks().first);
  }

  Job& job_;
  pthread_t thread_{};
  bool is_started_ = false;
  FutexWord stop_{0};
  std::vector<Found> found_;
  std::vector<Known> known_;
  std::vector<std::pair<const void*, int>> turns_;  // ranks that could have them
  uint64_t elapsed_ns_ = 0;                         // since the last look

  Mutex lock_;
  std::vector<profile::RankTimes> times_ MPC_GUARDED_BY(lock_);
  std::map<CallKey, Sum> calls_ MPC_GUARDED_BY(lock_);
  int64_t samples_ MPC_GUARDED_BY(lock_) = 0, all_ns_ MPC_GUARDED_BY(lock_) = 0;
};

}  // namespace mpc::job
