#pragma once
// Chooser: chooses S, the tree's arity, the segment size and the algorithm of a collective.
//
// Role:      answers for `nbc.split=auto`.
// Users:     nbc/overlap (a Chooser per communicator), tools/mpcinfo, sim.
// Threads:   choose() is pure; a Chooser belongs to one rank.
// See also:  docs/overlap-model.md, nbc/model/calibrated.h.
//
// Ranks may choose different splits (who runs a level does not change the messages), because
// they may know different windows. Algorithm, arity and segments are the same at all ranks:
// they do not depend on the window.

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "nbc/model/calibrated.h"

namespace mpc::nbc {

struct Choice {
  // Leaf levels that stay on application cores; 0: none. At least the height of the tree, or 1
  // without a tree, means all: run it as a blocking call would.
  int split = 0;
  int arity = 0;              // 2 = binomial, 1 = chain, 0: not a tree
  int64_t segment_bytes = 0;  // 0: in one piece
  // As in nbc/algorithms; null: the model has no opinion, the selection there decides.
  const char* algorithm = nullptr;
  // Split is the largest: nothing is left to communication cores.
  bool keeps_all = false;
  double predicted_us =
      0;  // from the start to the end of the wait, the window included
};

// The basis of a choice: everything that does not depend on the window.
struct Prediction {
  Plan plan;
  double nominal_window_us = 0;
  std::vector<SplitTime> times;  // empty: one rank, nothing to do
};
Prediction predict_best(const Situation& situation, const Parameters& parameters);

// Never predicted slower than a blocking call of the same algorithm, or than S = 0.
// Cost: some 200 us for 64 ranks (binomial tree), some 10 ms for 1000; see Chooser.
Choice choose(const Situation& situation, const Parameters& parameters);

// choose() with a cache of the last situations; situations that differ only in the window are the
// same. A prediction is computed once for all ranks of the process.
class Chooser {
 public:
  explicit Chooser(const Parameters& parameters) : parameters_(parameters) {}
  // Cost: well below 1 us if the question was asked before. Valid until the next call.
  const Choice& choose(const Situation& situation);
  // The prediction behind choose(); the same cost and validity.
  const Prediction& prediction(const Situation& situation);
  const Parameters& parameters() const noexcept { return parameters_; }
  uint64_t misses() const noexcept { return misses_; }

 private:
  struct Entry;
  Entry& entry_of(const Situation& situation);
  struct Entry {
    Situation situation;
    std::shared_ptr<const Prediction> prediction;  // null: not used yet
    Choice choice;
  };
  static constexpr size_t kEntries = 64;
  Parameters parameters_;
  std::array<Entry, kEntries> entries_;
  uint64_t misses_ = 0;
};

}  // namespace mpc::nbc
