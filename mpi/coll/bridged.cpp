#include "mpi/coll/bridged.h"

#include <memory>

#include "mpi/objects/comm_make.h"
#include "mpi/objects/process.h"
#include "mpi/objects/process_list.h"
#include "runtime/job/job.h"
#include "runtime/job/losses.h"

#include "mpi/impl/collective.h"

namespace mpc::mpi {

// The two levels of a communicator, created in its first bridged call, which all members make.
struct Bridge {
  Comm* inside = nullptr;   // the members of this process
  Comm* between = nullptr;  // the first of each process; null at others

  Bridge() = default;
  Bridge(const Bridge&) = delete;
  ~Bridge() {
    if (inside != nullptr) end_comm(inside);
    if (between != nullptr) end_comm(between);
  }
};

namespace {

// All members get the same answer. Without two members in one process there is nothing to gain.
// Nor are there two if the job goes on when a process dies: members of a process would wait without messages for
// one that has failed.
bool has_two_levels(const Comm& comm, const job::ProcessMap& map) {
  return !job::losses::are_survived() && !comm.is_in_one_process() &&
         !comm.is_inter() &&
         static_cast<int>(comm.group()->processes(map).processes().size()) <
             comm.size();
}

// Null: there are not two levels. `call`: the call in which reports say that the rank waits.
Bridge* bridge_of(Comm& comm, const char* call) {
  if (comm.bridge != nullptr) [[likely]]
    return comm.bridge.get();
  const job::ProcessMap& map = comm.self().job->processes();
  if (!has_two_levels(comm, map)) return nullptr;
  auto bridge = std::make_shared<Bridge>();
  // Members of several processes meet, and no step of that can fail.
  const ProcessList& all = comm.group()->processes(map);
  if (split_comm(comm, all.number_of(map.process_of(comm.self().world_rank)), 0, call,
                 &bridge->inside) ||
      split_comm(comm, bridge->inside->rank() == 0 ? 0 : MPI_UNDEFINED, 0, call,
                 &bridge->between))
    return nullptr;
  // The name by which reports say where a rank waits.
  bridge->inside->name = comm.display_name() + " (in its process)";
  if (bridge->between != nullptr)
    bridge->between->name = comm.display_name() + " (between processes)";
  comm.bridge = std::move(bridge);
  return comm.bridge.get();
}

}  // namespace

std::optional<Err> bridged_barrier(Comm& comm) {
  Bridge* const bridge = bridge_of(comm, "MPI_Barrier");
  if (bridge == nullptr) return {};
  MPC_MPI_TRY(impl::barrier(*bridge->inside));
  const Err between =
      bridge->between != nullptr ? impl::barrier(*bridge->between) : kSuccess;
  // Even after an error: the other members of this process wait for this one.
  MPC_MPI_TRY(impl::barrier(*bridge->inside));
  return between;
}

std::optional<Err> bridged_allreduce(const void* sendbuf, void* recvbuf,
                                     dt::Count count, TypeArg type, Op& op,
                                     Comm& comm) {
  // Otherwise members of a process may not be combined first.
  if (!op.commutes()) return {};
  Bridge* const bridge = bridge_of(comm, "MPI_Allreduce");
  if (bridge == nullptr) return {};
  MPC_MPI_TRY(impl::allreduce(sendbuf, recvbuf, count, type, op, *bridge->inside));
  const Err between =
      bridge->between != nullptr
          ? impl::allreduce(MPI_IN_PLACE, recvbuf, count, type, op, *bridge->between)
          : kSuccess;
  MPC_MPI_TRY(impl::bcast(recvbuf, count, &*type, 0, *bridge->inside));
  return between;
}

}  // namespace mpc::mpi
