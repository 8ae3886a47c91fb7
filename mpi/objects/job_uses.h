#pragma once
// JobUses: the processes of other jobs on which a communicator relies.
//
// Role:      none of these jobs may end silently while the communicator lives.
// Users:     mpi/objects/comm.cpp.
// Threads:   any.
// See also:  runtime/message/abroad.h (begin_use), docs/design/0039-jobs-that-connect.md.

#include <span>

namespace mpc::mpi {

// Registers that the owner has members in these processes, which are numbered as in meetings of
// several jobs; processes of this job may be among them. Connects to all of them, as
// msg::abroad::reach_all(). `owner` is only a key.
void count_on_jobs(const void* owner, std::span<const int> processes);
// From now on these jobs may end: the owner is about to be destroyed, and only waits for them.
void release_jobs(const void* owner) noexcept;
void forget_jobs(const void* owner) noexcept;

}  // namespace mpc::mpi
