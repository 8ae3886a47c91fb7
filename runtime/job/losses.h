#pragma once
// Losses: which processes of the job have died, where the others go on (mpcrun --on-fail notify).
//
// Role:      the launcher's word, kept for all layers above: who is lost, in which order.
// Users:     runtime/job (hosted_job) writes; runtime/message, nbc/engine and mpi ask.
// Threads:   any; note() the thread that hears orders.
// See also:  docs/design/0040-losses.md; runtime/message/losses.h (what follows from a loss).

#include <atomic>
#include <vector>

namespace mpc::job::losses {

// So many processes have died, and this one goes on. Written by note(), release.
[[gnu::visibility("hidden")]] extern std::atomic<int> g_count;

// The job has so many processes, and goes on when one dies. Caller: the thread that starts the job,
// before its network is opened.
void survive(int processes);
bool are_survived() noexcept;

// Order: acquire; what is_lost() says is at least as new. Cost: a load.
inline bool any() noexcept {
  return g_count.load(std::memory_order_acquire) != 0;  // pairs with note()
}
bool is_lost(int process) noexcept;
// In the order in which they died, which is the same in all processes.
std::vector<int> all();

// This process has died. A second time nothing happens. Caller: after survive().
void note(int process) noexcept;

// Called on the thread that hears orders, before note(), which is the handler's to call when the last
// messages of the dead have come. Caller: as survive(). Null: there is nobody.
using Handler = void (*)(int process);
void on_loss(Handler handler) noexcept;
void announce(int process);

}  // namespace mpc::job::losses
