#pragma once
// Transpose: moves columns of a matrix to or from packed columns, tile by tile.
//
// Role:      a column alone uses a few bytes of each line that it touches, and a matrix with rows of
//            a power of two has all lines of a column in a few sets of the cache. A tile of some
//            rows and a line's columns uses the whole of each line while it is there.
// Users:     runtime/datatype/copy.cpp.
// Threads:   pure.
// See also:  docs/design/0036-scattered-layouts.md (matrices), tests/unit/datatype/copy_test.cpp.
//
//   user     row r begins at user + r * stride; column c of it c blocks further on
//   stream   column c begins at stream + c * rows * block; its rows follow each other without gaps

#include <emmintrin.h>

#include <algorithm>
#include <cstring>

#include "base/prefetch.h"
#include "runtime/datatype/cursor.h"

namespace mpc::dt::kernel {

struct Columns {
  Count rows, columns;
  Count block;   // bytes of an element; has_tiles()
  Count stride;  // bytes between rows, in the user's matrix
};

inline constexpr Count kMatrixLine = 64;

// Sizes with a kernel.
constexpr bool has_tiles(Count block) noexcept {
  return block == 4 || block == 8 || block == 12 || block == 16 || block == 24 ||
         block == 32;
}
constexpr Count columns_in_a_line(Count block) noexcept {
  return std::max(kMatrixLine / block, Count{1});
}
// Columns until the next line of the user's first row begins; not 0.
inline Count columns_to_line(const void* user, Count block) noexcept {
  const auto left =
      static_cast<Count>(-reinterpret_cast<uintptr_t>(user) % kMatrixLine);
  return left < block ? columns_in_a_line(block) : left / block;
}

// One side of a tile: line i begins at base + i * stride, and holds blocks without gaps.
struct TileSide {
  char* base;
  Count stride;
  char* line(Count i) const noexcept { return address(base, i * stride); }
};

// Block j of line i of `to` becomes block i of line j of `from`, for `is` lines of `js` blocks.
template <Count kBlock>
[[gnu::always_inline]] inline void transpose_blocks(TileSide to, TileSide from,
                                                    Count i0, Count is, Count j0,
                                                    Count js) noexcept {
  for (Count i = i0; i < is; ++i)
    for (Count j = j0; j < js; ++j)
      std::memcpy(to.line(i) + j * kBlock, from.line(j) + i * kBlock, kBlock);
}

inline __m128i load(const char* at) noexcept {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
}
inline void store(char* at, __m128i value) noexcept {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(at), value);
}

template <Count kBlock>
[[gnu::always_inline]] inline void transpose(TileSide to, TileSide from, Count is,
                                             Count js) noexcept {
  Count i = 0;
  if constexpr (kBlock == 8) {
    for (; i + 2 <= is; i += 2) {
      Count j = 0;
      for (; j + 2 <= js; j += 2) {
        const __m128i a = load(from.line(j) + i * 8),
                      b = load(from.line(j + 1) + i * 8);
        store(to.line(i) + j * 8, _mm_unpacklo_epi64(a, b));
        store(to.line(i + 1) + j * 8, _mm_unpackhi_epi64(a, b));
      }
      transpose_blocks<8>(to, from, i, i + 2, j, js);
    }
  } else if constexpr (kBlock == 4) {
    for (; i + 4 <= is; i += 4) {
      Count j = 0;
      for (; j + 4 <= js; j += 4) {
        const __m128i a = load(from.line(j) + i * 4),
                      b = load(from.line(j + 1) + i * 4),
                      c = load(from.line(j + 2) + i * 4),
                      d = load(from.line(j + 3) + i * 4);
        const __m128i ab = _mm_unpacklo_epi32(a, b), cd = _mm_unpacklo_epi32(c, d),
                      ab2 = _mm_unpackhi_epi32(a, b), cd2 = _mm_unpackhi_epi32(c, d);
        store(to.line(i) + j * 4, _mm_unpacklo_epi64(ab, cd));
        store(to.line(i + 1) + j * 4, _mm_unpackhi_epi64(ab, cd));
        store(to.line(i + 2) + j * 4, _mm_unpacklo_epi64(ab2, cd2));
        store(to.line(i + 3) + j * 4, _mm_unpackhi_epi64(ab2, cd2));
      }
      transpose_blocks<4>(to, from, i, i + 4, j, js);
    }
  }
  transpose_blocks<kBlock>(to, from, i, is, 0, js);
}

// The user's lines of the tile after the next are requested: no prefetcher knows where they are.
template <bool kPacks>
void prefetch_rows(TileSide user, Count first, Count end) noexcept {
  for (Count row = first; row < end; ++row) {
    if constexpr (kPacks)
      __builtin_prefetch(user.line(row));
    else
      prefetch_for_write(user.line(row));
  }
}

template <Count kBlock, bool kPacks>
void move_tiles(const Columns& of, char* user, char* stream) noexcept {
  constexpr Count kWide = columns_in_a_line(kBlock);
  constexpr Count kHigh = std::clamp<Count>(kMatrixLine / kBlock, 4, 16);
  const Count column = of.rows * kBlock;
  Count n = columns_to_line(user, kBlock);
  for (Count c = 0; c < of.columns; c += n, n = kWide) {
    n = std::min(n, of.columns - c);
    const TileSide matrix{user + c * kBlock, of.stride};
    char* const packed = stream + c * column;
    for (Count row = 0; row < of.rows; row += kHigh) {
      const Count high = std::min(kHigh, of.rows - row);
      prefetch_rows<kPacks>(matrix, row + 2 * kHigh,
                            std::min(row + 3 * kHigh, of.rows));
      const TileSide rows{matrix.line(row), of.stride};
      const TileSide columns{packed + row * kBlock, column};
      // Constants for the usual tile, so that its loops are unrolled.
      if (n == kWide && high == kHigh) {
        kPacks ? transpose<kBlock>(columns, rows, kWide, kHigh)
               : transpose<kBlock>(rows, columns, kHigh, kWide);
      } else {
        kPacks ? transpose<kBlock>(columns, rows, n, high)
               : transpose<kBlock>(rows, columns, high, n);
      }
    }
  }
}

template <bool kPacks>
void move_columns(const Columns& of, char* user, char* stream) noexcept {
  switch (of.block) {
    case 4:
      return move_tiles<4, kPacks>(of, user, stream);
    case 8:
      return move_tiles<8, kPacks>(of, user, stream);
    case 12:
      return move_tiles<12, kPacks>(of, user, stream);
    case 16:
      return move_tiles<16, kPacks>(of, user, stream);
    case 24:
      return move_tiles<24, kPacks>(of, user, stream);
    default:
      return move_tiles<32, kPacks>(of, user, stream);
  }
}

inline void pack_columns(const Columns& of, char* user, char* stream) noexcept {
  move_columns<true>(of, user, stream);
}
inline void unpack_columns(const Columns& of, char* user, char* stream) noexcept {
  move_columns<false>(of, user, stream);
}

}  // namespace mpc::dt::kernel
