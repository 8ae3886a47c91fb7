#include "runtime/datatype/elements.h"

namespace mpc::dt {

const Datatype* element_of(const Datatype& type) noexcept {
  if (type.abi_code() != 0) return type.size() > 0 ? &type : nullptr;
  const Datatype* element = nullptr;
  for (const Datatype* part : type.contents().types) {
    const Datatype* const inner = element_of(*part);
    if (inner == nullptr && part->size() == 0) continue;  // a marker, or nothing
    if (inner == nullptr || (element != nullptr && inner != element)) return nullptr;
    element = inner;
  }
  // A type of MPI_Type_create_f90_*, which is derived from no other.
  return element != nullptr ? element : predefined(type.uniform_code());
}

ElementRuns::ElementRuns(const void* base, const Datatype& type, Count count,
                         const Datatype& element, Count first) noexcept
    : bytes_(element.size()), extent_(element.extent()) {
  if (count <= 0 || type.size() == 0) return;
  left_ = count * (type.size() / bytes_) - first;
  if (left_ <= 0) {
    left_ = 0;
    return;
  }
  // A predefined type, of whatever shape, is laid out in its own extents.
  if (type.is_contiguous() || &type == &element) {
    at_ = dt::address(base, first * extent_);
    run_ = left_;
    return;
  }
  cursor_.emplace(base, type.layout(), count, type.extent(), first * bytes_);
  next_run();
}

void ElementRuns::next_run() noexcept {
  for (Count bytes = behind_ * bytes_; bytes > 0;) {
    const Count part = std::min(bytes, cursor_->contiguous_bytes());
    cursor_->pass_bytes(part);
    bytes -= part;
  }
  behind_ = 0;
  at_ = cursor_->position();
  // With a gap inside, each element is located separately.
  run_ =
      bytes_ == extent_ ? std::max(cursor_->contiguous_bytes() / bytes_, Count{1}) : 1;
}

}  // namespace mpc::dt
