#pragma once
// CoreChoice: which cores a job's workers get, and whether they are bound to them.
//
// Role:      the number of workers and the order of cores come from the options; which cores these are
//            also from what other jobs of the machine hold.
// Users:     runtime/job/node_job.cpp, tests.
// Threads:   pure.
// See also:  runtime/job/core_leases.h; docs/mpcrun.md section "Several jobs at a time".

#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/job/job_spec.h"
#include "topology/machine.h"

namespace mpc::job {

// What other jobs have on a core.
struct CoreUse {
  bool has_ranks = false;
  bool has_communication = false;
};

struct CoreWish {
  int ranks = 1;
  int core_count = 0;  // as in JobSpec, with the following ones
  std::vector<int> core_list;
  int comm_cores = -1;
  Bind bind = Bind::kAuto;
  Placement placement = Placement::kCompact;
  bool has_progress = true;  // there is a use for cores that the ranks leave free
  bool has_teams = false;  // ranks start threads at once (OpenMP), which use such cores
};

struct CoreChoice {
  std::vector<int> cores;       // of the workers, those with ranks first
  int application_workers = 0;  // so many have ranks
  std::vector<int> pool;  // the job's cores: workers and threads of ranks may use them
  bool is_bound = true;
  bool is_shared = false;  // other jobs have ranks on some of the cores
  std::string reason;  // for --show: what other jobs have to do with it; "": nothing
};

// Cores as the user lists them, else:
// - alone on the machine, the first ones, those for communication evenly between the others;
// - beside other jobs, cores where these have nothing; if those are too few, also cores where they have
//   communication only, and then none for our own communication that was not asked for;
// - where too few cores are left even so, as many workers as if alone, not bound: cores become free as
//   other jobs end. Bound all the same where there is one for each core, which gains nothing by moving, and
//   with --bind core (cores of others come last).
// others[c]: of core c; empty: nobody is there. Errors: kArg.
Result<CoreChoice> choose_cores(const topo::Machine& machine, const CoreWish& wish,
                                const std::vector<CoreUse>& others);

// Where a job that is alone on the machine has its ranks.
struct Placing {
  std::vector<int> worker_of_rank;
  int application_workers = 0, communication_workers = 0;
};
Result<Placing> place_alone(const topo::Machine& machine, const CoreWish& wish);

// The worker of each of `ranks` ranks; not of Placement::kList. Errors: kArg.
Result<std::vector<int>> place_on(const topo::Machine& machine,
                                  const CoreChoice& choice, int ranks,
                                  Placement placement);

}  // namespace mpc::job
