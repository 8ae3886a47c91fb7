#pragma once
// Launch: runs one job, from the description that mpcrun made of its command line.
//
// Role:      JobSpec -> images, scheduler, ranks, exit status.
// Users:     tools/mpcrun, tests.
// Threads:   run_job() by the process's main thread, once.
// See also:  docs/mpcrun.md (options and exit statuses).

#include <string>
#include <utility>
#include <vector>

namespace mpc::job {

// One program of the job (":"-separated on the command line).
struct AppSpec {
  int ranks = 1;
  std::string program;            // as typed; looked up along PATH
  std::vector<std::string> args;  // without argv[0]
  std::vector<std::pair<std::string, std::string>> environment;  // -x NAME=VALUE
};

enum class Placement { kScatter, kCompact, kList };

// kAuto: each worker to a core of its own, unless other jobs leave too few.
enum class Bind { kAuto, kCore, kNone };

struct JobSpec;
inline size_t size_of_job_spec() noexcept;

struct JobSpec {
  size_t own_bytes = size_of_job_spec();  // first: tells an mpcrun of another build
  std::vector<AppSpec> apps;
  int core_count = 0;          // --cores N: use N cores; 0: all that are allowed
  std::vector<int> core_list;  // --cores LIST: logical cores, in this order
  int comm_cores = -1;  // --comm-cores N: cores without ranks; -1: what is left over
  std::string emulate;  // --emulate NAME: the machine; empty: this one
  Bind bind = Bind::kAuto;  // --bind
  Placement placement = Placement::kCompact;
  std::vector<int> placement_list;  // worker of each rank, repeated cyclically
  size_t stack_bytes = 0;      // --stack-size; 0: as `ulimit -s`, SIZE_MAX: unlimited
  double timeout_seconds = 0;  // --timeout; 0: none
  bool show_only = false;      // --show
  std::string working_directory;      // --wdir
  std::vector<std::string> settings;  // --set name=value
  std::string trace_file;             // --trace, an absolute path; "": none
};

inline size_t size_of_job_spec() noexcept { return sizeof(JobSpec); }

// Exit statuses that are ours; anything else is a rank's own. Documented in docs/mpcrun.md.
enum ExitStatus {
  kExitUsage = 2,            // wrong options
  kExitLaunch = 3,           // could not start the job: limits, memory
  kExitOutput = 122,         // output of a rank, or the trace, could not be written
  kExitTimeout = 124,        // --timeout, as timeout(1)
  kExitDeadlock = 125,       // every rank waits
  kExitNotExecutable = 126,  // found, but cannot be run as ranks
  kExitNotFound = 127,       // program not found
  kExitSignal = 128,  // + signal number: a rank crashed, or mpcrun was told to stop
};

}  // namespace mpc::job

// The whole job; returns the exit status. Exported by libmpi_abi for mpcrun.
extern "C" __attribute__((visibility("default"))) int mpc_run_job(
    const mpc::job::JobSpec& spec);
