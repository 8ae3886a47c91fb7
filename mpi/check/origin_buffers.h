#pragma once
// Origin buffers: the memory of the calling rank that one-sided operations use.
//
// Role:      marks them as in use from the call until the synchronisation that completes it here
//            (MPI-4.1
//            sections 12.3, 12.5), or until its request is complete.
// Users:     mpi/check/onesided.cpp, mpi/check/epochs.cpp.
// Threads:   any execution of the rank.
// See also:  mpi/objects/buffers_in_use.h, docs/checking.md.

#include <limits>
#include <vector>

#include "mpi/check/watched.h"
#include "mpi/objects/win.h"

namespace mpc::mpi::checked {

// Encloses the body of an operation's call.
class OriginBuffers {
 public:
  OriginBuffers(Win& win, int target, std::vector<BufferUse> uses);
  // The body has returned. `request`: for the forms that have one.
  Err end(Err error, Request** request = nullptr);

 private:
  Win& win_;
  const int target_;
  WatchedRef watched_;  // null: nothing to watch
};

inline constexpr int kAllTargets =
    std::numeric_limits<int>::min();  // no rank, nor MPI_PROC_NULL
// All operations that this rank has begun with this window and target are complete here.
void end_operations(const Win& win, int target);

}  // namespace mpc::mpi::checked
