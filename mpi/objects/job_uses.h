#pragma once
// JobUses: on which processes of other jobs a communicator counts.
//
// Role:      none of them may end without a word while it lives.
// Users:     mpi/objects/comm.cpp.
// Threads:   any.
// See also:  runtime/message/abroad.h (begin_use), docs/design/0039-jobs-that-connect.md.

#include <span>

namespace mpc::mpi {

// Of all its processes, by their numbers where members of several jobs meet; this job's may be among them. Reaches
// all of them, as msg::abroad::reach_all(). `owner` is a name only.
void count_on_jobs(const void* owner, std::span<const int> processes);
// From now on they may: the owner is about to go, and only waits for them.
void release_jobs(const void* owner) noexcept;
void forget_jobs(const void* owner) noexcept;

}  // namespace mpc::mpi
