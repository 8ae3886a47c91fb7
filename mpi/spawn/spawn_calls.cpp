// Bodies of MPI-4.1 section 11.8: ranks that are started while other ranks run.

#include <algorithm>
#include <span>
#include <vector>

#include "mpi/impl/process_mgmt.h"
#include "mpi/objects/lookup.h"
#include "mpi/objects/parent.h"
#include "mpi/spawn/child_job.h"
#include "mpi/spawn/groups.h"
#include "mpi/spawn/launch.h"
#include "mpi/spawn/spawn_request.h"
#include "runtime/job/neighbours.h"
#include "runtime/job/program_probe.h"
#include "runtime/message/abroad.h"

namespace mpc::mpi::impl {
namespace {

// True: children become ranks of this process. False: they become a job of their own.
bool join_this_process(const job::Job& job, const std::vector<SpawnRequest>& requests) {
  return !job.is_singleton() && job.processes().is_one_process() &&
         std::ranges::all_of(requests, [](const SpawnRequest& each) {
           return each.place.is_default() && mpc_can_be_copied(each.app);
         });
}

// At the root. After an error `error` is set in the result, for the group. *met: as
// start_child_job().
Learnt start(Comm& comm, const MeetingKey& key,
             const std::vector<SpawnRequest>& requests, const char* what, Match* met) {
  int ranks = 0;
  for (const SpawnRequest& each : requests) ranks += each.app.ranks;
  if (ranks == 0) return failed(MPI_ERR_SPAWN, "no process is asked for");
  if (!join_this_process(*comm.self().job, requests))
    return start_child_job(comm, key, requests, what, met);
  std::vector<job::AppSpec> apps;
  for (const SpawnRequest& each : requests) apps.push_back(each.app);
  const auto children = launch(comm.self(), apps, what);
  if (!children) return failed(MPI_ERR_SPAWN, children.error().message);
  Learnt learnt;
  meet_children(comm.self(), key, comm.group(), *children, what, &learnt);
  return learnt;
}

// MPI_Finalize of a process waits for all processes with which it has a communicator.
void note_children(const Comm& children) {
  if (!children.spans_jobs()) return;
  for (const int rank : children.remote_group()->world_ranks())
    msg::abroad::note_child(job::neighbours::slot_of(rank));
}

// At the root: one code for each process that was asked for. Other ranks need not know that number:
// they get one for each process that was started.
void set_codes(int* codes, std::span<const int> wanted,
               const std::vector<SpawnRequest>& requests, const Comm* children) {
  if (codes == MPI_ERRCODES_IGNORE) return;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const int started = children != nullptr ? requests[i].app.ranks : 0;
    for (int k = 0; k < wanted[i]; ++k)
      *codes++ = k < started ? MPI_SUCCESS : MPI_ERR_SPAWN;
  }
  for (int k = 0; wanted.empty() && children != nullptr && k < children->remote_size();
       ++k)
    *codes++ = MPI_SUCCESS;
}

// `read` fills in the programs, at the root.
template <class Read>
Err spawn(Comm& comm, int root, std::span<const int> wanted, Read read,
          const char* what, MPI_Comm* out, int* codes) {
  *out = MPI_COMM_NULL;
  const bool leads = comm.rank() == root;
  const MeetingKey key = meeting_key(MeetingKind::kInterCreate, comm);
  std::vector<SpawnRequest> requests(leads ? wanted.size() : 0);
  Learnt mine;
  Match met;
  if (leads) {
    if (const Err error = read(requests))
      mine = failed(error.code, last_error_message());
    else
      mine = start(comm, key, requests, what, &met);
  }
  Comm* children = nullptr;
  const Err error = join_groups(comm, key, leads ? &mine : nullptr, what, &children);
  if (!error) note_children(*children);
  end_match(met);
  set_codes(codes, leads ? wanted : std::span<const int>(), requests, children);
  if (!error) *out = children->handle();
  return error;
}

}  // namespace

Err comm_spawn(const char* command, char** argv, int maxprocs, Info* info, int root,
               Comm& comm, MPI_Comm* intercomm, int* array_of_errcodes) {
  const auto read = [&](std::vector<SpawnRequest>& requests) {
    return read_request(command, argv, maxprocs, info, &requests.front());
  };
  return spawn(comm, root, {&maxprocs, 1}, read, "MPI_Comm_spawn", intercomm,
               array_of_errcodes);
}

Err comm_spawn_multiple(int, char** array_of_commands, char*** array_of_argv,
                        std::span<const int> array_of_maxprocs,
                        const MPI_Info* array_of_info, int root, Comm& comm,
                        MPI_Comm* intercomm, int* array_of_errcodes) {
  const auto read = [&](std::vector<SpawnRequest>& requests) {
    if (array_of_commands == nullptr || array_of_info == nullptr)
      return fail(MPI_ERR_ARG, "an array is a null pointer");
    for (size_t i = 0; i < requests.size(); ++i) {
      if (array_of_maxprocs[i] < 0)
        return fail(MPI_ERR_ARG, "a number of processes is negative");
      Info* info = nullptr;
      MPC_MPI_TRY(lookup(array_of_info[i], &info));
      char** const argv = array_of_argv == MPI_ARGVS_NULL ? nullptr : array_of_argv[i];
      MPC_MPI_TRY(read_request(array_of_commands[i], argv, array_of_maxprocs[i], info,
                               &requests[i]));
    }
    return kSuccess;
  };
  return spawn(comm, root, array_of_maxprocs, read, "MPI_Comm_spawn_multiple",
               intercomm, array_of_errcodes);
}

}  // namespace mpc::mpi::impl
