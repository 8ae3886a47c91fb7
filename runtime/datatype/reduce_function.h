#pragma once
// ReduceFn, Reduce3Fn: the types of functions that reduce arrays.
//
// Role:      the types of the kernels and of the functions that reduce.h returns.
// Users:     runtime/datatype/reduce.h, runtime/datatype/reduce_table.h.
// Threads:   the functions are pure; any thread.
// See also:  reduce.h (the rules that they follow).

#include "runtime/datatype/layout.h"

namespace mpc::dt {

// inout[i] = in[i] op inout[i] for i < n, elements lying `extent` apart. No overlap.
using ReduceFn = void (*)(const void* in, void* inout, Count n);
// out[i] = left[i] op right[i]. `out` may be `right` or `left`, or overlap neither.
using Reduce3Fn = void (*)(const void* left, const void* right, void* out, Count n);

}  // namespace mpc::dt
