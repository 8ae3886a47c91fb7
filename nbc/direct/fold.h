#pragma once
// Fold: reduces many values to one, in the same order in all of nbc/direct.
//
// Role:      out = values(0) op values(1) op ... op values(n - 1). `inout = in op inout` has the
//            lower ranks in `in`, so the fold runs from the last value down.
// Users:     nbc/direct.
// Threads:   pure but for the operation, which runs on the caller.
// See also:  nbc/direct/call.h (Operation).

#include <cstring>

#include "nbc/direct/call.h"

namespace mpc::nbc::direct {

// `count` elements of `size` bytes. `values(i)` is the address of a value; `out` may be that of the
// last value, and of no other.
template <class Values>
void fold(const Operation& op, int n, Values values, void* out, Count count,
          size_t size) {
  const size_t bytes = static_cast<size_t>(count) * size;
  const void* last = values(n - 1);
  int next = n - 2;
  if (next >= 0 && op.kernel3 != nullptr && last != out) {
    op.kernel3(values(next), last, out, count);
    --next;
  } else if (last != out) {
    std::memcpy(out, last, bytes);
  }
  for (; next >= 0; --next) op(values(next), out, count);
}

}  // namespace mpc::nbc::direct
