#pragma once
// Record: the messages between a process of a job and its launcher.
//
// Role:      this head, then a text: one packet of a Unix socket (SOCK_SEQPACKET) if there is a
//            launcher, a piece of a stream if process 0 replaces it.
// Users:     runtime/wireup, tools/mpclaunch, tools/mpcrun.
// Threads:   plain data.
// See also:  docs/cluster.md (the end of a job).

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace mpc::wireup {

// From a process to the launcher.
enum class Report : int32_t {
  kEnding,   // the job must end with this status; the text is why. The first one counts
  kCrash,    // the same; the process prints why itself, and its end tells the status
  kFailure,  // a rank has failed, the job continues: its status unless one came before
  kRefusal,  // the same, for a job that would end with 0
  kBroken,   // the network is, messages are lost. A death that explains it comes first
  kTable,    // the answer to kAskTable
  kFinished,  // all ranks have ended: what follows is the regular end
  kDeath,  // this process ends with this status before its rank has; the text is why. As
           // kEnding if the job does not continue without it
  kGate,  // it has arrived at the gate of that number (status): see Wireup::pass_gate()
  // If process 0 replaces a launcher (runtime/wireup/steward.h):
  kWritten,    // all output is written; the process would end with this status
  kAskTables,  // the user wants to see the tables of all processes
  // From a hosted rank (runtime/wireup/hosted.h), by its shim:
  kJoined,     // a process of its command has become the rank
  kFinalized,  // that process has returned from MPI_Finalize: to the shim only
  kStayedOut,  // its command has ended with 0 and became no rank; the text names it
};

// From the launcher to a process.
enum class Order : int32_t {
  kEndSoon,  // end without a message; ranks may have job.grace_ms for last words
  // The same without them. Status: the signal that ends the job, for ranks that handle it; 0: none.
  kEndNow,
  kAskTable,
  kLeave,  // the answer to kWritten: end now, with this status
  kLost,   // the process of that number (status) has ended before its rank had
  kPass,   // all living processes have arrived at the gate of that number (status)
  // From a shim to a process that wants to be its rank:
  kSeat,   // it is the rank
  kTaken,  // the process of that number (status) is the rank, or was
};

struct RecordHead {
  int32_t kind = 0;  // Report or Order
  int32_t status = 0;
  int32_t text_bytes = 0;  // length of the text that follows
};

// Does recv() say more after this error? A peer that ends with orders that it has not read leaves ECONNRESET, which
// Linux tells once, before the packets that the peer had sent: its last words are among them.
inline bool is_before_more(int error) noexcept {
  return error == EINTR || error == ECONNRESET;
}

// A longer text is cut.
inline constexpr size_t kMostTextBytes = 60 << 10;

// How a process finds its launcher: "SOCKET,MEMORY", two descriptors that it has inherited. MEMORY
// is for the console (runtime/job/console.h).
inline constexpr char kLauncherVariable[] = "MPC_LAUNCHER";

// The number of ranks of each process, a ';' between hosts: "4,4;8".
inline constexpr char kRanksVariable[] = "MPC_LAUNCHER_RANKS";

// The network interfaces that lead to the other hosts of the job: "eth0,eth1". Not set: one host.
inline constexpr char kInterfacesVariable[] = "MPC_LAUNCHER_INTERFACES";

// How a process that the user's command has started finds its shim: the name of an abstract socket.
inline constexpr char kShimVariable[] = "MPC_SHIM";
// Set for the command: the number of its program among those of the job (MPI_APPNUM).
inline constexpr char kProgramVariable[] = "MPC_LAUNCHER_PROGRAM";
// Set by mpcrun for its launcher: all ranks of the job are hosted.
inline constexpr char kHostedVariable[] = "MPC_LAUNCHER_HOSTED";
// Set by mpcrun for its launcher and the processes of the job: it continues when one of them dies.
inline constexpr char kGoesOnVariable[] = "MPC_LAUNCHER_GOES_ON";

// Where all living processes meet, in such a job: only the launcher knows which ones live.
enum class Gate : int32_t {
  kInit,      // after it a death is survived
  kFinalize,  // MPI_Finalize
  kLeave,     // no other process needs this one any more
};
inline constexpr int kGates = 3;

}  // namespace mpc::wireup
