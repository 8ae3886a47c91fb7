#pragma once
// Cursor: walks the leaves of `count` layouts, starting at any byte offset of the packed
// form.
//
// Role:      the one iteration on which pack, unpack and copy are built.
// Users:     runtime/datatype/copy.cpp; mpi/fortran/section.cpp.
// Threads:   a value on its user's stack.
// See also:  layout.h.
//
// State: a stack of inner nodes above one leaf, and the position within the leaf:
//
//   frames_: [loop, iteration i] [list, entry k]   leaf(): run/indexed/blocks
//                                                  index(): which block
//                                                  within(): bytes of it already passed

#include <cstdint>
#include <memory>

#include "runtime/datatype/layout.h"

namespace mpc::dt {

inline char* address(const void* base, Count offset) noexcept {
  return reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(base) +
                                 static_cast<uintptr_t>(offset));
}

class Cursor {
 public:
  // `layout` must outlive the cursor. start <= count * layout.bytes.
  Cursor(const void* base, const Layout& layout, Count count, Count extent,
         Count start);
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;

  const Layout* leaf() const noexcept { return leaf_; }  // null at the end
  Count index() const noexcept { return index_; }
  Count within() const noexcept { return within_; }

  Count block_bytes() const noexcept {  // of the current block, from its start
    return leaf_->shape == Shape::kBlocks ? leaf_->blocks[index_].bytes : leaf_->block;
  }
  char* block_address(Count i) const noexcept {
    switch (leaf_->shape) {
      case Shape::kRun:
        return address(base_, at_ + i * leaf_->stride);
      case Shape::kIndexed:
        return address(base_, at_ + leaf_->offsets[i]);
      default:
        return address(base_, at_ + leaf_->blocks[i].offset);
    }
  }
  // Where the next byte lies, and how many bytes follow it without a gap.
  char* position() const noexcept { return block_address(index_) + within_; }
  Count contiguous_bytes() const noexcept { return block_bytes() - within_; }

  // Passes bytes of the current block; at its end, moves to the next block or leaf.
  void pass_bytes(Count bytes) noexcept {
    within_ += bytes;
    if (within_ == block_bytes()) {
      within_ = 0;
      pass_blocks(1);
    }
  }
  // Passes whole blocks of this leaf; within() must be 0.
  void pass_blocks(Count blocks) noexcept {
    index_ += blocks;
    if (index_ == leaf_->count) next_leaf();
  }

  // If the leaf is the child of a loop and untouched: the remaining iterations, this one
  // included. Otherwise 1 if it is untouched, 0 if not.
  Count iterations() const noexcept {
    if (index_ != 0 || within_ != 0) return 0;
    if (depth_ == 0 || frames_[depth_ - 1].node->shape != Shape::kLoop) return 1;
    return frames_[depth_ - 1].node->count - frames_[depth_ - 1].index;
  }
  Count loop_stride() const noexcept { return frames_[depth_ - 1].node->stride; }
  void pass_iterations(Count n) noexcept {
    frames_[depth_ - 1].index += n - 1;
    next_leaf();
  }

 private:
  struct Frame {
    const Layout* node;
    Count index;
    Count at;
  };
  static constexpr uint32_t kInlineDepth = 8;

  void descend(const Layout* node, Count at, Count skip) noexcept;
  void locate(Count skip) noexcept;
  void next_leaf() noexcept;

  const void* base_;
  const Layout* leaf_ = nullptr;
  Count at_ = 0;  // of the leaf, relative to base_
  Count index_ = 0;
  Count within_ = 0;
  uint32_t depth_ = 0;
  Frame* frames_ = inline_;
  Layout outer_;  // the user's count
  Frame inline_[kInlineDepth];
  std::unique_ptr<Frame[]> deep_;
};

}  // namespace mpc::dt
