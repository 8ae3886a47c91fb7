#pragma once
// Ports: where MPI_Comm_accept and MPI_Comm_connect meet.
//
// Role:      the roots of both sides come to a port by its name. They are paired in the order in
//            which they come, whether they belong to one process, to several of one job, or to two
//            jobs.
// Users:     mpi/spawn.
// Threads:   any.
// See also:  MPI-4.1 section 11.9; docs/design/0033-spawn.md, 0039-jobs-that-connect.md.

#include <cstdint>
#include <string>

#include "mpi/objects/error.h"
#include "runtime/job/rank.h"

namespace mpc::mpi {

enum class PortSide : uint8_t { kAccept, kConnect };

// A pair that has met. Both sides know the same `number` and the same `job`.
struct Match {
  int other = -1;  // the rank on the other side
  uint64_t number = 0;
  uint64_t job = 0;         // that of the port; 0: both are ranks of its process
  int slot = 0;             // the process of the other job; 0: no other job
  uint64_t connection = 0;  // from msg::abroad::begin_use(); to be ended
};

// The new port's name: shorter than MPI_MAX_PORT_NAME, and impossible to guess.
std::string open_port(job::Rank& self);
// Ranks that wait there get MPI_ERR_PORT. Errors: MPI_ERR_PORT: there is no such port.
Err close_port(const char* name);

// Waits until a rank comes from the other side, for `most_seconds` at most; 0: without limit.
// Switches: yes. Errors: MPI_ERR_PORT: there is no such port, it has been closed, or nobody has
// come.
Err meet_at_port(job::Rank& self, const char* name, PortSide side, double most_seconds,
                 Match* out);

}  // namespace mpc::mpi
