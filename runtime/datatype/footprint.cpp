#include "runtime/datatype/footprint.h"

#include <algorithm>

#include "runtime/datatype/cursor.h"
#include "runtime/datatype/transpose.h"
#include "runtime/datatype/type_builder.h"

namespace mpc::dt {
namespace {

constexpr Count kElements = 8;  // of a type of few blocks, for the gaps between them
// Limits for such a type: its bytes, and the distance between its elements.
constexpr Count kMostBytes = Count{1} << 56;
constexpr Count kStretches = 4;
constexpr int kBlocks = 32;         // sampled per stretch
constexpr Count kBlockBytes = 512;  // sampled per block; a longer block continues

// The cost of a line that no prefetcher brings, in units of consecutive lines. And how many times
// the packed lines there must be for packing to pay. See docs/design/0036-scattered-layouts.md.
constexpr Count kJumpCost = 4;
constexpr Count kLeastRatio = 3;

// The assumed address of displacement 0: negative displacements are valid, too.
constexpr uintptr_t kMiddle = uintptr_t{1} << 63;

void look_at_stretch(Cursor& at, Count room, Footprint& sum) noexcept {
  uintptr_t last = 0;
  for (int i = 0; i < kBlocks && room > 0 && at.leaf() != nullptr; ++i) {
    const Count block = std::min(at.contiguous_bytes(), room);
    const Count n = std::min(block, kBlockBytes);
    const auto begin = reinterpret_cast<uintptr_t>(at.position());
    const uintptr_t first = begin / kLineBytes;
    const uintptr_t end = (begin + static_cast<uintptr_t>(n) - 1) / kLineBytes;
    // A stretch that begins within a line continues a line that is counted already.
    const bool is_new = i == 0 ? begin % kLineBytes == 0 : first != last;
    sum.bytes += n;
    sum.lines += static_cast<Count>(end - first) + (is_new ? 1 : 0);
    if (i != 0 && is_new && first != last + 1 && first + 1 != last) ++sum.jumps;
    last = (begin + static_cast<uintptr_t>(block) - 1) / kLineBytes;
    at.pass_bytes(block);
    room -= block;
  }
}

// Columns that lie next to each other are copied in tiles: what counts are the rows' lines.
bool is_tiled(const Layout& layout) noexcept {
  return layout.shape == Shape::kLoop && layout.children->shape == Shape::kRun &&
         kernel::has_tiles(layout.children->block);
}

}  // namespace

Footprint sample_footprint(const Layout& layout, Count extent) noexcept {
  Footprint sum;
  const bool is_short = layout.is_leaf() && layout.count < kBlocks &&
                        layout.bytes < kMostBytes && extent < kMostBytes &&
                        extent > -kMostBytes;
  const Count elements = is_short ? kElements : 1;
  const Count total = layout.bytes * elements, step = total / kStretches;
  for (Count i = 0; i < kStretches; ++i) {
    const Count from = i * step, end = i + 1 < kStretches ? from + step : total;
    Cursor at(reinterpret_cast<char*>(kMiddle), layout, elements, extent, from);
    look_at_stretch(at, end - from, sum);
  }
  return sum;
}

bool is_scattered(const Footprint& of) noexcept {
  const Count cost = of.lines + (kJumpCost - 1) * of.jumps;
  return of.bytes != 0 && cost * kLineBytes >= kLeastRatio * of.bytes;
}

bool has_scattered_gaps(const Datatype& type) noexcept {
  Details* const details = TypeBuilder::details_of(type);
  if (details == nullptr) return false;
  // Relaxed: it orders nothing, and each caller that computes it gets the same.
  Details::Scattered found = details->scattered.load(std::memory_order_relaxed);
  if (found == Details::kUnknown) {
    const Layout& layout = type.layout();
    const Layout rows = is_tiled(layout) ? rows_of(layout) : Layout();
    const Footprint footprint =
        sample_footprint(rows.bytes != 0 ? rows : layout, type.extent());
    found = is_scattered(footprint) ? Details::kScattered : Details::kDense;
    details->scattered.store(found, std::memory_order_relaxed);
  }
  return found == Details::kScattered;
}

}  // namespace mpc::dt
