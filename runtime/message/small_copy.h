#pragma once
// small_copy: copies a few dozen bytes without a call.
//
// Role:      payloads of one to four cache lines, in and out of cells.
// Users:     runtime/message.
// Threads:   none.
// See also:  runtime/transport/memory/copy.h for everything larger.

#include <cstddef>
#include <cstring>

namespace mpc::msg {

// Copies n bytes; the last piece overlaps the one before, instead of a loop over bytes.
inline void small_copy(void* dst, const void* src, size_t n) noexcept {
  auto* d = static_cast<char*>(dst);
  auto* s = static_cast<const char*>(src);
  struct Sixteen {
    char bytes[16];
  };
  auto move = [&](auto piece, size_t at) {
    std::memcpy(&piece, s + at, sizeof piece);
    std::memcpy(d + at, &piece, sizeof piece);
  };
  if (n >= 16) {
    for (size_t at = 0; at + 16 <= n; at += 16) move(Sixteen{}, at);
    if (n % 16 != 0) move(Sixteen{}, n - 16);
  } else if (n >= 8) {
    move(0ull, 0);
    if (n != 8) move(0ull, n - 8);
  } else if (n >= 4) {
    move(0u, 0);
    move(0u, n - 4);
  } else {
    for (size_t at = 0; at < n; ++at) d[at] = s[at];
  }
}

}  // namespace mpc::msg
