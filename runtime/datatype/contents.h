#pragma once
// Contents: the combiner and arguments by which a datatype was created.
//
// Role:      MPI_Type_get_envelope and MPI_Type_get_contents return it.
// Users:     runtime/datatype/datatype.h, runtime/datatype/details.h.
// Threads:   immutable once its datatype is created.
// See also:  MPI-4.1 section 5.1.13; abi.h (combiners).

#include <vector>

#include "runtime/datatype/abi.h"
#include "runtime/datatype/layout.h"

namespace mpc::dt {

class Datatype;

struct Contents {
  int combiner = abi::kCombinerNamed;
  // Created by a `_c` constructor: counts are in large_counts.
  bool large = false;
  std::vector<int> integers;  // in the order of MPI-4.1 section 5.1.13
  std::vector<Count> addresses;
  std::vector<Count> large_counts;
  std::vector<const Datatype*> types;  // the datatype holds a reference to each
};

}  // namespace mpc::dt
