#include "runtime/trace/output.h"

#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

namespace mpc::trace {

constinit char Output::buffer_[kBytes] = {};

bool Output::flush() noexcept {
  for (size_t at = 0; at < used_ && error_ == 0;) {
    const ssize_t n = ::write(descriptor_, buffer_ + at, used_ - at);
    if (n >= 0)
      at += static_cast<size_t>(n);
    else if (errno != EINTR)
      error_ = errno;
  }
  used_ = 0;
  return error_ == 0;
}

void Output::put(char c) noexcept {
  if (used_ == kBytes) flush();
  buffer_[used_++] = c;
}

Output& Output::operator<<(std::string_view text) noexcept {
  if (text.size() > kBytes - used_) flush();
  if (text.size() > kBytes) text = text.substr(0, kBytes);
  std::memcpy(buffer_ + used_, text.data(), text.size());
  used_ += text.size();
  return *this;
}

Output& Output::operator<<(int64_t value) noexcept {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, value);
  return *this << std::string_view(digits, static_cast<size_t>(end.ptr - digits));
}

Output& Output::quoted(std::string_view text) noexcept {
  put('"');
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < ' ') continue;
    if (c == '"' || c == '\\') put('\\');
    put(c);
  }
  put('"');
  return *this;
}

Output& Output::micros(uint64_t ns) noexcept {
  *this << ns / 1000;
  const uint64_t rest = ns % 1000;
  put('.');
  put(static_cast<char>('0' + rest / 100));
  put(static_cast<char>('0' + rest / 10 % 10));
  put(static_cast<char>('0' + rest % 10));
  return *this;
}

}  // namespace mpc::trace
