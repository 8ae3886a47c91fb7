// Bodies of MPI's process management: the parent of a rank that was spawned.

#include "mpi/impl/process_mgmt.h"
#include "mpi/objects/comm.h"
#include "mpi/objects/parent.h"
#include "mpi/objects/rank_state.h"

namespace mpc::mpi::impl {

// MPI-4.1 section 11.8: MPI_COMM_NULL if the process was not spawned, or the communicator is gone.
Err comm_get_parent(MPI_Comm* parent) {
  Comm* const comm = parent_of(*this_rank().rank);
  *parent = comm != nullptr ? comm->handle() : MPI_COMM_NULL;
  return kSuccess;
}

}  // namespace mpc::mpi::impl
