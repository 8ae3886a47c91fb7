#pragma once
// JobSpec: a job as the command line describes it.
//
// Role:      mpcrun passes it to the library.
// Users:     runtime/job, tools/mpcrun.
// Threads:   plain data.
// See also:  docs/mpcrun.md (options).

#include <cstddef>
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
  // Differences in each rank's environment, if there are any: NAME=VALUE, or NAME to remove it.
  std::vector<std::vector<std::string>> own_environment;
  std::string working_directory;  // absolute; for a spawned program; "": the job's
};

enum class Placement { kScatter, kCompact, kList };

// kAuto: each worker is bound to a core of its own, unless other jobs leave too few.
enum class Bind { kAuto, kCore, kNone };

struct JobSpec;
inline size_t size_of_job_spec() noexcept;

struct JobSpec {
  // First member: reveals an mpcrun of another build.
  size_t own_bytes = size_of_job_spec();
  std::vector<AppSpec> apps;
  int core_count = 0;          // --cores N: use N cores; 0: all that are allowed
  std::vector<int> core_list;  // --cores LIST: logical cores, in this order
  int comm_cores = -1;      // --comm-cores N: cores without ranks; -1: those left over
  std::string emulate;      // --emulate NAME: the machine; empty: this one
  Bind bind = Bind::kAuto;  // --bind
  Placement placement = Placement::kCompact;
  std::vector<int> placement_list;  // worker of each rank, repeated cyclically
  size_t stack_bytes = 0;      // --stack-size; 0: as `ulimit -s`, SIZE_MAX: unlimited
  double timeout_seconds = 0;  // --timeout; 0: none
  int processes = 1;           // --processes; each gets as many ranks
  bool show_only = false;      // --show
  std::string working_directory;      // --wdir
  std::vector<std::string> settings;  // --set name=value
  std::string trace_file;             // --trace, an absolute path; "": none
  std::string profile_file;           // --profile-file, likewise
  // The port of the program that has spawned the job; "": none has.
  std::string spawner;
  std::string spawner_process;  // own_process_text() of that program
};

inline size_t size_of_job_spec() noexcept { return sizeof(JobSpec); }

}  // namespace mpc::job
