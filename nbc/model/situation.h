#pragma once
// Situation: the question that the calibrated model is asked, and the times that it answers.
//
// Role:      the call, the cores, the hosts; an algorithm's form; what an S takes.
// Users:     nbc/model; by nbc/model/calibrated.h whoever asks it.
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
  int communication_cores = 0;  // cores without
  // One rank's buffer of bcast, reductions and scans; one rank's block of the others.
  int64_t bytes = 0;
  // Time that the ranks compute between start and wait; below 0: unknown. The only field that
  // may differ between ranks.
  double window_us = -1;
  bool commutative = true;
  // The algorithm is settled ("binomial"): only S is asked for. Null: free choice. Names are
  // those of nbc/algorithms; the string must be a literal.
  const char* algorithm = nullptr;
  int arity = 0;              // settled as well, of a k-nomial tree; 0: free
  int64_t segment_bytes = 0;  // settled as well, of segmented algorithms; 0: free
  // Hosts that are alike: ranks and cores above are those of one. Trees join the hosts' leaders by a binomial
  // tree over the network, and the ranks of each host below them.
  int hosts = 1;
};

// How the work of an algorithm lies in time and on the cores.
enum class Form : uint8_t {
  kTree,      // levels, one after the other; each can be on either kind of core
  kChain,     // a pipeline through all ranks
  kSerial,    // the root does everything
  kBalanced,  // all ranks have the same to do
};

struct Plan {
  const char* algorithm =
      nullptr;  // null: whatever the selection of nbc/algorithms says
  Form form = Form::kBalanced;
  int arity = 0;  // of trees: 2 = binomial; 1: a chain; 0: no tree
  int64_t segment_bytes = 0;
};

// One S: the leaf levels below are kept on application cores. Not below means the largest S:
// everything is kept, as a blocking call does.
struct SplitTime {
  int split = 0;
  double kept_us = 0;    // on the application cores; cannot be overlapped
  double folded_us = 0;  // on the communication cores; infinite if there are none
  // Both, each as far as the data are there, if the ranks do not compute: less than the sum.
  double together_us = 0;
  double nonblocking_us() const { return overlapped_us(0); }
  // Equation (5), but that kept levels do not wait for the last folded one.
  double overlapped_us(double window_us) const {
    return std::max(kept_us + window_us, together_us);
  }
  // One after the other.
  SplitTime& operator+=(const SplitTime& other) {
    kept_us += other.kept_us;
    folded_us += other.folded_us;
    together_us += other.together_us;
    return *this;
  }
};

}  // namespace mpc::nbc
