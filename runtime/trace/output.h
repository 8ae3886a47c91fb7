#pragma once
// Output: writes text to a file descriptor through a buffer, without allocation.
//
// Role:      runtime/trace/json.cpp writes with it.
// Users:     runtime/trace.
// Threads:   one.
// See also:  runtime/trace/pages.h for why there is no malloc here.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mpc::trace {

class Output {
 public:
  explicit Output(int descriptor) noexcept : descriptor_(descriptor) {}
  ~Output() { flush(); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  Output& operator<<(std::string_view text) noexcept;
  Output& operator<<(int64_t value) noexcept;
  Output& operator<<(int value) noexcept {
    return *this << static_cast<int64_t>(value);
  }
  Output& operator<<(uint64_t value) noexcept {
    return *this << static_cast<int64_t>(value);
  }
  Output& quoted(std::string_view text) noexcept;  // a JSON string
  Output& micros(uint64_t ns) noexcept;            // 1234567 -> 1234.567
  // False once a write has failed; then errno is that of the first failure.
  bool flush() noexcept;
  int error() const noexcept { return error_; }

 private:
  void put(char c) noexcept;

  const int descriptor_;
  int error_ = 0;
  size_t used_ = 0;
  static constexpr size_t kBytes = 64 << 10;
  // One trace is written at a time; a signal stack has no room for it.
  static char buffer_[kBytes];
};

}  // namespace mpc::trace
