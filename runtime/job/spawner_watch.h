#pragma once
// SpawnerWatch: ends a spawned job whose parent ends before the two are connected.
//
// Role:      ranks that never call MPI_Init do not notice that nobody waits for them any more.
//            Once they are connected with their parent, the connection tells.
// Users:     mpi/spawn/child_job.cpp names the process; runtime/job/node_job.cpp watches it, mpi/objects/parent.cpp
//            ends that.
// Threads:   any, unless a function says otherwise.
// See also:  runtime/job/spawner.h, docs/design/0044-spawning-without-mpcrun.md.

#include <string>

#include "base/result.h"

namespace mpc::job {

class Job;

// This process, as text for a command line: its number, when it was started, since a number is given out again, and
// where the number is known. "": this system does not say.
std::string own_process_text();

// Starts a thread that ends the job when that process has ended, unless the ranks have met their parent. "", or
// a process of another host: no effect.
// Caller: the thread that starts the job, before ranks run. Errors: kSystem.
Result<> watch_spawner(Job& job, const std::string& process);

// All ranks are in MPI_Init, and connect.
void end_spawner_watch() noexcept;

}  // namespace mpc::job
