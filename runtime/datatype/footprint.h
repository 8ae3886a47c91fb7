#pragma once
// Footprint: how many cache lines the bytes of a layout lie in.
//
// Role:      tells types whose bytes are scattered over many lines, which are better packed than
//            read by another core, from those that are not.
// Users:     runtime/message.
// Threads:   any.
// See also:  docs/design/0036-scattered-layouts.md, runtime/message/copy_way.h (what is made of it).

#include "runtime/datatype/datatype.h"

namespace mpc::dt {

inline constexpr Count kLineBytes = 64;

struct Footprint {
  Count bytes = 0;  // of data looked at
  Count lines = 0;  // in which they lie; one that the walk comes back to counts again
  Count jumps = 0;  // those of them that are neither the line before nor the next one
};

// Of some short stretches, all over the layout; of several elements in a row where they are short.
// Cost: at most 128 blocks, whatever the layout.
Footprint sample_footprint(const Layout& layout, Count extent) noexcept;

// Another core would have to get a multiple of the lines that the packed bytes fill.
bool is_scattered(const Footprint& of) noexcept;
// Of a type that is not contiguous. Cost: a few loads; once for each type, at most about a
// microsecond.
bool has_scattered_gaps(const Datatype& type) noexcept;
inline bool is_scattered(const Datatype& type) noexcept {
  return !type.is_contiguous() && has_scattered_gaps(type);
}

}  // namespace mpc::dt
