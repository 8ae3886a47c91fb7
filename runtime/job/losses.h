#pragma once
// Losses: which processes of the job have died, if the others continue (mpcrun --on-fail notify).
//
// Role:      the launcher's reports, stored for all layers above: which processes are lost, in which
//            order. In a program without mpcrun: which processes of other jobs have ended while it
//            was connected with them.
// Users:     runtime/job (hosted_job) and runtime/message/abroad write; runtime/message, nbc/engine and
//            mpi ask.
// Threads:   any; note() the thread that receives orders, or that of the connections.
// See also:  docs/design/0040-losses.md, 0044-spawning-without-mpcrun.md;
//            runtime/message/losses.h (what follows from a loss).

#include <atomic>
#include <vector>

namespace mpc::job::losses {

// The number of processes that have died while this one continues. Written by note(), release.
[[gnu::visibility("hidden")]] extern std::atomic<int> g_count;

// The job has so many processes, and continues when one dies. Caller: the thread that starts the
// job, before its network is opened.
void survive(int processes);
bool are_survived() noexcept;
// This process outlives processes of other jobs, whose numbers are neighbours::far_process(slot).
// What it waits for from them fails as it does after a death. Caller: before there are any.
void survive_neighbours() noexcept;
bool are_neighbours_survived() noexcept;
// A loss of some kind may come.
inline bool may_come() noexcept { return are_survived() || are_neighbours_survived(); }

// Order: acquire; is_lost() is at least as new. Cost: a load.
inline bool any() noexcept {
  return g_count.load(std::memory_order_acquire) != 0;  // pairs with note()
}
bool is_lost(int process) noexcept;
// Processes of this job, in the order in which they died, which is the same in all processes.
std::vector<int> all();

// This process has died, or has ended (a neighbour). A second call has no effect. Caller: after
// survive() or survive_neighbours().
void note(int process) noexcept;
// Another process has the neighbour's slot now. Caller: before anything comes from it.
void forget_neighbour(int process) noexcept;

// Called on the thread that receives orders, before note(). The handler calls note() when the last
// messages of the dead have come. Caller: as survive(). Null: no handler.
using Handler = void (*)(int process);
void on_loss(Handler handler) noexcept;
void announce(int process);

}  // namespace mpc::job::losses
