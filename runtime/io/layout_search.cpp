#include "runtime/io/layout_search.h"

#include <algorithm>
#include <span>

namespace mpc::io {
namespace {

using dt::Layout;
using dt::Shape;

std::span<const Layout> parts_of(const Layout& list) noexcept {
  return {list.children, static_cast<size_t>(list.count)};
}

// Bytes of data before `at`, if `done` bytes lie before the block that begins at `start`.
Count with_block(Count done, Count start, Count block, Count at) noexcept {
  return done + std::clamp<Count>(at - start, 0, block);
}

bool indexed_goes_up(const Layout& l) noexcept {
  for (Count i = 1; i < l.count; ++i)
    if (l.offsets[i] < l.offsets[i - 1] + l.block) return false;
  return true;
}
bool blocks_go_up(const Layout& l) noexcept {
  for (Count i = 1; i < l.count; ++i)
    if (l.blocks[i].offset < l.blocks[i - 1].offset + l.blocks[i - 1].bytes)
      return false;
  return true;
}
bool list_goes_up(const Layout& l) noexcept {
  for (Count i = 0; i < l.count; ++i) {
    if (!only_goes_up(l.children[i])) return false;
    if (i > 0 && first_offset(l.children[i]) < end_offset(l.children[i - 1]))
      return false;
  }
  return true;
}

}  // namespace

Count first_offset(const Layout& l) noexcept {
  switch (l.shape) {
    case Shape::kIndexed:
      return l.offset + l.offsets[0];
    case Shape::kBlocks:
      return l.offset + l.blocks[0].offset;
    case Shape::kLoop:
    case Shape::kList:
      return l.offset + first_offset(l.children[0]);
    case Shape::kEmpty:
    case Shape::kRun:
      break;
  }
  return l.offset;
}

Count end_offset(const Layout& l) noexcept {
  switch (l.shape) {
    case Shape::kRun:
      return l.offset + (l.count - 1) * l.stride + l.block;
    case Shape::kIndexed:
      return l.offset + l.offsets[l.count - 1] + l.block;
    case Shape::kBlocks:
      return l.offset + l.blocks[l.count - 1].offset + l.blocks[l.count - 1].bytes;
    case Shape::kLoop:
      return l.offset + (l.count - 1) * l.stride + end_offset(*l.children);
    case Shape::kList:
      return l.offset + end_offset(l.children[l.count - 1]);
    case Shape::kEmpty:
      break;
  }
  return l.offset;
}

bool only_goes_up(const Layout& l) noexcept {
  switch (l.shape) {
    case Shape::kEmpty:
      return true;
    case Shape::kRun:
      return l.count == 1 || l.stride >= l.block;
    case Shape::kIndexed:
      return indexed_goes_up(l);
    case Shape::kBlocks:
      return blocks_go_up(l);
    case Shape::kLoop:
      return only_goes_up(*l.children) &&
             l.stride >= end_offset(*l.children) - first_offset(*l.children);
    case Shape::kList:
      return list_goes_up(l);
  }
  return false;
}

Count bytes_before(const Layout& l, Count at) noexcept {
  at -= l.offset;
  switch (l.shape) {
    case Shape::kEmpty:
      return 0;
    case Shape::kRun: {
      if (at <= 0) return 0;
      const Count i = l.count == 1 ? 0 : std::min(at / l.stride, l.count - 1);
      return with_block(i * l.block, i * l.stride, l.block, at);
    }
    case Shape::kIndexed: {
      const Count i = std::lower_bound(l.offsets, l.offsets + l.count, at) - l.offsets;
      return i == 0 ? 0 : with_block((i - 1) * l.block, l.offsets[i - 1], l.block, at);
    }
    case Shape::kBlocks: {
      const Count i =
          std::partition_point(l.blocks, l.blocks + l.count,
                               [&](const dt::Block& b) { return b.offset < at; }) -
          l.blocks;
      if (i == 0) return 0;
      const dt::Block& block = l.blocks[i - 1];
      return with_block(l.prefix[i - 1], block.offset, block.bytes, at);
    }
    case Shape::kLoop: {
      const Layout& child = *l.children;
      const Count beyond = at - first_offset(child);
      if (beyond <= 0) return 0;
      const Count i = l.count == 1 ? 0 : std::min(beyond / l.stride, l.count - 1);
      return i * child.bytes + bytes_before(child, at - i * l.stride);
    }
    case Shape::kList: {
      const auto parts = parts_of(l);
      const auto i = std::ranges::partition_point(
                         parts, [&](const Layout& p) { return first_offset(p) < at; }) -
                     parts.begin();
      if (i == 0) return 0;
      return l.prefix[i - 1] + bytes_before(parts[static_cast<size_t>(i - 1)], at);
    }
  }
  return 0;
}

Count block_count(const Layout& l) noexcept {
  switch (l.shape) {
    case Shape::kEmpty:
      return 0;
    case Shape::kRun:
    case Shape::kIndexed:
    case Shape::kBlocks:
      return l.count;
    case Shape::kLoop:
      return l.count * block_count(*l.children);
    case Shape::kList: {
      Count blocks = 0;
      for (const Layout& part : parts_of(l)) blocks += block_count(part);
      return blocks;
    }
  }
  return 0;
}

}  // namespace mpc::io
