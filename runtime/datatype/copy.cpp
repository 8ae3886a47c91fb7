// copy, pack, unpack: transfers between a layout and a stream of bytes, or between two layouts.

#include <algorithm>
#include <cstring>

#include "runtime/datatype/cursor.h"
#include "runtime/datatype/datatype.h"
#include "runtime/datatype/kernels.h"

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

// Moves up to `room` bytes between the cursor and the stream; returns the bytes moved.
template <class Direction>
size_t transfer(Cursor& at, char* stream, Count room) {
  const Count wanted = room;
  while (room > 0 && at.leaf() != nullptr) {
    if (at.within() == 0) {
      const Layout& leaf = *at.leaf();
      const Count iterations =
          leaf.count <= kFewBlocks ? std::min(at.iterations(), room / leaf.bytes) : 0;
      Count done;
      if (iterations > 1) {
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

// The same bytes as a run of longer blocks, in another order: columns of a matrix, next to each
// other, are its rows. Empty if the layout is not like that.
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

// Both sides have the same matrix in columns: the order of the bytes is free, because none is
// written twice, and in rows they are a few long blocks.
bool copy_rows(void* dst, const Datatype& dst_type, const void* src,
               const Datatype& src_type, Count count) {
  if (!are_same_columns(dst_type.layout(), src_type.layout())) return false;
  const Layout to_rows = rows_of(dst_type.layout());
  const Layout from_rows = rows_of(src_type.layout());
  if (to_rows.bytes == 0 || from_rows.bytes == 0) return false;
  Cursor to(dst, to_rows, count, dst_type.extent(), 0);
  Cursor from(src, from_rows, count, src_type.extent(), 0);
  move(to, from, to_rows.bytes * count);
  return true;
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

size_t copy(void* dst, const Datatype& dst_type, Count dst_count, const void* src,
            const Datatype& src_type, Count src_count) noexcept {
  if (dst_count <= 0 || src_count <= 0) return 0;
  const Count dst_bytes = dst_type.size() * dst_count;
  const Count src_bytes = src_type.size() * src_count;
  if (src_type.is_contiguous())
    return unpack(dst, dst_type, dst_count, 0, src, static_cast<size_t>(src_bytes));
  if (dst_type.is_contiguous())
    return pack(src, src_type, src_count, 0, dst, static_cast<size_t>(dst_bytes));
  const Count total = std::min(dst_bytes, src_bytes);
  if (dst_count == src_count && copy_rows(dst, dst_type, src, src_type, src_count))
    return static_cast<size_t>(total);
  Cursor to(dst, dst_type.layout(), dst_count, dst_type.extent(), 0);
  Cursor from(src, src_type.layout(), src_count, src_type.extent(), 0);
  move(to, from, total);
  return static_cast<size_t>(total);
}

}  // namespace mpc::dt
