#pragma once
// ReduceFn, Reduce3Fn: what a reduction over an array looks like.
//
// Role:      the types of the kernels and of what reduce.h hands out.
// Users:     runtime/datatype/reduce.h, runtime/datatype/reduce_table.h.
// Threads:   the functions are pure; any thread.
// See also:  reduce.h (the rules they keep).

#include "runtime/datatype/layout.h"

namespace mpc::dt {

// inout[i] = in[i] op inout[i] for i < n, elements lying `extent` apart. No overlap.
using ReduceFn = void (*)(const void* in, void* inout, Count n);
// out[i] = left[i] op right[i]. `out` may be `right` or `left`, or overlap neither.
using Reduce3Fn = void (*)(const void* left, const void* right, void* out, Count n);

}  // namespace mpc::dt
