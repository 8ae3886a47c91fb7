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
class ProgramInstance;
}
namespace mpc::sched {
class ProgressThread;
}
// What the layers above store for a rank; this layer knows only the names of the types.
namespace mpc::msg {
struct Mailbox;
}
namespace mpc::nbc {
class RankEngine;
}
namespace mpc::mpi {
struct RankState;
}
namespace mpc::interpose {
struct LibcState;
struct RankStreams;
}  // namespace mpc::interpose

namespace mpc::job {

class Job;
struct RankRun;

struct Rank {
  int world_rank = 0;
  int world_size = 1;
  int app_index = 0;  // which program of an MPMD job
  Job* job = nullptr;
  sched::Execution* execution = nullptr;        // its main thread
  loader::ProgramInstance* instance = nullptr;  // private image; null for a singleton
  sched::ProgressThread* progress = nullptr;    // background work; null for a singleton

  // One slot per upper layer; each layer owns what it stores there, and frees it at the end of
  // the rank through Job::at_rank_end.
  msg::Mailbox* mailbox = nullptr;
  std::atomic<nbc::RankEngine*> nbc{nullptr};  // created at the first use
  mpi::RankState* mpi = nullptr;
  interpose::RankStreams* streams = nullptr;  // stdout, stderr
  interpose::LibcState* libc = nullptr;       // getopt, rand, environ ...
  RankRun* run = nullptr;  // how exit() gets back to the rank's first frame

  std::atomic<int> phase{0};  // Phase below; written by the rank, read by reports
};

enum Phase { kStarting = 0, kBeforeInit, kInMpi, kAfterFinalize, kEnded };

// The rank that the calling thread acts for; null outside any rank. Cost: two loads.
Rank* adopt_singleton_thread() noexcept;  // cold: a singleton's rank for a thread it started
inline Rank* current_rank() noexcept {
  void* identity = sched::Execution::self().identity();
  return identity != nullptr ? static_cast<Rank*>(identity) : adopt_singleton_thread();
}

}  // namespace mpc::job
