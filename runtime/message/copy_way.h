#pragma once
// CopyWay: whether one core copies from layout to layout, or each end walks its own layout.
//
// Role:      the one place that decides this, from what is known about both ends.
// Users:     runtime/message (scattered_copy.cpp).
// Threads:   pure.
// See also:  docs/design/0036-scattered-layouts.md, runtime/datatype/footprint.h (is_scattered).
//
// What counts between two cores is the number of cache lines that move. The copying core has its
// own lines at hand and moves those of the other end:
//
//   the other end's layout   ours          the other end helps   way
//   dense                    any           -                     kOneCopy
//   scattered                any           no                    kOneCopy
//   scattered                contiguous    yes                   kAtOtherEnd   it packs or unpacks
//   scattered                anything else yes                   kPacked       both do, in pieces

#include <cstdint>

namespace mpc::msg {

enum class CopyWay : uint8_t {
  kOneCopy,     // this core walks both layouts
  kAtOtherEnd,  // the other end walks its layout, our memory is the packed side
  kPacked,      // both walk their own, the packed pieces pass between them
};

struct CopyEnds {
  bool is_contiguous_here;
  bool is_scattered_there;
  bool may_help_there;  // its rank is on another core, and waits or may soon wait
  int64_t bytes;
};

// Below this size an offer and its answer take longer than they save.
inline constexpr int64_t kLeastInPieces = 2 << 10;
// Longer messages would need larger pieces; they are copied as one.
inline constexpr int64_t kMostInPieces = 128 << 20;

constexpr CopyWay choose_way(const CopyEnds& ends) noexcept {
  if (!ends.is_scattered_there || !ends.may_help_there || ends.bytes < kLeastInPieces ||
      ends.bytes > kMostInPieces)
    return CopyWay::kOneCopy;
  return ends.is_contiguous_here ? CopyWay::kAtOtherEnd : CopyWay::kPacked;
}

}  // namespace mpc::msg
