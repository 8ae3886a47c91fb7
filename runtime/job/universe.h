#pragma once
// Universe: the number of simultaneous ranks for which the user has started the program.
//
// Role:      the setting job.universe_size, which is MPI_UNIVERSE_SIZE if it is given.
// Users:     runtime/job (singleton, node_job_cores).
// Threads:   any.
// See also:  docs/dynamic.md.

namespace mpc::job {

// 0: the user has not given it.
int wanted_universe() noexcept;

}  // namespace mpc::job
