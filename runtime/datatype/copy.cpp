// copy, pack, unpack: transfers between a layout and a stream of bytes, or between two layouts.

#include <algorithm>
#include <cstring>

#include "runtime/datatype/cursor.h"
#include "runtime/datatype/datatype.h"
#include "runtime/datatype/kernels.h"
#include "runtime/datatype/layout_copy.h"
#include "runtime/datatype/transpose.h"

namespace mpc::dt {
namespace {

using kernel::Indexed;
using kernel::move_blocks;
using kernel::move_one;
using kernel::Strided;

// The direction of a transfer between a layout ("user" side) and a stream of packed
// bytes.
struct Pack {
  static void bytes(char* user, char* stream, size_t n) {
    std::memcpy(stream, user, n);
  }
  static void block(char* user, char* stream, size_t n) { move_one(stream, user, n); }
  template <class User>
  static void blocks(User user, Strided stream, Count block, Count n) {
    move_blocks(stream, user, block, n);
  }
  static void columns(const kernel::Columns& columns, char* user, char* stream) {
    kernel::pack_columns(columns, user, stream);
  }
};
struct Unpack {
  static void bytes(char* user, char* stream, size_t n) {
    std::memcpy(user, stream, n);
  }
  static void block(char* user, char* stream, size_t n) { move_one(user, stream, n); }
  template <class User>
  static void blocks(User user, Strided stream, Count block, Count n) {
    move_blocks(user, stream, block, n);
  }
  static void columns(const kernel::Columns& columns, char* user, char* stream) {
    kernel::unpack_columns(columns, user, stream);
  }
};

// A leaf of few blocks inside a loop is moved block by block for many iterations at
// once: block k of every iteration is again a strided run of one block size.
constexpr Count kFewBlocks = 16;
constexpr Count kChunkIterations =
    64;  // keeps the touched lines in the first-level cache

template <class Direction>
void move_iterations(const Cursor& at, char* stream, Count iterations) {
  const Layout& leaf = *at.leaf();
  const Count stride = at.loop_stride();
  for (Count first = 0; first < iterations; first += kChunkIterations) {
    const Count n = std::min(kChunkIterations, iterations - first);
    char* packed = address(stream, first * leaf.bytes);
    for (Count k = 0; k < leaf.count; ++k) {
      const Count bytes =
          leaf.shape == Shape::kBlocks ? leaf.blocks[k].bytes : leaf.block;
      Direction::blocks(Strided{address(at.block_address(k), first * stride), stride},
                        Strided{packed, leaf.bytes}, bytes, n);
      packed += bytes;
    }
  }
}

// Moves as many whole blocks of the cursor's leaf as fit into `room`; returns the
// bytes.
template <class Direction>
Count move_leaf(Cursor& at, char* stream, Count room) {
  const Layout& leaf = *at.leaf();
  const Count first = at.index();
  if (leaf.shape == Shape::kBlocks) {
    Count last = first, done = 0;
    while (last < leaf.count && leaf.blocks[last].bytes <= room - done) {
      const Count bytes = leaf.blocks[last].bytes;
      Direction::block(at.block_address(last), stream + done,
                       static_cast<size_t>(bytes));
      done += bytes;
      ++last;
    }
    if (last != first) at.pass_blocks(last - first);
    return done;
  }
  const Count n = std::min(leaf.count - first, room / leaf.block);
  if (n == 0) return 0;
  const Strided packed{stream, leaf.block};
  if (leaf.shape == Shape::kRun)
    Direction::blocks(Strided{at.block_address(first), leaf.stride}, packed, leaf.block,
                      n);
  else
    Direction::blocks(
        Indexed{at.block_address(0) - leaf.offsets[0], leaf.offsets + first}, packed,
        leaf.block, n);
  at.pass_blocks(n);
  return n * leaf.block;
}

// Columns of a matrix, next to each other: their lines are shared by several columns, so tiles of
// the matrix are moved. Returns the bytes; 0 if the cursor is not at the start of such columns.
template <class Direction>
Count move_columns(Cursor& at, char* stream, Count room) {
  const Layout& leaf = *at.leaf();
  if (leaf.count <= kFewBlocks || leaf.shape != Shape::kRun ||
      !kernel::has_tiles(leaf.block))
    return 0;
  const Count columns = at.iterations();
  if (columns <= 1 || at.loop_stride() != leaf.block || room < 2 * leaf.bytes) return 0;
  const Count n = std::min(columns, room / leaf.bytes);
  Direction::columns({leaf.count, n, leaf.block, leaf.stride}, at.block_address(0),
                     stream);
  at.pass_iterations(n);
  return n * leaf.bytes;
}

// Moves up to `room` bytes between the cursor and the stream; returns the bytes moved.
template <class Direction>
size_t transfer(Cursor& at, char* stream, Count room) {
  const Count wanted = room;
  while (room > 0 && at.leaf() != nullptr) {
    if (at.within() == 0) {
      const Layout& leaf = *at.leaf();
      const Count iterations =
          leaf.count <= kFewBlocks ? std::min(at.iterations(), room / leaf.bytes) : 0;
      Count done = move_columns<Direction>(at, stream, room);
      if (done != 0) {
        // moved
      } else if (iterations > 1) {
        move_iterations<Direction>(at, stream, iterations);
        done = iterations * leaf.bytes;
        at.pass_iterations(iterations);
      } else {
        done = move_leaf<Direction>(at, stream, room);
      }
      stream += done;
      room -= done;
      if (done != 0) continue;
    }
    const Count part = std::min(at.contiguous_bytes(), room);  // a piece of a block
    Direction::bytes(at.position(), stream, static_cast<size_t>(part));
    at.pass_bytes(part);
    stream += part;
    room -= part;
  }
  return static_cast<size_t>(wanted - room);
}

template <class Direction>
size_t transfer(const void* user, const Datatype& type, Count count, size_t offset,
                const void* stream, size_t stream_bytes) {
  const auto total = static_cast<size_t>(type.size() * count);
  if (count <= 0 || offset >= total || stream_bytes == 0) return 0;
  const size_t n = std::min(stream_bytes, total - offset);
  auto* packed = static_cast<char*>(const_cast<void*>(stream));
  if (type.is_contiguous()) {
    Direction::bytes(address(user, static_cast<Count>(offset)), packed, n);
    return n;
  }
  Cursor at(user, type.layout(), count, type.extent(), static_cast<Count>(offset));
  return transfer<Direction>(at, packed, static_cast<Count>(n));
}

// If both leaves are at the start of blocks of the same size: moves as many blocks as both
// have.
Count move_equal_blocks(Cursor& to, Cursor& from, Count room) {
  const Layout &t = *to.leaf(), &f = *from.leaf();
  if (to.within() != 0 || from.within() != 0 || t.shape != Shape::kRun ||
      f.shape != Shape::kRun || t.block != f.block)
    return 0;
  const Count n =
      std::min({t.count - to.index(), f.count - from.index(), room / t.block});
  if (n == 0) return 0;
  move_blocks(Strided{to.block_address(to.index()), t.stride},
              Strided{from.block_address(from.index()), f.stride}, t.block, n);
  to.pass_blocks(n);
  from.pass_blocks(n);
  return n * t.block;
}

// For short blocks on both sides, of different sizes: through a buffer in the first-level cache, so
// that each side has its tight loops.
constexpr Count kShortBlock = 128;
constexpr Count kBufferBytes = 2048;

Count move_short_blocks(Cursor& to, Cursor& from, Count room) {
  char buffer[kBufferBytes];
  const Count n = std::min(room, kBufferBytes);
  transfer<Pack>(from, buffer, n);
  transfer<Unpack>(to, buffer, n);
  return n;
}

// Moves one stretch: the side whose current block is longer acts as the stream.
Count move_stretch(Cursor& to, Cursor& from, Count room) {
  if (const Count done = move_equal_blocks(to, from, room)) return done;
  const Count to_bytes = std::min(to.contiguous_bytes(), room);
  const Count from_bytes = std::min(from.contiguous_bytes(), room);
  if (std::max(to_bytes, from_bytes) < std::min(kShortBlock, room))
    return move_short_blocks(to, from, room);
  if (to_bytes >= from_bytes) {
    transfer<Pack>(from, to.position(), to_bytes);
    to.pass_bytes(to_bytes);
    return to_bytes;
  }
  transfer<Unpack>(to, from.position(), from_bytes);
  from.pass_bytes(from_bytes);
  return from_bytes;
}

bool are_same_columns(const Layout& a, const Layout& b) noexcept {
  return a.shape == Shape::kLoop && b.shape == Shape::kLoop && a.count == b.count &&
         a.stride == b.stride && a.children->shape == Shape::kRun &&
         b.children->shape == Shape::kRun && a.children->count == b.children->count &&
         a.children->block == b.children->block &&
         a.children->stride == b.children->stride;
}

void move(Cursor& to, Cursor& from, Count total) {
  for (Count done = 0; done < total;) done += move_stretch(to, from, total - done);
}

}  // namespace

size_t pack(const void* src, const Datatype& type, Count count, size_t offset,
            void* out, size_t out_bytes) noexcept {
  return transfer<Pack>(src, type, count, offset, out, out_bytes);
}

size_t unpack(void* dst, const Datatype& type, Count count, size_t offset,
              const void* in, size_t in_bytes) noexcept {
  return transfer<Unpack>(dst, type, count, offset, in, in_bytes);
}

LayoutCopy::Side::Side(const void* at, const Datatype& type, Count n) noexcept
    : buffer(at),
      layout(&type.layout()),
      count(n),
      extent(type.extent()),
      bytes(n > 0 ? type.size() * n : 0),
      is_plain(type.is_contiguous()) {}

void LayoutCopy::Side::take_rows(const Layout& rows) noexcept {
  layout = &rows;
  is_plain = rows.is_block() && (count == 1 || extent == rows.block);
  if (is_plain) buffer = address(buffer, rows.offset);
}

// If both sides have the same matrix in columns, the order of the bytes is free, because none is
// written twice, and in rows they are a few long blocks.
LayoutCopy::LayoutCopy(void* dst, const Datatype& dst_type, Count dst_count,
                       const void* src, const Datatype& src_type,
                       Count src_count) noexcept
    : to_(dst, dst_type, dst_count), from_(src, src_type, src_count) {
  if (to_.is_plain || from_.is_plain || dst_count != src_count ||
      !are_same_columns(*to_.layout, *from_.layout))
    return;
  to_rows_ = rows_of(*to_.layout);
  from_rows_ = rows_of(*from_.layout);
  if (to_rows_.bytes == 0 || from_rows_.bytes == 0) return;
  to_.take_rows(to_rows_);
  from_.take_rows(from_rows_);
}

void LayoutCopy::run(Count offset, Count n) const noexcept {
  if (n <= 0) return;
  if (from_.is_plain) {
    const char* const from = address(from_.buffer, offset);
    if (to_.is_plain) {
      std::memcpy(address(to_.buffer, offset), from, static_cast<size_t>(n));
      return;
    }
    Cursor to(to_.buffer, *to_.layout, to_.count, to_.extent, offset);
    transfer<Unpack>(to, const_cast<char*>(from), n);
    return;
  }
  Cursor from(from_.buffer, *from_.layout, from_.count, from_.extent, offset);
  if (to_.is_plain) {
    transfer<Pack>(from, address(to_.buffer, offset), n);
    return;
  }
  Cursor to(to_.buffer, *to_.layout, to_.count, to_.extent, offset);
  move(to, from, n);
}

LayoutCopy::Parts LayoutCopy::parts(Count about) const noexcept {
  about = std::max(about / kernel::kMatrixLine, Count{1}) * kernel::kMatrixLine;
  for (const Side* side : {&to_, &from_}) {
    if (side->is_plain || side->count < 1) continue;
    // As in transfer(): columns are the iterations of a loop, or the elements themselves.
    const Layout& all = *side->layout;
    const bool is_loop = all.shape == Shape::kLoop;
    const Layout& column = is_loop ? *all.children : all;
    if (column.shape != Shape::kRun || column.count <= kFewBlocks ||
        (is_loop ? all.stride : side->extent) != column.block ||
        !kernel::has_tiles(column.block))
      continue;
    const Count offset = is_loop ? all.offset + column.offset : column.offset;
    const Count wide = kernel::columns_in_a_line(column.block);
    const Count first =
        kernel::columns_to_line(address(side->buffer, offset), column.block);
    const Count group = wide * column.bytes;
    const Count step = std::max(about / group, Count{1}) * group;
    return {step - (wide - first) % wide * column.bytes, step};
  }
  return {about, about};
}

size_t copy(void* dst, const Datatype& dst_type, Count dst_count, const void* src,
            const Datatype& src_type, Count src_count) noexcept {
  if (dst_count <= 0 || src_count <= 0) return 0;
  const LayoutCopy copy(dst, dst_type, dst_count, src, src_type, src_count);
  copy.run(0, copy.bytes());
  return static_cast<size_t>(copy.bytes());
}

}  // namespace mpc::dt
