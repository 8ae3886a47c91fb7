#pragma once
// SpawnedWords: the command line of an mpcrun that MPI_Comm_spawn starts.
//
// Role:      passes the programs to mpcrun, with every word unchanged: an argument may be ":", and
//            each program has its own folder. The port tells the ranks where their parent waits, the process
//            (runtime/job/spawner_watch.h) who that is.
// Users:     mpi/spawn/child_job.cpp writes it, tools/mpcrun reads it.
// Threads:   any.
// See also:  docs/design/0044-spawning-without-mpcrun.md.
//
//   mpcrun --spawned PORT PROCESS  RANKS FOLDER WORDS PROGRAM [ARG...]  RANKS FOLDER WORDS PROGRAM [ARG...] ...

#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/job/job_spec.h"

namespace mpc::job {

// The words for spec.spawner and spec.apps; everything else
// in the job is as in mpcrun without options.
std::vector<std::string> words_of_spawned(const JobSpec& spec);

bool is_spawned(int argc, char* const* argv) noexcept;
// Caller: is_spawned(). Errors: kArg: words are missing, or are no numbers.
Result<JobSpec> read_spawned(int argc, char* const* argv);

}  // namespace mpc::job
