#pragma once
// Record: what a process of a job and its launcher say to each other.
//
// Role:      this head, then a text: one packet of a Unix socket (SOCK_SEQPACKET) where there is a
//            launcher, a piece of a stream where process 0 stands in for it.
// Users:     runtime/wireup, tools/mpclaunch, tools/mpcrun.
// Threads:   plain data.
// See also:  docs/cluster.md (the end of a job).

#include <cstddef>
#include <cstdint>

namespace mpc::wireup {

// From a process to the launcher.
enum class Report : int32_t {
  kEnding,  // the job is to end with this status; the text is why. The first one counts
  kCrash,  // the same; the process prints the reason itself, and its end says the status
  kFailure,  // a rank has failed, and the job goes on: its status unless another one came before
  kRefusal,  // the same, for a job that would end with 0
  kBroken,  // the network is: messages are lost. A death that explains it comes before it
  kTable,     // the answer to kAskTable
  kFinished,  // all ranks have ended: what comes now is the regular end
  kDeath,  // this process ends, with this status, before its rank has; the text is why. Where the job does not
           // go on without it: as kEnding
  kGate,  // it has arrived at the gate of that number (status): see Wireup::pass_gate()
  // Where process 0 stands in for a launcher (runtime/wireup/steward.h):
  kWritten,    // all that it has to say is written, and it would end with this status
  kAskTables,  // the user wants to see those of all processes
  // Of a hosted rank (runtime/wireup/hosted.h), by its shim:
  kJoined,     // a process of its command has become the rank
  kFinalized,  // that one has returned from MPI_Finalize: to the shim only
  kStayedOut,  // its command has ended with 0, and none has; the text says whose
};

// From the launcher to a process.
enum class Order : int32_t {
  kEndSoon,  // end and say nothing; ranks may have job.grace_ms for last words
  kEndNow,   // the same without them
  kAskTable,
  kLeave,  // the answer to kWritten: end now, with this status
  kLost,   // the process of that number (status) has ended before its rank had
  kPass,   // all that live have arrived at the gate of that number (status)
  // From a shim to who wants to be its rank:
  kSeat,   // it is
  kTaken,  // the process of that number (status) is, or was
};

struct RecordHead {
  int32_t kind = 0;  // Report or Order
  int32_t status = 0;
  int32_t text_bytes = 0;  // what follows
};

// A longer text is cut.
inline constexpr size_t kMostTextBytes = 60 << 10;

// How a process finds its launcher: "SOCKET,MEMORY", two descriptors that it has inherited. MEMORY
// is what the console needs (runtime/job/console.h).
inline constexpr char kLauncherVariable[] = "MPC_LAUNCHER";

// How many ranks each process has: "4,4,8".
inline constexpr char kRanksVariable[] = "MPC_LAUNCHER_RANKS";

// The network interfaces that lead to the other hosts of the job: "eth0,eth1". Not set: one host.
inline constexpr char kInterfacesVariable[] = "MPC_LAUNCHER_INTERFACES";

// How a process that the user's command has started finds its shim: the name of an abstract socket.
inline constexpr char kShimVariable[] = "MPC_SHIM";
// Set by mpcrun for its launcher: all ranks of the job are hosted.
inline constexpr char kHostedVariable[] = "MPC_LAUNCHER_HOSTED";
// Set by mpcrun for its launcher and the processes of the job: it goes on when one of them dies.
inline constexpr char kGoesOnVariable[] = "MPC_LAUNCHER_GOES_ON";

// Where all processes meet that live, in such a job: who lives is known to the launcher only.
enum class Gate : int32_t {
  kInit,      // behind it a death is survived
  kFinalize,  // MPI_Finalize
  kLeave,     // nobody wants anything of this process any more
};
inline constexpr int kGates = 3;

}  // namespace mpc::wireup
