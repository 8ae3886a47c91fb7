#pragma once
// Windows: a part of the file that holds pieces of many ranks and is accessed at once.
//
// Role:      the second phase of a collective access. The buffers of all members are in the same
//            memory, so the first phase, which gathers their data, is a copy and not a message.
// Users:     runtime/io/collective.cpp.
// Threads:   any; different windows at the same time.
// See also:  runtime/io/collective.h.

#include <limits>
#include <span>

#include "runtime/io/transfer.h"

namespace mpc::io {

// What one member accesses.
struct Part {
  // From byte `begin` of the view's stream on.
  Part(const View& its_view, Count its_begin, const Buffer& its_buffer) noexcept
      : view(&its_view),
        begin(its_begin),
        buffer(its_buffer),
        bytes(its_buffer.bytes()),
        first(bytes > 0 ? view->offset_of(begin) : 0),
        last(bytes > 0 ? view->end_of(begin + bytes) : 0) {}

  const View* view;
  Count begin;
  Buffer buffer;
  Count bytes;
  Count first, last;  // in the file
};

inline constexpr Count kNotStopped = std::numeric_limits<Count>::max();
struct WindowOutcome {
  int error = 0;
  // With an error: from here on it is unknown what was moved; without: the file ends here.
  Count stopped_at = kNotStopped;
};

// Writes the bytes of `image` whose mark is 1. Both have `span` bytes, and begin at `first` of the
// file.
WindowOutcome write_marked(const Target& target, const char* image, const char* marks,
                           Count span, Count first);

// Both: the pieces of all parts that lie in [begin, end) of the file; the views are ordered.
WindowOutcome write_window(const Target& target, std::span<const Part> parts,
                           Count begin, Count end);
WindowOutcome read_window(const Target& target, std::span<const Part> parts,
                          Count begin, Count end);

}  // namespace mpc::io
