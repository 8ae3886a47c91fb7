#pragma once
// Choices: what one call of a collective would do in a job that is only described.
//
// Role:      question and answer of `mpcinfo collectives`, without its form.
// Users:     mpi/coll/info.cpp.
// Threads:   one.
// See also:  mpi/coll/info.h.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "mpi/coll/direct_choice.h"
#include "nbc/algorithms/nest.h"
#include "nbc/model/chooser.h"
#include "topology/machine.h"

namespace mpc::mpi {

// All ranks in one process, alone on the machine.
struct DescribedJob {
  std::unique_ptr<topo::Machine> machine;
  std::vector<int> worker_of_rank;
  int application_cores = 0, communication_cores = 0;
  std::unique_ptr<nbc::direct::Team> team;
  std::unique_ptr<nbc::Homes> workers;  // null: no two ranks share one
  std::unique_ptr<nbc::Chooser> chooser;
  int size() const noexcept { return static_cast<int>(worker_of_rank.size()); }
};
// "" for this machine; 0 ranks: one for each core. Errors: kArg, kNotFound.
Result<DescribedJob> describe_job(const std::string& machine, int ranks,
                                  int comm_cores);

struct CollChoice {
  Way way = Way::kMessages;
  std::string what;            // of direct ones: what is done with the data
  const char* algorithm = "";  // of messages
  int arity = 0;               // 0: the algorithm has none, or that of nbc.arity
  int64_t segment_bytes = 0;   // 0: in one piece, or nbc.segment_bytes
  int split = 0;               // S, at the first call
  const char* by = "";         // who says so: "table", "model", the name of a setting
};
// `bytes`: of one rank's block, or of the vector.
CollChoice blocking_choice(const DescribedJob& job, nbc::Coll coll, int64_t bytes);
CollChoice nonblocking_choice(const DescribedJob& job, nbc::Coll coll, int64_t bytes);

}  // namespace mpc::mpi
