// Bodies of MPI's process management: what there is to say in a job that nobody spawned.

#include "mpi/impl/process_mgmt.h"

namespace mpc::mpi::impl {

// MPI-4.1 section 11.8: MPI_COMM_NULL if the process was not spawned.
Err comm_get_parent(MPI_Comm* parent) {
  *parent = MPI_COMM_NULL;
  return kSuccess;
}

}  // namespace mpc::mpi::impl
