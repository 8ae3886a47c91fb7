#pragma once
// Contents: how a datatype was made: combiner and arguments.
//
// Role:      what MPI_Type_get_envelope and MPI_Type_get_contents return.
// Users:     runtime/datatype/datatype.h, runtime/datatype/details.h.
// Threads:   immutable once its datatype is made.
// See also:  MPI-4.1 section 5.1.13; abi.h (combiners).

#include <vector>

#include "runtime/datatype/abi.h"
#include "runtime/datatype/layout.h"

namespace mpc::dt {

class Datatype;

struct Contents {
  int combiner = abi::kCombinerNamed;
  bool large = false;         // made by a `_c` constructor: counts are in large_counts
  std::vector<int> integers;  // in the order of MPI-4.1 section 5.1.13
  std::vector<Count> addresses;
  std::vector<Count> large_counts;
  std::vector<const Datatype*> types;  // the datatype holds a reference to each
};

}  // namespace mpc::dt
