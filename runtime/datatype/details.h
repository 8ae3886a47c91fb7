#pragma once
// Details: the memory that a derived datatype owns.
//
// Role:      the storage of a Datatype's layout, signature and history.
// Users:     runtime/datatype/datatype.cpp, runtime/datatype/type_builder.cpp, footprint.cpp.
// Threads:   immutable once its datatype is created, except values that are computed later.
// See also:  datatype.h, type_builder.h.

#include <atomic>

#include "runtime/datatype/contents.h"
#include "runtime/datatype/layout.h"
#include "runtime/datatype/signature.h"

namespace mpc::dt {

struct Details {
  LayoutArena layouts;
  SignatureArena signatures;
  Contents contents;
  // See is_scattered(); the first caller computes it, and any other would get the same.
  enum Scattered : uint8_t { kUnknown, kDense, kScattered };
  std::atomic<Scattered> scattered{kUnknown};
};

}  // namespace mpc::dt
