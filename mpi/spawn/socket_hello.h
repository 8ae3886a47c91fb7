#pragma once
// SocketHello: what two ranks tell each other over the user's socket in MPI_Comm_join.
//
// Role:      sends a few bytes and receives as many; nothing else is left in the socket.
// Users:     mpi/spawn/port_calls.cpp.
// Threads:   any.
// See also:  MPI-4.1 section 11.10.5.

#include <cstddef>
#include <cstdint>

#include "mpi/objects/error.h"

namespace mpc::mpi {

struct SocketHello {
  uint64_t mark = 0;  // of this library and form
  uint64_t job = 0;
  uint64_t number = 0;  // of this call
  int32_t world_rank = -1;
  int32_t unused = 0;
};

// Between jobs, after that: a port that is open for the other one.
struct SocketPort {
  char name[1024] = "";
};

// Sends so many bytes, and receives as many.
// Caller: a rank; its core goes to others while the system waits. Errors: MPI_ERR_OTHER with what the system says;
// MPI_ERR_ARG: this is no descriptor.
Err exchange(int fd, const void* mine, void* theirs, size_t bytes);

}  // namespace mpc::mpi
