#pragma once
// Rank: one MPI process of the job, seen from below: identity, streams, end.
//
// Role:      what a rank is before MPI: its number, its executions, slots for the layers above.
// Users:     every layer from runtime/message up; runtime/interpose.
// Threads:   fields are set before the rank starts unless they say otherwise.
// See also:  runtime/job/job.h, scheduler/execution.h (identity).

#include <atomic>
#include <string>

#include "scheduler/execution.h"

namespace mpc::loader {
class Copy;
}
namespace mpc::sched {
class ProgressThread;
}

namespace mpc::job {

class Job;

struct Rank {
  int world_rank = 0;
  int world_size = 1;
  int app_index = 0;  // which program of an MPMD job
  Job* job = nullptr;
  sched::Execution* execution = nullptr;  // its main thread
  loader::Copy* copy = nullptr;           // private image; null for a singleton
#ifdef MPC_WITHOUT_PROGRESS               // the compiler sees that nobody has one
  static constexpr sched::ProgressThread* progress = nullptr;
#else
  sched::ProgressThread* progress = nullptr;  // background work; null for a singleton
#endif

  // One slot per upper layer; each layer owns what it puts there, and frees it at the end of
  // the rank through Job::at_rank_end.
  void* mailbox = nullptr;          // runtime/message
  std::atomic<void*> nbc{nullptr};  // nbc/engine: made at the first use
  void* mpi = nullptr;              // mpi::RankState
  void* streams = nullptr;          // runtime/interpose: per-rank stdout, stderr
  void* run = nullptr;   // runtime/job: how exit() gets back to the rank's first frame
  void* libc = nullptr;  // runtime/interpose: getopt, rand, environ ...

  std::atomic<int> phase{0};  // Phase below; written by the rank, read by reports
};

enum Phase { kStarting = 0, kBeforeInit, kInMpi, kAfterFinalize, kEnded };

// The rank that the calling thread acts for; null outside of any rank. Cost: two loads.
Rank* adopt_singleton_thread() noexcept;  // cold: a singleton's rank for a thread it started
inline Rank* current_rank() noexcept {
  void* identity = sched::Execution::self().identity();
  return identity != nullptr ? static_cast<Rank*>(identity) : adopt_singleton_thread();
}

}  // namespace mpc::job
