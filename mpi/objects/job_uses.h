#pragma once
// JobUses: the other jobs on which a communicator relies.
//
// Role:      none of these jobs may end silently while the communicator lives.
// Users:     mpi/objects/comm.cpp.
// Threads:   any.
// See also:  runtime/message/abroad.h (begin_use), docs/design/0039-jobs-that-connect.md.

#include <span>

namespace mpc::mpi {

// The jobs are named by their slots; the caller's own job may be among them. `owner` is a name
// only.
void count_on_jobs(const void* owner, std::span<const int> slots);
// From now on they may end: the owner is about to be destroyed, and only waits for them.
void release_jobs(const void* owner) noexcept;
void forget_jobs(const void* owner) noexcept;

}  // namespace mpc::mpi
