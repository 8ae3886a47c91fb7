#pragma once
// Layout search: how many data lie before an offset, in layouts whose offsets never decrease.
//
// Role:      a filetype is such a layout. A cursor maps data to offsets, this maps offsets to data.
// Users:     runtime/io/view.cpp.
// Threads:   pure.
// See also:  runtime/datatype/layout.h; MPI-4.1 section 14.1.1 (displacements never decrease).

#include "runtime/datatype/layout.h"

namespace mpc::io {

using Count = int64_t;

// Both: for a layout with data.
Count first_offset(const dt::Layout& layout) noexcept;
Count end_offset(const dt::Layout& layout) noexcept;  // behind the last byte
// True: each block begins where the one before it ends, or later. Cost: O(entries).
bool only_goes_up(const dt::Layout& layout) noexcept;
// Bytes of data at offsets below `at`. Needs: only_goes_up(). Cost: O(depth * log(entries)).
Count bytes_before(const dt::Layout& layout, Count at) noexcept;
Count block_count(const dt::Layout& layout) noexcept;

}  // namespace mpc::io
