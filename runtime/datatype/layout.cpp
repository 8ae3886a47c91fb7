#include "runtime/datatype/layout.h"

#include <algorithm>

namespace mpc::dt {
namespace {

// Leaves of up to this many blocks are merged into the list that contains them.
constexpr Count kDissolveBlocks = 16;
constexpr Count kSplitBytes = 16;  // the largest block that is one load and one store

bool steps_by(const Layout& child, Count stride) {
  Count span;
  return !__builtin_mul_overflow(child.count, child.stride, &span) && span == stride;
}

Layout moved(Layout layout, Count by) {
  layout.offset += by;
  return layout;
}

bool same_but_offset(const Layout& a, const Layout& b) {
  return a.shape == b.shape && a.bytes == b.bytes && a.count == b.count &&
         a.block == b.block && a.stride == b.stride && a.children == b.children;
}

// Splits scattered small elements, a few of which happen to touch, into blocks of one size again,
// if all are multiples of the smallest and that does not double their number. One size
// has a loop without branches, which is worth more than the merging.
void split_to_one_size(std::vector<Block>& blocks) {
  Count unit = blocks.front().bytes, total = 0;
  for (const Block& b : blocks) {
    unit = std::min(unit, b.bytes);
    total += b.bytes;
  }
  const auto n = static_cast<Count>(blocks.size());
  if (unit > kSplitBytes || total / unit > 2 * n) return;
  for (const Block& b : blocks)
    if (b.bytes % unit != 0) return;
  std::vector<Block> split;
  split.reserve(static_cast<size_t>(total / unit));
  for (const Block& b : blocks)
    for (Count at = 0; at < b.bytes; at += unit) split.push_back({b.offset + at, unit});
  blocks = std::move(split);
}

// Blocks of one size become kRun or kIndexed, else kBlocks.
Layout leaf_of(LayoutArena& arena, std::vector<Block>& blocks) {
  if (blocks.size() > kDissolveBlocks) split_to_one_size(blocks);
  const Block first = blocks.front();
  const auto n = static_cast<Count>(blocks.size());
  if (n == 1) return Layout::run(first.offset, first.bytes, 1, 0);
  const Count stride = blocks[1].offset - first.offset;
  bool one_size = true, one_stride = true;
  Count total = first.bytes;
  for (size_t i = 1; i < blocks.size(); ++i) {
    one_size = one_size && blocks[i].bytes == first.bytes;
    one_stride = one_stride && blocks[i].offset - blocks[i - 1].offset == stride;
    total += blocks[i].bytes;
  }
  if (one_size && one_stride) return Layout::run(first.offset, first.bytes, n, stride);
  Layout leaf;
  leaf.offset = first.offset;
  leaf.count = n;
  leaf.bytes = total;
  for (Block& b : blocks) b.offset -= leaf.offset;
  if (one_size) {
    std::vector<Count> offsets(blocks.size());
    std::transform(blocks.begin(), blocks.end(), offsets.begin(),
                   [](const Block& b) { return b.offset; });
    leaf.shape = Shape::kIndexed;
    leaf.block = first.bytes;
    leaf.offsets = arena.keep(std::move(offsets));
    return leaf;
  }
  std::vector<Count> prefix(blocks.size() + 1);
  for (size_t i = 0; i < blocks.size(); ++i)
    prefix[i + 1] = prefix[i] + blocks[i].bytes;
  leaf.shape = Shape::kBlocks;
  leaf.blocks = arena.keep(blocks);
  leaf.prefix = arena.keep(std::move(prefix));
  return leaf;
}

}  // namespace

Layout make_loop(LayoutArena& arena, Count count, Count stride, const Layout& child) {
  if (count <= 0 || child.bytes == 0) return {};
  if (count == 1) return child;
  if (child.is_block()) {
    if (stride == child.block)
      return Layout::run(child.offset, child.block * count, 1, 0);
    return Layout::run(child.offset, child.block, count, stride);
  }
  if ((child.shape == Shape::kRun || child.shape == Shape::kLoop) &&
      steps_by(child, stride)) {
    Layout longer = child;
    longer.count *= count;
    longer.bytes *= count;
    return longer;
  }
  Layout loop;
  loop.shape = Shape::kLoop;
  loop.depth = child.depth + 1;
  loop.offset = child.offset;
  loop.bytes = child.bytes * count;
  loop.count = count;
  loop.stride = stride;
  Layout first = child;
  first.offset = 0;
  loop.children = arena.keep(first);
  return loop;
}

void ListBuilder::add_block(Count offset, Count bytes) {
  if (bytes == 0) return;
  if (!blocks_.empty() && blocks_.back().offset + blocks_.back().bytes == offset)
    blocks_.back().bytes += bytes;
  else
    blocks_.push_back({offset, bytes});
}

namespace {

// Would one more block of this run begin at `at`? Strides may be as long as half of the address space.
bool is_next(const Layout& run, Count at) noexcept {
  Count length = 0, end = 0;
  return !__builtin_mul_overflow(run.count, run.stride, &length) &&
         !__builtin_add_overflow(run.offset, length, &end) && end == at;
}

}  // namespace

void ListBuilder::add(Count displacement, const Layout& part) {
  if (part.bytes == 0) return;
  const Count at = displacement + part.offset;
  if (part.is_leaf() && part.count <= kDissolveBlocks) {
    for (Count i = 0; i < part.count; ++i) {
      switch (part.shape) {
        case Shape::kRun:
          add_block(at + i * part.stride, part.block);
          break;
        case Shape::kIndexed:
          add_block(at + part.offsets[i], part.block);
          break;
        default:
          add_block(at + part.blocks[i].offset, part.blocks[i].bytes);
          break;
      }
    }
    return;
  }
  flush_blocks();
  if (!parts_.empty() && part.shape == Shape::kRun) {
    Layout& last = parts_.back();
    if (last.shape == Shape::kRun && last.block == part.block &&
        last.stride == part.stride && is_next(last, at)) {
      last.count += part.count;
      last.bytes += part.bytes;
      return;
    }
  }
  parts_.push_back(moved(part, displacement));
}

void ListBuilder::flush_blocks() {
  if (blocks_.empty()) return;
  parts_.push_back(leaf_of(arena_, blocks_));
  blocks_.clear();
}

Layout ListBuilder::finish() {
  flush_blocks();
  if (parts_.empty()) return {};
  if (parts_.size() == 1) return parts_.front();
  const auto n = static_cast<Count>(parts_.size());
  const Count stride = parts_[1].offset - parts_[0].offset;
  bool regular = true;
  Layout list;
  std::vector<Count> prefix(parts_.size() + 1);
  for (size_t i = 0; i < parts_.size(); ++i) {
    prefix[i + 1] = prefix[i] + parts_[i].bytes;
    list.depth = std::max(list.depth, parts_[i].depth + 1);
    if (i > 0)
      regular = regular && same_but_offset(parts_[i], parts_[0]) &&
                parts_[i].offset - parts_[i - 1].offset == stride;
  }
  if (regular) return make_loop(arena_, n, stride, parts_.front());
  list.shape = Shape::kList;
  list.offset = parts_.front().offset;
  for (Layout& part : parts_) part.offset -= list.offset;
  list.bytes = prefix.back();
  list.count = n;
  list.prefix = arena_.keep(std::move(prefix));
  list.children = arena_.keep(std::move(parts_));
  return list;
}

Layout rows_of(const Layout& columns) noexcept {
  if (columns.shape != Shape::kLoop) return {};
  const Layout& column = *columns.children;
  if (column.shape != Shape::kRun || columns.stride != column.block ||
      column.offset != 0)
    return {};
  const Count row = columns.count * column.block;
  return column.stride == row
             ? Layout::run(columns.offset, columns.bytes, 1, 0)
             : Layout::run(columns.offset, row, column.count, column.stride);
}

}  // namespace mpc::dt
