#pragma once
// Ports: where MPI_Comm_accept and MPI_Comm_connect meet.
//
// Role:      the roots of both sides come to a port by its name, and are told of each other in the order
//            in which they have come, whether they are of one process, of several of one job, or of two jobs.
// Users:     mpi/spawn.
// Threads:   any.
// See also:  MPI-4.1 section 11.9; docs/design/0033-spawn.md, 0039-jobs-that-connect.md.

#include <cstdint>
#include <string>

#include "mpi/objects/error.h"
#include "runtime/job/rank.h"

namespace mpc::mpi {

enum class Side : uint8_t { kAccept, kConnect };

// Two that have met, and two numbers of which they know alike.
struct Match {
  int other = -1;  // the rank on the other side
  uint64_t number = 0;
  uint64_t job = 0;         // of the job that has the port; 0: both are of its process
  int slot = 0;             // of the other job's process; 0: there is no other job
  uint64_t connection = 0;  // as msg::abroad::begin_use(): of who has met, to end
};

// Its name: shorter than MPI_MAX_PORT_NAME, and not to be guessed.
std::string open_port(job::Rank& self);
// Who waits there gets MPI_ERR_PORT. Errors: MPI_ERR_PORT, there is no such port.
Err close_port(const char* name);

// Waits for somebody from the other side, so many seconds at most; 0: without end.
// Switches: yes. Errors: MPI_ERR_PORT: there is no such port, or not any more, or nobody has come.
Err meet_at_port(job::Rank& self, const char* name, Side side, double most_seconds,
                 Match* out);

}  // namespace mpc::mpi
