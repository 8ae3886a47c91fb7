#pragma once
// Details: what a derived datatype owns.
//
// Role:      the memory behind a Datatype's layout, signature and history.
// Users:     runtime/datatype/datatype.cpp, runtime/datatype/type_builder.cpp.
// Threads:   immutable once its datatype is made.
// See also:  datatype.h, type_builder.h.

#include "runtime/datatype/contents.h"
#include "runtime/datatype/layout.h"
#include "runtime/datatype/signature.h"

namespace mpc::dt {

struct Details {
  LayoutArena layouts;
  SignatureArena signatures;
  Contents contents;
};

}  // namespace mpc::dt
