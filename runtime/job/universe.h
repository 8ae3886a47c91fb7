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
// Of a job of several processes, which have told each other how many cores there are. Children are a
// job of their own, whose ranks may share cores: if there are not more cores than ranks, there is no
// limit (0).
int universe_of(int ranks) noexcept;
void set_cores_of_job(
    int cores) noexcept;  // caller: the main thread, before a rank starts

}  // namespace mpc::job
