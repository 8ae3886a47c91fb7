#pragma once
// Split: how many leaf levels of a non-blocking collective's tree stay with the ranks.
//
// Role:      algorithm, arity, segment size (alike at all ranks) and S (this rank's) of each call: as the user says (`nbc.split`, the hint "mpc_nbc_split" of the
//            communicator), or by the model, from the time that the program computed between
//            start and wait of earlier calls alike.
// Users:     mpi/coll.cpp; mpi/request.cpp tells when a wait begins.
// Threads:   any execution of the owning rank; locked inside.
// See also:  docs/overlap.md, nbc/model/chooser.h; Denis et al. 2018, section 5.

#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "nbc/algorithms/collectives.h"
#include "nbc/model/chooser.h"

namespace mpc::mpi {

class Comm;

// Calls alike: the same collective of the same size and root on one communicator.
struct SplitSite {
  nbc::Coll coll;
  int root;
  int64_t bytes;
  bool is_commutative;
  // What the model chose for all ranks alike; null: what nbc::select() says.
  const char* algorithm = nullptr;
  int arity = 0;
  int64_t segment_bytes = 0;
  const char* planned = nullptr;  // the name of whichever it is
  double window_us = -1;  // usual time from start to wait; below 0: not known yet
  double predicted_us = 0;  // by the latest choice: from the start to the end of the wait
  // A wait for a call begins that was started at `started_ns`.
  void note_wait(uint64_t started_ns) noexcept;
  // That wait has ended: counts what was predicted and what was measured.
  void note_end(uint64_t started_ns) const noexcept;
};

// One communicator's memory. Sites live as long as it.
class Splitter {
 public:
  // Null: this collective has no tree, or there is nothing to choose. Otherwise sets the
  // shape's split, algorithm, arity and segment size. Cost: some 100 ns.
  static SplitSite* choose(Comm& comm, nbc::Shape& shape);

 private:
  SplitSite* site_of(const Comm& comm, const nbc::Shape& shape, int64_t bytes);
  void plan(SplitSite& site, const Comm& comm, const nbc::Shape& shape);
  int split_of(SplitSite& site, const Comm& comm);

  std::mutex mutex_;  // never held over a switch
  std::vector<std::unique_ptr<SplitSite>> sites_;
  std::unique_ptr<nbc::Chooser> chooser_;  // under the mutex; made at the first need
};

// The parameters of the machine that this job runs on, or that is emulated; read once.
const nbc::Parameters& parameters_of_machine();

// "auto" is -1, a number of levels itself. Below -1: it is neither.
int parse_split(std::string_view text) noexcept;

}  // namespace mpc::mpi
