#pragma once
// SocketHello: what two ranks tell each other over the user's socket in MPI_Comm_join.
//
// Role:      sends a few bytes and receives the same number; leaves nothing else in the socket.
// Users:     mpi/spawn/port_calls.cpp.
// Threads:   any.
// See also:  MPI-4.1 section 11.10.5.

#include <cstddef>
#include <cstdint>

#include "mpi/objects/error.h"

namespace mpc::mpi {

struct SocketHello {
  uint64_t mark = 0;  // tells that the peer is this library, with this form
  uint64_t job = 0;
  uint64_t number = 0;  // drawn for this call
  int32_t world_rank = -1;
  int32_t unused = 0;
};

// Sent afterwards, if the two ranks are of different jobs: a port that is open for the other one.
struct SocketPort {
  char name[1024] = "";
};

// Sends `bytes` bytes, and receives as many. Caller: a rank; others get its core while the system
// call waits. Errors: MPI_ERR_OTHER with the system's message; MPI_ERR_ARG: fd is not a descriptor.
Err exchange(int fd, const void* mine, void* theirs, size_t bytes);

}  // namespace mpc::mpi
