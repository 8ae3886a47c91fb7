#pragma once
// Layout: where the bytes of one datatype lie, normalised into as few tight loops as possible.
//
// Role:      copy, pack and unpack walk over it; the constructors build it once.
// Users:     runtime/datatype only.
// Threads:   immutable once built.
// See also:  runtime/datatype/cursor.h (walking), layout.cpp (building and merging).
//
// The order of the bytes is the order of MPI's type map. Leaves hold bytes, inner nodes repeat:
//
//   kRun      block ... block ... block        `count` blocks of `block` bytes, `stride` apart
//   kIndexed  block at each of offsets[count]   blocks of one size
//   kBlocks   blocks[count]                     blocks of any size
//   kLoop     child, child, ... `stride` apart, `count` times
//   kList     children[count], each with its own offset
//
// The offset of a layout is where its first byte lies, and what is inside counts from there: no
// offset and no sum of them is beyond the bounds of the data, which are known to fit. (A list with
// an offset of its own would allow two that cancel, and a third that makes the sum overflow.)
// Offsets are 64-bit and may be negative or absolute addresses (MPI_BOTTOM); every address is
// computed by integer arithmetic, so that a null base is no special case.

#include <cstdint>
#include <forward_list>
#include <memory>
#include <vector>

namespace mpc::dt {

using Count = int64_t;

struct Block {
  Count offset;
  Count bytes;
};

enum class Shape : uint8_t { kEmpty, kRun, kIndexed, kBlocks, kLoop, kList };

struct Layout {
  Shape shape = Shape::kEmpty;
  uint32_t depth = 0;  // inner nodes on the longest way down
  Count offset = 0;  // of the whole, relative to the buffer or to the parent's position
  Count bytes = 0;   // of data in the whole
  Count count = 0;   // blocks, iterations or entries
  Count block = 0;   // kRun, kIndexed: bytes of each block
  Count stride = 0;  // kRun, kLoop: bytes between starts
  union {
    const Count* offsets = nullptr;  // kIndexed, relative to `offset`
    const Block* blocks;             // kBlocks, likewise
    const Layout* children;          // kLoop: one; kList: `count`
  };
  const Count* prefix =
      nullptr;  // kBlocks, kList: data bytes before entry i, count + 1 of them

  bool is_leaf() const noexcept { return shape <= Shape::kBlocks; }
  // One block without gaps.
  bool is_block() const noexcept { return shape == Shape::kRun && count == 1; }

  static constexpr Layout run(Count offset, Count block, Count count, Count stride) {
    Layout l;
    if (block == 0 || count == 0) return l;
    l.shape = Shape::kRun;
    l.offset = offset;
    l.bytes = block * count;
    l.count = count;
    l.block = block;
    l.stride = stride;
    return l;
  }
};

// Owns the arrays and inner nodes that Layouts point to.
class LayoutArena {
 public:
  const Layout* keep(const Layout& layout) { return &nodes_.emplace_front(layout); }
  const Layout* keep(std::vector<Layout> list) {
    return lists_.emplace_front(std::move(list)).data();
  }
  const Count* keep(std::vector<Count> values) {
    return counts_.emplace_front(std::move(values)).data();
  }
  const Block* keep(std::vector<Block> blocks) {
    return blocks_.emplace_front(std::move(blocks)).data();
  }

 private:
  // Not std::deque, which takes half a KiB before it contains anything.
  std::forward_list<Layout> nodes_;
  std::forward_list<std::vector<Layout>> lists_;
  std::forward_list<std::vector<Count>> counts_;
  std::forward_list<std::vector<Block>> blocks_;
};

// `count` copies of `child`, `stride` bytes apart. `child` must outlive the result unless it
// is a leaf; its own `offset` is honoured.
Layout make_loop(LayoutArena& arena, Count count, Count stride, const Layout& child);

// Columns of a matrix that lie next to each other are its rows: the same bytes as a run of longer
// blocks, in another order. Empty if the layout is not like that.
Layout rows_of(const Layout& columns) noexcept;

// Collects parts in type map order and merges those that touch.
class ListBuilder {
 public:
  explicit ListBuilder(LayoutArena& arena) : arena_(arena) {}
  void add_block(Count offset, Count bytes);
  void add(Count displacement, const Layout& part);
  Layout finish();

 private:
  void flush_blocks();
  LayoutArena& arena_;
  std::vector<Block> blocks_;  // touching blocks already merged, not yet in parts_
  std::vector<Layout> parts_;
};

}  // namespace mpc::dt
