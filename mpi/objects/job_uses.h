#pragma once
// JobUses: the processes of other jobs on which a communicator relies.
//
// Role:      none of these jobs may end silently while the communicator lives.
// Users:     mpi/objects/comm.cpp.
// Threads:   any.
// See also:  runtime/message/abroad.h (begin_use), docs/design/0039-jobs-that-connect.md.

#include <span>

namespace mpc::mpi {

// The owner has members in these processes, numbered as where members of several jobs meet; processes of this job may
// be among them. Connects to all of them, as msg::abroad::reach_all(). `owner` is a name only.
void count_on_jobs(const void* owner, std::span<const int> processes);
// From now on they may end: the owner is about to be destroyed, and only waits for them.
void release_jobs(const void* owner) noexcept;
void forget_jobs(const void* owner) noexcept;

}  // namespace mpc::mpi
