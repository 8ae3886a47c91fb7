#pragma once
// HookOrder: all users of hooks that are called when ranks start and end, in one list.
//
// Role:      the order of the upcalls of runtime/job: ranks start from the first line to the last,
//            and end from the last to the first. Registration may come in any order.
// Users:     runtime/job; code that registers a hook names a line of it.
// Threads:   constants.
// See also:  runtime/job/job.h (at_rank_start and friends).

namespace mpc::job {

enum class HookOrder {
  kLibcState,  // runtime/interpose/libc_state: libc calls of the next ones may need it
  kCollectives,      // nbc/engine: ends after MPI has ended
  kMpi,              // mpi/objects/rank_life: mailbox, WORLD, SELF
  kEmulatedMachine,  // mpi/ext: costs of the machine
  kFileLocks,        // runtime/interpose from here on
  kAffinity,         // the rank's share of the cores
  kExit,
  kIostreams,
  kMessages,  // the program's name in libc's messages
  kRankClock,
  kStreams,  // stdout and stderr: hooks that run later cannot print
  kThreads,  // the stack of the main thread
  kTimers,
  kCount
};

}  // namespace mpc::job
