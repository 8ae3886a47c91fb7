#include "runtime/datatype/cursor.h"

#include <algorithm>

namespace mpc::dt {
namespace {

// Merges like make_loop, but without an arena: the child is the type's own
// layout.
Layout repeated(const Layout& layout, Count count, Count extent) {
  if (count == 1) return layout;
  if (layout.is_block()) {
    if (extent == layout.block)
      return Layout::run(layout.offset, layout.block * count, 1, 0);
    return Layout::run(layout.offset, layout.block, count, extent);
  }
  Layout loop;
  loop.shape = Shape::kLoop;
  loop.depth = layout.depth + 1;
  loop.bytes = layout.bytes * count;
  loop.count = count;
  loop.stride = extent;
  loop.children = &layout;
  if (layout.shape == Shape::kRun || layout.shape == Shape::kLoop) {
    Count span;
    if (!__builtin_mul_overflow(layout.count, layout.stride, &span) && span == extent) {
      loop = layout;
      loop.count *= count;
      loop.bytes *= count;
    }
  }
  return loop;
}

// The entry of `prefix` (count + 1 ascending sums) that contains byte `skip`.
Count entry_of(const Count* prefix, Count count, Count skip) {
  return std::upper_bound(prefix + 1, prefix + count, skip) - prefix - 1;
}

}  // namespace

Cursor::Cursor(const void* base, const Layout& layout, Count count, Count extent,
               Count start)
    : base_(base) {
  if (count <= 0 || layout.bytes == 0 || start >= count * layout.bytes) return;
  outer_ = repeated(layout, count, extent);
  if (outer_.depth > kInlineDepth) {
    deep_ = std::make_unique<Frame[]>(outer_.depth);
    frames_ = deep_.get();
  }
  descend(&outer_, 0, start);
}

void Cursor::descend(const Layout* node, Count at, Count skip) noexcept {
  for (;;) {
    at += node->offset;
    if (node->is_leaf()) break;
    Count index = 0;
    const Layout* child = node->children;
    if (node->shape == Shape::kLoop) {
      if (skip != 0) {
        index = skip / child->bytes;
        skip -= index * child->bytes;
      }
      frames_[depth_++] = {node, index, at};
      at += index * node->stride;
    } else {
      if (skip != 0) {
        index = entry_of(node->prefix, node->count, skip);
        skip -= node->prefix[index];
      }
      frames_[depth_++] = {node, index, at};
      child += index;
    }
    node = child;
  }
  leaf_ = node;
  at_ = at;
  index_ = within_ = 0;
  if (skip != 0) locate(skip);
}

void Cursor::locate(Count skip) noexcept {
  if (leaf_->shape == Shape::kBlocks) {
    index_ = entry_of(leaf_->prefix, leaf_->count, skip);
    within_ = skip - leaf_->prefix[index_];
  } else {
    // NOLINTNEXTLINE(clang-analyzer-core.DivideZero): a layout with bytes has no empty leaf
    index_ = skip / leaf_->block;
    within_ = skip % leaf_->block;
  }
}

void Cursor::next_leaf() noexcept {
  while (depth_ > 0) {
    Frame& top = frames_[depth_ - 1];
    if (++top.index < top.node->count) {
      if (top.node->shape == Shape::kLoop)
        descend(top.node->children, top.at + top.index * top.node->stride, 0);
      else
        descend(top.node->children + top.index, top.at, 0);
      return;
    }
    --depth_;
  }
  leaf_ = nullptr;
}

}  // namespace mpc::dt
