#pragma once
// Situation: the question put to the calibrated model, and the times that it answers with.
//
// Role:      the call, the cores, the hosts; the form of an algorithm; the times for an S.
// Users:     nbc/model; through nbc/model/calibrated.h every caller of the model.
// Threads:   values.
// See also:  docs/overlap-model.md, nbc/model/calibrated.h.

#include <algorithm>
#include <cstdint>

#include "nbc/schedule/coll.h"

namespace mpc::nbc {

// A call, as all its ranks know it.
struct Situation {
  Coll coll = Coll::kBcast;
  int ranks = 1;
  int application_cores = 1;    // cores that have ranks
  int communication_cores = 0;  // cores without ranks
  // One rank's buffer of bcast, reductions and scans; one rank's block of the others.
  int64_t bytes = 0;
  // Time that the ranks compute between start and wait; below 0: unknown. The only field that
  // may differ between ranks.
  double window_us = -1;
  bool commutative = true;
  // The algorithm is fixed ("binomial"): only S is asked for. Null: free choice. Names are
  // those of nbc/algorithms; the string must be a literal.
  const char* algorithm = nullptr;
  int arity = 0;              // arity of a k-nomial tree, if fixed; 0: free
  int64_t segment_bytes = 0;  // size in segmented algorithms, if fixed; 0: free
  // Number of identical hosts: ranks and cores above are those of one. Trees join the hosts'
  // leaders by a binomial tree over the network, with the ranks of each host below.
  int hosts = 1;
};

// How the work of an algorithm is spread over time and cores.
enum class Form : uint8_t {
  kTree,      // levels, one after the other; each can be on either kind of core
  kChain,     // a pipeline through all ranks
  kSerial,    // the root does everything
  kBalanced,  // all ranks have the same work
};

struct Plan {
  const char* algorithm =
      nullptr;  // null: whatever the selection of nbc/algorithms says
  Form form = Form::kBalanced;
  int arity = 0;  // of trees: 2 = binomial; 1: a chain; 0: no tree
  int64_t segment_bytes = 0;
};

// The times for one S, the number of leaf levels kept on application cores. The largest S means
// that everything is kept, as in a blocking call.
struct SplitTime {
  int split = 0;
  double kept_us = 0;    // on the application cores; cannot be overlapped
  double folded_us = 0;  // on the communication cores; infinite if there are none
  // Both, each as far as its data exist, if the ranks do not compute: less than the sum.
  double together_us = 0;
  double nonblocking_us() const { return overlapped_us(0); }
  // Equation (5), except that kept levels do not wait for the last folded one.
  double overlapped_us(double window_us) const {
    return std::max(kept_us + window_us, together_us);
  }
  // The two, one after the other.
  SplitTime& operator+=(const SplitTime& other) {
    kept_us += other.kept_us;
    folded_us += other.folded_us;
    together_us += other.together_us;
    return *this;
  }
};

}  // namespace mpc::nbc
