#pragma once
// Reductions: the predefined operations over the predefined datatypes, as plain loops.
//
// Role:      used by collectives, reduce_local and accumulate.
// Users:     nbc/direct, mpi, tools/mpcinfo.
// Threads:   the functions are pure; any thread.
// See also:  MPI-4.1 section 6.9.2 (which pairs are legal), reduce_kernels.h.
//
// Signed sums wrap; complex products are computed by the textbook formula (no recovery of
// infinities as in C's Annex G); logical results are 0 or 1; MINLOC and MAXLOC keep the lower
// index of equal values. Buffers need no alignment.

#include <cstdint>

#include "runtime/datatype/reduce_function.h"

namespace mpc::dt {

// The function for an operation and a predefined datatype (ABI codes); null if MPI does not
// allow that pair. MPI_REPLACE and MPI_NO_OP take every predefined datatype except MPI_PACKED.
// Cost: two loads.
ReduceFn reduction(uint32_t op_code, uint32_t type_code) noexcept;
Reduce3Fn reduction3(uint32_t op_code, uint32_t type_code) noexcept;

}  // namespace mpc::dt
