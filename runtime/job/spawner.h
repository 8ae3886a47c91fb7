#pragma once
// Spawner: the program that has started this job by MPI_Comm_spawn, if any.
//
// Role:      where the job's ranks find their parent in MPI_Init: the name of the port at which it waits.
// Users:     runtime/job, mpi/objects/parent.cpp.
// Threads:   set before ranks start; then any.
// See also:  runtime/job/spawned_words.h, docs/design/0044-spawning-without-mpcrun.md.

#include <string>

namespace mpc::job {

// "": none, the user has started the job.
const std::string& spawner() noexcept;
// Caller: the process's main thread, once.
void set_spawner(const std::string& port);

}  // namespace mpc::job
