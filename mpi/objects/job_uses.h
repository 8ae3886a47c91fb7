#pragma once
// JobUses: on which other jobs a communicator counts.
//
// Role:      none of them may end without a word while it lives.
// Users:     mpi/objects/comm.cpp.
// Threads:   any.
// See also:  runtime/message/abroad.h (begin_use), docs/design/0039-jobs-that-connect.md.

#include <span>

namespace mpc::mpi {

// Of jobs by their slots; the own one may be among them. `owner` is a name only.
void count_on_jobs(const void* owner, std::span<const int> slots);
// From now on they may: the owner is about to go, and only waits for them.
void release_jobs(const void* owner) noexcept;
void forget_jobs(const void* owner) noexcept;

}  // namespace mpc::mpi
