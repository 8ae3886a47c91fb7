#pragma once
// CoreChoice: which cores a job's workers get, and whether they are bound to them.
//
// Role:      the number of workers and the order of cores follow from the options; which cores
//            these are also depends on what other jobs of the machine hold.
// Users:     runtime/job/node_job.cpp, tests.
// Threads:   pure.
// See also:  runtime/job/core_leases.h; docs/mpcrun.md section "Several jobs at a time".

#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/job/job_spec.h"
#include "topology/machine.h"

namespace mpc::job {

// What other jobs use a core for.
struct CoreUse {
  bool has_ranks = false;
  bool has_communication = false;
};

struct CoreWish {
  int ranks = 1;
  int core_count = 0;  // as in JobSpec, as well as the following ones
  std::vector<int> core_list;
  int comm_cores = -1;
  Bind bind = Bind::kAuto;
  Placement placement = Placement::kCompact;
  bool has_progress = true;  // cores that the ranks leave free have a use
  bool has_teams = false;  // ranks start threads at once (OpenMP), which use such cores
};

struct CoreChoice {
  std::vector<int> cores;       // of the workers, those with ranks first
  int application_workers = 0;  // so many have ranks
  std::vector<int> pool;  // the job's cores: workers and threads of ranks may use them
  bool is_bound = true;
  bool is_shared = false;  // other jobs have ranks on some of the cores
  // For --show: how other jobs have influenced the choice; "": not at all.
  std::string reason;
};

// Cores as the user lists them, otherwise:
// - alone on the machine, the first ones, with those for communication evenly between the others;
// - beside other jobs, cores that these do not use; if those are too few,
//   also cores that they use only for communication, and then no cores
//   for our own communication unless the user asked for them;
// - if too few cores are left even so, as many workers as if alone, not bound: cores become free as
//   other jobs end. Workers are bound anyway if there is one for each core, since moving would gain
//   nothing, and with --bind core (cores of other jobs come last).
// others[c]: use of core c; empty: there are no other jobs. Errors: kArg.
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
