#pragma once
// Elements: a buffer as a sequence of elements of one predefined type, wherever they lie.
//
// Role:      an operation on elements (an accumulate to a window) walks over it, as copy and pack
//            walk over bytes.
// Users:     runtime/rma.
// Threads:   a value on its user's stack.
// See also:  cursor.h (bytes), reduce.h (operations on elements); MPI-4.1 section 12.3.4.

#include <algorithm>
#include <optional>

#include "runtime/datatype/cursor.h"
#include "runtime/datatype/datatype.h"

namespace mpc::dt {

// The predefined type that `type` consists of; null if there are several or none. A pair
// (MPI_DOUBLE_INT) is one element.
const Datatype* element_of(const Datatype& type) noexcept;

class ElementRuns {
 public:
  // `element` is element_of(type). The type must outlive the walk, which begins with element `first`.
  ElementRuns(const void* base, const Datatype& type, Count count,
              const Datatype& element, Count first = 0) noexcept;

  // Number of all remaining elements; 0 from the start if there are no data.
  Count left() const noexcept { return left_; }
  // The next element, and how many elements follow each other from it on without a gap other than
  // their own: at least 1. Requires: left() > 0.
  char* address() const noexcept { return at_; }
  Count run() const noexcept { return run_; }
  // Requires: n <= run().
  void pass(Count n) noexcept {
    left_ -= n;
    run_ -= n;
    at_ += n * extent_;
    behind_ += n;
    if (run_ == 0 && left_ > 0) next_run();
  }

 private:
  void next_run() noexcept;

  char* at_ = nullptr;
  Count run_ = 0, left_ = 0;
  Count bytes_, extent_;  // of an element
  Count behind_ = 0;      // elements that the cursor has yet to pass
  std::optional<Cursor> cursor_;
};

}  // namespace mpc::dt
