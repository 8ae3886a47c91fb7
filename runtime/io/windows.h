#pragma once
// Windows: a part of the file that holds pieces of many ranks, moved at once.
//
// Role:      the second phase of a collective access: all members' buffers are in reach, so the first
//            one, which gathers their data, is a copy and no message.
// Users:     runtime/io/collective.cpp.
// Threads:   any; different windows at once.
// See also:  runtime/io/collective.h.

#include <limits>
#include <span>

#include "runtime/io/transfer.h"

namespace mpc::io {

// What one member wants.
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
  Count first, last;  // of the file
};

inline constexpr Count kNotStopped = std::numeric_limits<Count>::max();
struct WindowOutcome {
  int error = 0;
  // With an error: nothing is known of what lies from here on; without: the file ends there.
  Count stopped_at = kNotStopped;
};

// Writes those bytes of `image` whose mark is 1; both have `span` bytes and begin at `first` of the file.
WindowOutcome write_marked(const Target& target, const char* image, const char* marks,
                           Count span, Count first);

// The pieces of all parts that lie in [begin, end) of the file; their views are ordered.
WindowOutcome write_window(const Target& target, std::span<const Part> parts,
                           Count begin, Count end);
WindowOutcome read_window(const Target& target, std::span<const Part> parts,
                          Count begin, Count end);

}  // namespace mpc::io
