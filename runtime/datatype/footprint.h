#pragma once
// Footprint: the number of cache lines that the bytes of a layout touch.
//
// Role:      distinguishes types whose bytes are scattered over many lines, which are better packed
//            than read by another core, from others.
// Users:     runtime/message.
// Threads:   any.
// See also:  docs/design/0036-scattered-layouts.md, runtime/message/copy_way.h (its use).

#include "runtime/datatype/datatype.h"

namespace mpc::dt {

inline constexpr Count kLineBytes = 64;

struct Footprint {
  Count bytes = 0;  // of the sampled data
  Count lines = 0;  // that contain them; a line to which the walk returns counts again
  Count jumps = 0;  // lines that are neither the line before nor the next one
};

// Samples some short stretches, all over the layout; of several
// consecutive elements if these are short.
// Cost: at most 128 blocks, whatever the layout.
Footprint sample_footprint(const Layout& layout, Count extent) noexcept;

// Would another core have to fetch a multiple of the lines that the packed bytes fill?
bool is_scattered(const Footprint& of) noexcept;
// For a type that is not contiguous. Cost: a few loads; once for each type, at most about a
// microsecond.
bool has_scattered_gaps(const Datatype& type) noexcept;
inline bool is_scattered(const Datatype& type) noexcept {
  return !type.is_contiguous() && has_scattered_gaps(type);
}

}  // namespace mpc::dt
