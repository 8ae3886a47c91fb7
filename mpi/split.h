#pragma once
// Split: how many leaf levels of a non-blocking collective's tree stay with the ranks.
//
// Role:      algorithm, arity, segment size and S of each call: as the user says (`nbc.split`, the
//            hint "mpc_nbc_split" of the communicator), or by the model and by what earlier calls
//            alike have taken. The ranks of a process agree through memory that they share.
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
#include "nbc/model/split_memory.h"

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
  // What it comes to, whoever has chosen: for the model.
  const char* planned = nullptr;
  int planned_arity = 0;
  int64_t planned_segment_bytes = 0;
  uint64_t calls = 0;                        // of this rank
  std::shared_ptr<nbc::SplitMemory> memory;  // of all ranks
};

// One call's part in the memory of its site.
class SplitCall {
 public:
  bool is_chosen() const noexcept { return site_ != nullptr; }
  // The start begins, and has returned; a wait begins; it has ended.
  void note_start() noexcept;
  void note_started() noexcept;
  void note_wait() noexcept;
  void note_end() const noexcept;

 private:
  friend class Splitter;
  SplitSite* site_ = nullptr;
  uint64_t call_ = 0;
  double predicted_us_ = 0;  // from the start to the end of the wait; 0: not known
  uint64_t start_ns_ = 0, started_ns_ = 0;
  bool is_window_open_ = false;  // started, and no wait or successful test so far
};

// One communicator's memory. Sites live as long as it.
class Splitter {
 public:
  // Nothing is chosen if this collective has no tree, or the user says S. Otherwise sets the
  // shape's split, algorithm, arity and segment size. Cost: some 100 ns.
  static SplitCall choose(Comm& comm, nbc::Shape& shape);

 private:
  SplitSite* site_of(const Comm& comm, const nbc::Shape& shape, int64_t bytes);
  void plan(SplitSite& site, const Comm& comm, const nbc::Shape& shape);
  int split_of(SplitCall& call, const Comm& comm);

  std::mutex mutex_;  // never held over a switch
  std::vector<std::unique_ptr<SplitSite>> sites_;
  std::unique_ptr<nbc::Chooser> chooser_;  // under the mutex; made at the first need
};

// The parameters of the machine that this job runs on, or that is emulated; read once.
const nbc::Parameters& parameters_of_machine();

// "auto" is -1, a number of levels itself. Below -1: it is neither.
int parse_split(std::string_view text) noexcept;

}  // namespace mpc::mpi
