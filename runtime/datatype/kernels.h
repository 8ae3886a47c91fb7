#pragma once
// Kernels: tight loops that move blocks of one size between two regular or listed
// places.
//
// Role:      the inner loops of copy, pack and unpack.
// Users:     runtime/datatype/copy.cpp.
// Threads:   pure.
// See also:  bench/micro/datatype.cpp.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "runtime/datatype/cursor.h"

namespace mpc::dt::kernel {

// One side of a transfer: where block i begins.
struct Strided {
  char* base;
  Count stride;
  char* operator()(Count i) const noexcept { return address(base, i * stride); }
  Strided from(Count i) const noexcept { return {(*this)(i), stride}; }
};
struct Indexed {
  char* base;
  const Count* offsets;
  char* operator()(Count i) const noexcept { return address(base, offsets[i]); }
};

// Places whose distance is a multiple of this share few sets of the first-level cache.
constexpr Count kSetDistance = 512;
constexpr size_t kStoredTwice = 48;

// Blocks whose lines put each other out of the cache. A block's last bytes are stored twice: a
// processor (Zen 5) that has one store for each such line fetches the lines one after the other,
// with two of them several at a time (docs/design/0036-scattered-layouts.md, "Powers of two").
template <size_t kBytes, class From>
inline void move_to_few_sets(Strided to, From from, Count count) noexcept {
  constexpr size_t kLast = std::min(kBytes, sizeof(long));
  for (Count i = 0; i < count; ++i) {
    char block[kBytes];
    std::memcpy(block, from(i), kBytes);
    char* const at = to(i);
    std::memcpy(at, block, kBytes);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // else one store is left out
    std::memcpy(at + kBytes - kLast, block + kBytes - kLast, kLast);
  }
}

template <size_t kBytes, class To, class From>
inline void move_fixed(To to, From from, Count count) noexcept {
  if constexpr (std::is_same_v<To, Strided> && kBytes <= kStoredTwice)
    if (to.stride % kSetDistance == 0) return move_to_few_sets<kBytes>(to, from, count);
  for (Count i = 0; i < count; ++i) std::memcpy(to(i), from(i), kBytes);
}

// Blocks of 1 to 16 bytes of a size that has no kernel: two overlapping moves, no call.
template <size_t kHalf, class To, class From>
inline void move_overlapping(To to, From from, size_t bytes, Count count) noexcept {
  const size_t second = bytes - kHalf;
  for (Count i = 0; i < count; ++i) {
    char* t = to(i);
    const char* f = from(i);
    char head[kHalf], tail[kHalf];
    std::memcpy(head, f, kHalf);
    std::memcpy(tail, f + second, kHalf);
    std::memcpy(t, head, kHalf);
    std::memcpy(t + second, tail, kHalf);
  }
}

template <size_t kHalf>
inline void move_two(char* to, const char* from, size_t bytes) noexcept {
  move_overlapping<kHalf>([to](Count) { return to; }, [from](Count) { return from; },
                          bytes, 1);
}

// One block of any size: no call for the short ones.
inline void move_one(char* to, const char* from, size_t bytes) noexcept {
  if (bytes > 64) {
    std::memcpy(to, from, bytes);
  } else if (bytes >= 16) {
    if (bytes > 32) return move_two<32>(to, from, bytes);
    move_two<16>(to, from, bytes);
  } else if (bytes >= 8) {
    move_two<8>(to, from, bytes);
  } else if (bytes >= 4) {
    move_two<4>(to, from, bytes);
  } else {
    for (size_t i = 0; i < bytes; ++i) to[i] = from[i];
  }
}

// Moves `count` blocks of `bytes` bytes. The sides do not overlap.
template <class To, class From>
void move_blocks(To to, From from, Count bytes, Count count) noexcept {
  const auto size = static_cast<size_t>(bytes);
  switch (size) {
    case 1:
      return move_fixed<1>(to, from, count);
    case 2:
      return move_fixed<2>(to, from, count);
    case 3:
      return move_fixed<3>(to, from, count);
    case 4:
      return move_fixed<4>(to, from, count);
    case 8:
      return move_fixed<8>(to, from, count);
    case 12:
      return move_fixed<12>(to, from, count);
    case 16:
      return move_fixed<16>(to, from, count);
    case 24:
      return move_fixed<24>(to, from, count);
    case 32:
      return move_fixed<32>(to, from, count);
    case 48:
      return move_fixed<48>(to, from, count);
    case 64:
      return move_fixed<64>(to, from, count);
    default:
      break;
  }
  if (size < 8) return move_overlapping<4>(to, from, size, count);
  if (size < 16) return move_overlapping<8>(to, from, size, count);
  if (size < 32) return move_overlapping<16>(to, from, size, count);
  if (size < 64) return move_overlapping<32>(to, from, size, count);
  for (Count i = 0; i < count; ++i) std::memcpy(to(i), from(i), size);
}

}  // namespace mpc::dt::kernel
