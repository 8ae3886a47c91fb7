#include "runtime/io/domains.h"

#include <algorithm>

namespace mpc::io {
namespace {

// Windows are at least this long, also where domains would be shorter.
constexpr Count kLeastWindow = Count{64} << 10;
constexpr Count kPage = 4096;

Count round_up(Count value, Count unit) noexcept {
  return (value + unit - 1) / unit * unit;
}

// True: pieces of one process lie between those of another one.
bool do_interleave(std::span<const Extent> extents) {
  std::vector<Extent> sorted;
  for (const Extent& one : extents)
    if (one.bytes > 0) sorted.push_back(one);
  std::ranges::sort(sorted, {}, &Extent::first);
  for (size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i].first < sorted[i - 1].last) return true;
  return false;
}

bool is_worthwhile(std::span<const Extent> extents, const Extent& whole) {
  const Switch hint = extents[0].hint;
  if (hint == Switch::kDisable || !whole.is_ordered) return false;
  const auto has_data = [](const Extent& one) { return one.bytes > 0; };
  if (std::ranges::count_if(extents, has_data) < 2) return false;
  if (hint == Switch::kEnable) return true;
  return do_interleave(extents) && whole.bytes < kLargePiece * whole.pieces &&
         (whole.last - whole.first) / kMostSparse <= whole.bytes;
}

}  // namespace

void Extent::add(const Part& part) noexcept {
  if (part.bytes == 0) return;
  first = std::min(first, part.first);
  last = std::max(last, part.last);
  bytes += part.bytes;
  pieces += pieces_of(part);
  is_ordered = is_ordered && part.view->is_ordered();
}

std::pair<Count, Count> Domains::window_of(size_t aggregator,
                                           Count round) const noexcept {
  const Count index = static_cast<Count>(aggregator) * windows_each + round;
  const Count from = std::min(begin + index * window, end);
  return {from, std::min(from + window, end)};
}

Domains divide(std::span<const Extent> extents) {
  Extent whole;
  for (const Extent& one : extents) {
    whole.first = std::min(whole.first, one.first);
    whole.last = std::max(whole.last, one.last);
    whole.bytes += one.bytes;
    whole.pieces += one.pieces;
    whole.is_ordered = whole.is_ordered && one.is_ordered;
  }
  Domains out;
  if (!is_worthwhile(extents, whole)) return out;
  const auto processes = static_cast<Count>(extents.size());
  const Count wanted = extents[0].aggregators;
  const Count most = wanted > 0 ? std::min(wanted, processes) : processes;
  const Count span = whole.last - whole.first;
  const Count share = round_up((span + most - 1) / most, kPage);
  out.window = std::min(extents[0].window_bytes, std::max(share, kLeastWindow));
  out.begin = whole.first / out.window * out.window;
  out.end = whole.last;
  const Count windows = (out.end - out.begin + out.window - 1) / out.window;
  const Count used = std::min(most, windows);
  out.windows_each = (windows + used - 1) / used;
  for (Count i = 0; i < used; ++i)
    out.aggregators.push_back(static_cast<int>(i * processes / used));
  return out;
}

}  // namespace mpc::io
