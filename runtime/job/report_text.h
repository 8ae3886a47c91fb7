#pragma once
// ReportText: a text of limited length, built without the heap.
//
// Role:      a crash report is built in it, because the heap, or the lock of the heap, may be
//            what is broken. Text that does not fit is cut off.
// Users:     runtime/job (crash reports), upper layers through crash::at_fault().
// Threads:   one; signal handlers too.
// See also:  runtime/job/crash.h.

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace mpc::job {

class ReportText {
 public:
  constexpr ReportText(char* buffer, size_t bytes) noexcept
      : buffer_(buffer), room_(bytes) {}
  ReportText(const ReportText&) = delete;

  // Integers, pointers and strings only: fmt writes these without allocating.
  template <class Format, class... Arguments>
  void add(Format format, const Arguments&... arguments) {
    const size_t left = room_ - size_;
    size_ += std::min(
        fmt::format_to_n(buffer_ + size_, left, format, arguments...).size, left);
  }
  void cut(size_t size) noexcept { size_ = std::min(size, size_); }
  std::string_view view() const noexcept { return {buffer_, size_}; }

 private:
  char* buffer_;
  size_t room_, size_ = 0;
};

}  // namespace mpc::job
