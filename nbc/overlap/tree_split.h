#pragma once
// Tree split: how many leaf levels of a non-blocking collective's tree stay with the ranks.
//
// Role:      algorithm, arity, segment size and S of each call: as the user says (`nbc.split`, the
//            hint "mpc_nbc_split" of the communicator), or by the model and by what earlier calls
//            alike have taken. The ranks of a process agree through memory that they share.
// Users:     mpi: a collective asks for S, its request tells when a wait begins.
// Threads:   any execution of the owning rank; locked inside.
// See also:  docs/overlap.md, nbc/model/chooser.h; Denis et al. 2018, section 5.

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nbc/algorithms/collectives.h"
#include "nbc/model/chooser.h"
#include "nbc/model/split_memory.h"
#include "runtime/message/message.h"

namespace mpc::job {
class Job;
}
namespace mpc::topo {
class Machine;
}

namespace mpc::nbc {

// What the choice has to know of a communicator; the same at all its members in a process.
struct CommView {
  const job::Job& job;
  msg::ContextId context;  // of its collectives
  int first_rank;          // world rank of the first member
  int size;
  int process;              // the caller's
  int ranks_here;           // members that live in it
  int processes;            // that members live in
  const std::string* hint;  // "mpc_nbc_split"; null: none
};

// Calls that are alike: the same collective of the same size and root on one communicator.
struct SplitSite {
  Coll coll;
  int root;
  int64_t bytes;
  bool is_commutative;
  // What the model chose for all ranks alike; null: what select() says.
  const char* algorithm = nullptr;
  int arity = 0;
  int64_t segment_bytes = 0;
  // Algorithm, arity and segments that the call will have, chosen by the model or by the table:
  // what the model is asked the times of.
  const char* planned = nullptr;
  int planned_arity = 0;
  int64_t planned_segment_bytes = 0;
  uint64_t calls = 0;                   // of this rank
  std::shared_ptr<SplitMemory> memory;  // of all ranks of the process
};

// What the model chooses for all ranks alike; null and 0: the table's.
struct TreePlan {
  const char* algorithm = nullptr;
  int arity = 0;
  int64_t segment_bytes = 0;
};
// From what all ranks know alike: not from a window. `shape` says what the user wants and what is applicable.
TreePlan plan_tree(Chooser& chooser, const Situation& situation, const Shape& shape);
// What the model is asked about a call.
Situation situation_of(const Shape& shape, int ranks, int hosts, int application_cores,
                       int communication_cores);
// S of the first call, of which no window is known.
int first_split(Chooser& chooser, Situation situation, const Shape& shape,
                const TreePlan& plan);
// nbc.split, unless it is auto.
std::optional<int> forced_split();
// What a machine costs: the file that the user names or has made, else a guess. Null: nothing is known of it.
Parameters parameters_for(const topo::Machine* machine);
// Do cores for communication, and so much data, let the model choose?
bool is_worth_a_choice(const Shape& shape, int communication_workers) noexcept;

// One call's part in the memory of its site.
class SplitCall {
 public:
  bool is_chosen() const noexcept { return site_ != nullptr; }
  // To be called when the start begins, when it has returned, when a wait begins and when it has
  // ended.
  void note_start() noexcept;
  void note_started() noexcept;
  void note_wait() noexcept;
  void note_end() const noexcept;

 private:
  friend class TreeSplitter;
  SplitSite* site_ = nullptr;
  uint64_t call_ = 0;
  double predicted_us_ = 0;  // from the start to the end of the wait; 0: not known
  uint64_t start_ns_ = 0, started_ns_ = 0;
  bool is_window_open_ = false;  // started, and no wait or successful test so far
};

// True if a TreeSplitter is to choose. If not, the shape's split is as the user says (the hint or
// `nbc.split`), or 0 as nothing of this collective could run on another core.
bool needs_choice(const CommView& comm, Shape& shape);

// One communicator's memory. Sites live as long as it.
class TreeSplitter {
 public:
  // Sets the shape's split, algorithm, arity and segment size. Needs: needs_choice() said so.
  // Cost: some 100 ns.
  SplitCall choose(const CommView& comm, Shape& shape);

 private:
  SplitSite* site_of(const CommView& comm, const Shape& shape, int64_t bytes);
  void plan(SplitSite& site, const CommView& comm, const Shape& shape);
  int split_of(SplitCall& call, const CommView& comm, const Shape& shape);

  std::mutex mutex_;  // never held over a switch
  std::vector<std::unique_ptr<SplitSite>> sites_;
  std::unique_ptr<Chooser> chooser_;  // under the mutex; made at the first need
};

// The parameters of the machine that this job runs on, or that is emulated; read once.
const Parameters& parameters_of_machine();

// "auto" is -1, a number of levels itself. Below -1: it is neither.
int parse_split(std::string_view text) noexcept;

}  // namespace mpc::nbc
