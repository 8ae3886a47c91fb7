#pragma once
// SpawnedWords: the command line of an mpcrun that MPI_Comm_spawn starts.
//
// Role:      passes the programs to mpcrun, with every word unchanged: an argument may be ":", and
//            each program has its own folder, and hosts. Beside it the environment says where the
//            parent waits (the name of a port), and who it is (runtime/job/spawner_process.h): other users
//            can read command lines, and whoever knows the name of the port can connect.
// Users:     mpi/spawn/child_job.cpp writes it, tools/mpcrun reads it; hosted_job.cpp the environment.
// Threads:   any.
// See also:  docs/design/0044-spawning-without-mpcrun.md, 0048-spawn-over-hosts.md.
//
//   MPC_SPAWNER="PROCESS PORT" mpcrun --spawned copies|processes  RANKS FOLDER HOSTS HOSTFILE PROCESSES WORDS PROGRAM [ARG...]  RANKS ...

#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/job/job_spec.h"

namespace mpc::job {

// "a,b": the hosts of a job that has several, in the environment of its processes.
inline constexpr char kJobHostsVariable[] = "MPC_JOB_HOSTS";

inline constexpr char kSpawnerVariable[] = "MPC_SPAWNER";

// Where one program of such a job runs; nothing: in a process of the host of the rank that spawns it.
struct SpawnedPlace {
  std::string hosts, host_file;  // as --hosts, --hostfile
  int processes = 0;             // as -p
  bool is_default() const noexcept {
    return hosts.empty() && host_file.empty() && processes == 0;
  }
  bool operator==(const SpawnedPlace&) const = default;
};

struct SpawnedJob {
  JobSpec spec;                      // spawner, apps
  std::vector<SpawnedPlace> places;  // of each app
  bool is_hosted = false;            // as --ranks-per-process 1
};

// The words for it; everything else in the job is as in mpcrun without options.
std::vector<std::string> words_of_spawned(const SpawnedJob& job);
// "NAME=VALUE", for its environment.
std::string variable_of_spawned(const JobSpec& spec);
// From this process's environment. False: it has none.
bool read_spawner(std::string* port, std::string* process);

bool is_spawned(int argc, char* const* argv) noexcept;
// Caller: is_spawned(). Errors: kArg: words are missing, or are no numbers; so is the variable.
Result<SpawnedJob> read_spawned(int argc, char* const* argv);

}  // namespace mpc::job
