#pragma once
// ExitStatus: the statuses with which a job ends, apart from its ranks' own.
//
// Role:      one list for the runtime and the launcher.
// Users:     runtime/job, runtime/interpose, tools.
// See also:  docs/mpcrun.md (exit statuses).

namespace mpc::job {

// Exit statuses that are ours; anything else is a rank's own. Documented in docs/mpcrun.md.
enum ExitStatus {
  kExitUsage = 2,            // wrong options
  kExitLaunch = 3,           // could not start the job: limits, memory
  kExitCheck = 121,          // mpi.check=full has found a fault
  kExitOutput = 122,         // output of a rank, or the trace, could not be written
  kExitTimeout = 124,        // --timeout, as timeout(1)
  kExitDeadlock = 125,       // every rank waits
  kExitNotExecutable = 126,  // found, but cannot be run as ranks
  kExitNotFound = 127,       // program not found
  kExitSignal = 128,  // + signal number: a rank crashed, or mpcrun was told to stop
};

}  // namespace mpc::job
