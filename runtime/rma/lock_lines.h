#pragma once
// LockLines: in which order one execution asks for locks of targets in other processes.
//
// Role:      MPI_Win_lock returns before the lock is held, so an execution may want several at once. If it asked for all of
//            them, two members that lock the same targets in the same order could each get the lock that the other one waits
//            for. So it asks for the next one, in whatever window, when those before are held.
// Users:     runtime/rma.
// Threads:   any.
// See also:  docs/design/0049-queued-epochs.md.

#include <atomic>
#include <vector>

#include "runtime/job/rank.h"
#include "runtime/rma/packet.h"
#include "scheduler/execution.h"

namespace mpc::rma {

class Port;

namespace lock_lines {

// Executions of this address space that have asked for a lock that they do not hold.
[[gnu::visibility("hidden")]] extern std::atomic<int> g_lines;

// A kLock that this port sends to a process.
struct Request {
  Port* port;
  int to;
  Packet packet;
};
// True: the caller sends it. False: the locks that the same execution has asked for earlier are not held, and end() will
// return it. Requests of type kJoin need not wait for each other.
bool may_send(const Request& request, const sched::Execution& line);
// The execution, which has no line, asks for a lock in its own process itself.
void begin(LockType type, const sched::Execution& line);
// One of them is held. Returns what the caller sends now.
std::vector<Request> end(const sched::Execution& line);

// Cost: one load.
inline bool any() noexcept {
  return g_lines.load(std::memory_order_relaxed) != 0;  // the caller's own ones count
}
// Waits until this execution holds the locks that it has asked for. Switches: yes.
[[gnu::cold]] void wait(job::Rank& self, const sched::WaitReason& why);

}  // namespace lock_lines
}  // namespace mpc::rma
