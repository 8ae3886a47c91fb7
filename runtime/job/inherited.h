#pragma once
// Inherited: what mpcrun inherited from the process that started it, and changes for itself.
//
// Role:      raises the limit of open files, which all ranks share, and remembers the old limit and
//            the signal mask: the children of ranks get both as mpcrun had them.
// Users:     runtime/job (launch, signals), runtime/interpose (fork, spawn).
// Threads:   take() by the process's main thread, before any other
//            thread exists; the others by any.
// See also:  docs/limits.md.

#include <signal.h>

namespace mpc::job::inherited {

// Remembers them, and raises the soft limit of open files to the hard one.
void take() noexcept;

// Has the process ignored this signal since its start (nohup)?
bool is_ignored(int signal) noexcept;

// Removes the signals from a mask that the runtime has blocked in its threads.
void unblock_taken(sigset_t* mask) noexcept;

// Gives a forked child what it would have had without mpcrun. Async-signal-safe.
void restore_in_child() noexcept;

}  // namespace mpc::job::inherited
