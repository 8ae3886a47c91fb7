#pragma once
// CallSite: which MPI call an execution is in, and where in the program it stands.
//
// Role:      noted by entry points with mpi.check=full; reports name it.
// Users:     mpi/objects, mpi/check, mpi/api.
// Threads:   any execution of a rank.
// See also:  mpi/objects/fault.h (its text).

namespace mpc::mpi {

struct CallSite {
  const char* call = nullptr;     // "MPI_Send"; null: none
  const void* address = nullptr;  // where it returns to, in the program
};
// The address is there with mpi.check=full only.
CallSite this_call() noexcept;

// The return address of this execution's most recent MPI call; null: none was noted.
const void* call_place() noexcept;
void set_call_place(const void* return_address) noexcept;

}  // namespace mpc::mpi
