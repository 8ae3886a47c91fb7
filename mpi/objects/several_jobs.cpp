#include "mpi/objects/several_jobs.h"

#include <fmt/format.h>

#include "runtime/job/job.h"

namespace mpc::mpi {

bool spans_jobs(const Comm& comm) noexcept {
  return !comm.is_in_one_process() && comm.self().job->processes().is_one_process();
}

Err refuse_several_jobs(const Comm& comm, const char* what) {
  if (!spans_jobs(comm)) [[likely]]
    return kSuccess;
  return fail(MPI_ERR_UNSUPPORTED_OPERATION,
              fmt::format("{} of {}: its members are of several jobs (MPI_Comm_accept, "
                          "MPI_Comm_connect), which have messages and collectives in "
                          "common, and no {}",
                          what, comm.display_name(), what));
}

}  // namespace mpc::mpi
