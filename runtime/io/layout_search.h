#pragma once
// Layout search: the way back from a place to the data before it, in layouts that only go up.
//
// Role:      a filetype is such a layout; a cursor goes from data to places, this the other way.
// Users:     runtime/io/view.cpp.
// Threads:   pure.
// See also:  runtime/datatype/layout.h; MPI-4.1 section 14.1.1 (displacements never decrease).

#include "runtime/datatype/layout.h"

namespace mpc::io {

using Count = int64_t;

// Both of a layout with data.
Count first_offset(const dt::Layout& layout) noexcept;
Count end_offset(const dt::Layout& layout) noexcept;  // behind the last byte
// Each block begins where the one before ends, or later. Cost: O(entries).
bool only_goes_up(const dt::Layout& layout) noexcept;
// Of a layout that only goes up: bytes of data at offsets below `at`. Cost: O(depth * log(entries)).
Count bytes_before(const dt::Layout& layout, Count at) noexcept;
Count block_count(const dt::Layout& layout) noexcept;

}  // namespace mpc::io
