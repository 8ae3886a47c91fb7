#pragma once
// HookOrder: all who want to be called when ranks start and end, in one list.
//
// Role:      the order of the upcalls of runtime/job: ranks start from the first line to the last,
//            and end from the last to the first. Registration may come in any order.
// Users:     runtime/job; who registers names a line of it.
// Threads:   constants.
// See also:  runtime/job/job.h (at_rank_start and friends).

namespace mpc::job {

enum class HookOrder {
  kLibcState,  // runtime/interpose/libc_state: what the next ones' libc calls may need
  kCollectives,      // nbc/engine: ends after MPI has
  kMpi,              // mpi/objects/rank_life: mailbox, WORLD, SELF
  kEmulatedMachine,  // mpi/ext: costs of the machine
  kFileLocks,        // runtime/interpose from here on
  kAffinity,         // the rank's share of the cores
  kExit,
  kIostreams,
  kMessages,  // the program's name in libc's messages
  kRankClock,
  kStreams,  // stdout and stderr: what ends later cannot print
  kThreads,  // the stack of the main thread
  kTimers,
  kCount
};

}  // namespace mpc::job
