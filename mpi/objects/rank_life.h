#pragma once
// Rank life: how MPI begins and ends in a rank.
//
// Role:      creates the RankState and the mailbox when a rank starts and destroys them when it
//            ends; creates WORLD and SELF.
// Users:     mpi (MPI_Init); the job's hooks run the rest.
// Threads:   the rank's main thread.
// See also:  mpi/objects/rank_state.h, runtime/job/job.h (hooks).

namespace mpc::mpi {

struct RankState;

// WORLD and SELF; part of MPI_Init.
void create_predefined_comms(RankState& state);

}  // namespace mpc::mpi
