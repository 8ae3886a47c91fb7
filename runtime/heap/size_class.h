#pragma once
// Size classes: the sizes of small blocks.
//
// Role:      steps of 16 bytes up to 128, then four per doubling: at most a quarter is lost.
// Users:     runtime/heap/heap.cpp, its tests.
// Threads:   any.
// See also:  docs/design/0017-heaps.md.

#include <bit>
#include <cstddef>
#include <cstdint>

namespace mpc::heap {

constexpr size_t kAlignment = 16;     // of every block: max_align_t
constexpr size_t kSmallBytes = 8192;  // the largest small block
constexpr size_t kLinearBytes = 128;  // up to here in steps of kAlignment
constexpr int kLinearClasses = kLinearBytes / kAlignment;
constexpr int log2_of(size_t value) noexcept {
  return static_cast<int>(std::bit_width(value)) - 1;
}
constexpr int kClassCount =
    kLinearClasses + 4 * (log2_of(kSmallBytes) - log2_of(kLinearBytes));

// The class of blocks of at least so many bytes; 0 counts as 1. Units: bytes, up to kSmallBytes.
constexpr int class_of(size_t bytes) noexcept {
  if (bytes <= kLinearBytes)
    return bytes == 0 ? 0 : static_cast<int>((bytes - 1) / kAlignment);
  const int power = log2_of(bytes - 1);
  const int quarter = static_cast<int>((bytes - 1) >> (power - 2)) & 3;
  return kLinearClasses + (power - log2_of(kLinearBytes)) * 4 + quarter;
}

constexpr size_t bytes_of_class(int size_class) noexcept {
  if (size_class < kLinearClasses)
    return static_cast<size_t>(size_class + 1) * kAlignment;
  const int above = size_class - kLinearClasses;
  const int power = log2_of(kLinearBytes) + above / 4;
  return static_cast<size_t>(5 + above % 4) << (power - 2);
}

static_assert(bytes_of_class(class_of(kSmallBytes)) == kSmallBytes);
static_assert(class_of(kSmallBytes) == kClassCount - 1);

}  // namespace mpc::heap
