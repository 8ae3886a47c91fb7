#pragma once
// Parent: how spawned ranks and the ranks that have spawned them find each other.
//
// Role:      the first one of the new ranks meets the root of MPI_Comm_spawn, each tells its group, and
//            the two groups form one intercommunicator.
// Users:     mpi/env (MPI_Init), mpi/spawn, mpi/comm, mpi/objects/rank_life.cpp, mpi/objects/process_sets.cpp.
// Threads:   the rank's main thread; that of MPI_Comm_spawn; parent_of() any.
// See also:  mpi/objects/intercomm_leaders.h; MPI-4.1 section 11.8.

#include <string>

#include "mpi/objects/error.h"
#include "mpi/objects/intercomm_leaders.h"
#include "runtime/job/job.h"

namespace mpc::mpi {

class Comm;
struct RankState;

// The group of all ranks that were started with this one.
GroupRef world_group(const job::World& world);

// Connects the ranks of a job with the program that has spawned it, by the name of a port;
// mpi/spawn provides the function.
using ConnectToSpawner = Err (*)(Comm& world, const std::string& port, Comm** out);
void set_connect_to_spawner(ConnectToSpawner connect) noexcept;

// Part of MPI_Init: creates the communicator with the ranks that have spawned this one. Switches:
// yes.
Err meet_parent(RankState& state);
// That communicator; null: the rank was not spawned, or the communicator is freed. Caller: any
// thread of the rank.
Comm* parent_of(const job::Rank& rank);
// The rank frees this communicator, or (null) ends: no call asks for its parent any more.
Comm* forget_parent(const job::Rank& rank, const Comm* comm);

// The root's part: waits until all of these ranks are in MPI_Init. `key`: where its group waits; `what`: its call.
// Switches: yes.
void meet_children(job::Rank& self, const MeetingKey& key, const GroupRef& group,
                   const job::World& children, const char* what, Learnt* out);

}  // namespace mpc::mpi
