#pragma once
// Queue limits: how much a target's queue keeps, and when an operation waits in its call instead.
//
// Role:      the same for targets in other processes (queue.cpp) and in the own one (local_queue.h).
// Users:     runtime/rma, mpi/rma.
// Threads:   the caller holds the queue's lock.
// See also:  docs/design/0049-queued-epochs.md.

#include <algorithm>
#include <cstddef>

namespace mpc::rma {

// What MPI_Win_complete leaves behind for each target, so that it need not wait for a post: little enough that the copy costs
// less than what it saves, and that epochs that run ahead of their posts take little memory. Chosen.
inline constexpr size_t kMostCopiedBytes = 64 << 10;
inline constexpr size_t kMostEntries = 256;
// Copied when they are queued: a copy of that costs about as much as the entry. Programs that use the buffer of a
// small accumulate again too early, which MPI forbids, work as they do when it is sent at once.
inline constexpr size_t kLittleBytes = 512;
// Entries of a queue, some hundred bytes each, behind which an operation waits in its call. Chosen.
inline constexpr size_t kMostQueued = 1024;

// Must the next operation wait in its call? When the last grant has come: else the queue would grow at its end as fast as
// another thread works on its first entries, and each operation would cost an entry for as long as the member goes on.
template <class Entries>
bool must_wait_for(const Entries& entries) {
  if (entries.size() >= kMostQueued) return true;
  return !entries.empty() &&
         std::ranges::none_of(entries, [](const auto& e) { return e.is_marker(); });
}

}  // namespace mpc::rma
