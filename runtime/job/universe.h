#pragma once
// Universe: for how many ranks at a time the user has started the program.
//
// Role:      the setting job.universe_size, which is MPI_UNIVERSE_SIZE where it is given.
// Users:     runtime/job (singleton, node_job_cores).
// Threads:   any.
// See also:  docs/dynamic.md.

namespace mpc::job {

// 0: the user has not said.
int wanted_universe() noexcept;

}  // namespace mpc::job
