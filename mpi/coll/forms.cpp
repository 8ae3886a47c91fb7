#include "mpi/coll/forms.h"

#include "mpi/objects/info.h"
#include "mpi/objects/process_list.h"
#include "nbc/algorithms/cache.h"
#include "nbc/algorithms/inter.h"
#include "runtime/job/job.h"

namespace mpc::mpi::impl {

Result<std::shared_ptr<const nbc::Schedule>> schedule_of(Call& call) {
  Comm& comm = call.comm;
  if (comm.is_inter()) return nbc::build_inter(call.shape, comm.remote_size());
  return comm.schedules().get(call.shape);
}

nbc::SplitCall choose_split(Comm& comm, nbc::Shape& shape) {
  if (comm.is_inter()) return {};
  const std::string* hint = comm.hints ? comm.hints->find("mpc_nbc_split") : nullptr;
  const job::Job& job = *comm.self().job;
  const Members members = comm.members();
  const ProcessList* several = members.processes;
  const nbc::CommView view{
      job,
      comm.collective_context(),
      comm.peers()[0],
      comm.size(),
      job.processes().process_of(comm.self().world_rank),
      members.here,
      several == nullptr ? 1 : static_cast<int>(several->processes().size()),
      hint};
  return nbc::needs_choice(view, shape) ? comm.tree_splitter().choose(view, shape)
                                        : nbc::SplitCall();
}

}  // namespace mpc::mpi::impl
