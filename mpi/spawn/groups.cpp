#include "mpi/spawn/groups.h"

#include <utility>

namespace mpc::mpi {

Err join_groups(Comm& comm, const MeetingKey& key, const Learnt* mine, const char* what,
                Comm** out) {
  Comm::Spec spec;
  MPC_MPI_TRY(learn_from_leader(comm.self(), key, comm.group(), mine, what, &spec));
  *out = create_comm(comm, spec);
  return kSuccess;
}

Learnt failed(int error, std::string message) {
  Learnt learnt;
  learnt.error = error;
  learnt.message = std::move(message);
  return learnt;
}

}  // namespace mpc::mpi
