#pragma once
// LayoutCopy: a copy from layout to layout that can be made in parts.
//
// Role:      dt::copy() makes it as a whole; cores that share a long copy can take parts of it.
// Users:     runtime/datatype/copy.cpp.
// Threads:   immutable; run() by any thread, for parts that do not overlap at the same time.
// See also:  docs/design/0036-scattered-layouts.md (matrices).

#include "runtime/datatype/datatype.h"
#include "runtime/datatype/layout.h"

namespace mpc::dt {

class LayoutCopy {
 public:
  // Both types outlive the copy. The sides do not overlap.
  LayoutCopy(void* dst, const Datatype& dst_type, Count dst_count, const void* src,
             const Datatype& src_type, Count src_count) noexcept;
  LayoutCopy(const LayoutCopy&) = delete;
  LayoutCopy& operator=(const LayoutCopy&) = delete;

  // All in all: the smaller of both sides.
  Count bytes() const noexcept {
    return to_.bytes < from_.bytes ? to_.bytes : from_.bytes;
  }
  // Makes the part of `n` bytes that begins at `offset`, in an order of the copy's own. All parts
  // together are the copy.
  void run(Count offset, Count n) const noexcept;
  // Where parts of about so many bytes begin, if two cores are to write few of each other's lines:
  // at 0, `first`, first + step, first + 2 step ...; first > 0.
  struct Parts {
    Count first, step;
  };
  Parts parts(Count about) const noexcept;

 private:
  struct Side {
    Side(const void* at, const Datatype& type, Count n) noexcept;
    void take_rows(const Layout& rows) noexcept;
    const void* buffer;
    const Layout* layout;
    Count count, extent, bytes;
    bool is_plain;  // without gaps
  };
  Side to_, from_;
  Layout to_rows_, from_rows_;  // instead of the types' layouts
};

}  // namespace mpc::dt
