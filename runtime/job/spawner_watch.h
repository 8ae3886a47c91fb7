#pragma once
// SpawnerWatch: ends a spawned job whose parent ends before the two are connected.
//
// Role:      ranks that never call MPI_Init do not notice that nobody waits for them any more.
//            Once they are connected with their parent, the connection tells.
// Users:     runtime/job/node_job.cpp and hosted_job.cpp watch the process, mpi/objects/parent.cpp ends that.
// Threads:   any, unless a function says otherwise.
// See also:  runtime/job/spawner.h, spawner_process.h, docs/design/0044-spawning-without-mpcrun.md.

#include <string>

#include "base/result.h"

namespace mpc::job {

class Job;

// Starts a thread that ends the job when that process has ended, unless the ranks have met their parent. "", or
// a process of another host: no effect.
// Caller: the thread that starts the job, before ranks run. Errors: kSystem.
Result<> watch_spawner(Job& job, const std::string& process);

// All ranks are in MPI_Init, and connect.
void end_spawner_watch() noexcept;

}  // namespace mpc::job
