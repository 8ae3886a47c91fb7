#pragma once
// Inherited: what mpcrun got from who started it, and changes for itself.
//
// Role:      raises the limit of open files, which all ranks share, and remembers it with the
//            mask of signals: the children of ranks get both as mpcrun had them.
// Users:     runtime/job (launch, signals), runtime/interpose (fork, spawn).
// Threads:   take() by the process's main thread, before any other; the others by anyone.
// See also:  docs/limits.md.

#include <signal.h>

namespace mpc::job::inherited {

// Remembers, and raises the soft limit of open files to the hard one.
void take() noexcept;

// Does the process ignore this signal since its start (nohup)?
bool is_ignored(int signal) noexcept;

// Removes from a mask what the runtime has blocked in its threads.
void unblock_taken(sigset_t* mask) noexcept;

// Gives a forked child what it would have had without mpcrun. Async-signal-safe.
void restore_in_child() noexcept;

}  // namespace mpc::job::inherited
