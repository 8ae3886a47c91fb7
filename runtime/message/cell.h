#pragma once
// Cell: a quarter of a cache line of a mailbox's ring, and how messages are stored in cells.
//
// Role:      a message of up to 8 bytes with an envelope of small numbers is one cell: four such
//            messages share a line, and the cost of a burst of messages is the lines that change
//            hands. Any other message begins with a cell that holds its envelope; cells of payload
//            follow.
// Users:     runtime/message.
// Threads:   a cell belongs to the sender that has claimed it, until its first word is published.
// See also:  docs/design/0003-mailbox.md, docs/design/0041-small-windows.md; runtime/message/mailbox.h.
//
//   first word, from the lowest bit    sequence 16   kind 4   then
//     compact (kind = its bytes, 0..8)               context 14   source 14   tag 16;   payload: the data
//     others                                         bytes 10  left out 2   context 32; payload: source, tag
//   cell of payload, or left out       its position 16, then 14 bytes
//
// The sequence of a first cell is its position + 1. The others have their position there: as the ring's
// length divides 2^16, that is never what a reader expects at this place, in no lap. Such a message
// leaves out the rest of its last line, so that the next one takes as few lines as it can.

#include <emmintrin.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

#include "runtime/message/request.h"
#include "runtime/message/small_copy.h"
#include "scheduler/annotate.h"

namespace mpc::msg {

inline constexpr size_t kCellBytes = 16;
inline constexpr uint64_t kCellsPerLine = 64 / kCellBytes;
inline constexpr uint64_t kCells = 256;  // 4 KiB a rank
inline constexpr size_t kPieceBytes =
    kCellBytes - sizeof(uint16_t);  // of payload in a cell
inline constexpr size_t kCompactBytes = 8;
inline constexpr size_t kInlineBytes = 20 * kPieceBytes;
static_assert((1u << 16) % kCells == 0 && kInlineBytes < 1u << 10);

enum class CellKind : uint8_t {
  kInline = kCompactBytes + 1,  // those before it: compact
  kBlock,
  kRendezvous,
};

struct alignas(kCellBytes) Cell {
  std::atomic<uint64_t> word;
  char payload[sizeof(uint64_t)];
};
struct alignas(kCellBytes) PieceCell {
  uint16_t position;
  char payload[kPieceBytes];
};
static_assert(sizeof(Cell) == kCellBytes && sizeof(PieceCell) == kCellBytes);

constexpr uint16_t sequence_of(uint64_t position) noexcept {
  return static_cast<uint16_t>(position + 1);
}
// The word of a cell for one who does not hold the mailbox's lock: a hint. Meanwhile others may have
// emptied the ring and filled it again, and write a piece there, by stores that are not atomic and of
// other sizes. Here (x86) the load then has some mixture of both values; the function exists so that
// ThreadSanitizer, which would call this a race, does not see it.
MPC_UNSEEN_BY_TSAN inline uint64_t word_as_hint(const Cell& cell) noexcept {
  return *reinterpret_cast<const volatile uint64_t*>(&cell.word);
}
// Has the message that begins at this position been published, if `word` is that of its cell?
constexpr bool is_first(uint64_t word, uint64_t position) noexcept {
  return static_cast<uint16_t>(word) == sequence_of(position);
}

// --- compact ----------------------------------------------------------------------------------
inline constexpr unsigned kContextBits = 14, kSourceBits = 14, kTagBits = 16;
constexpr bool fits_compact(const Key& key, size_t bytes) noexcept {
  return bytes <= kCompactBytes && (key.context >> kContextBits |
                                    static_cast<uint32_t>(key.source) >> kSourceBits |
                                    static_cast<uint32_t>(key.tag) >> kTagBits) == 0;
}
constexpr uint64_t compact_word(uint64_t position, const Key& key,
                                size_t bytes) noexcept {
  return sequence_of(position) | uint64_t{bytes} << 16 | uint64_t{key.context} << 20 |
         static_cast<uint64_t>(key.source) << 34 | static_cast<uint64_t>(key.tag) << 48;
}

constexpr bool is_compact(uint64_t word) noexcept {
  return (word >> 16 & 15) <= kCompactBytes;
}
constexpr uint32_t compact_bytes(uint64_t word) noexcept { return word >> 16 & 15; }

// Which compact messages a receive takes: what their words are, apart from sequence and length.
struct CompactPattern {
  uint64_t value, mask;
  constexpr bool matches(uint64_t word) const noexcept {
    return ((word ^ value) & mask) == 0;
  }
};
// `key`: of a receive, so with wildcards. One with larger numbers than a word has room for takes none.
constexpr CompactPattern compact_pattern(const Key& key) noexcept {
  constexpr uint64_t kContext = ((uint64_t{1} << kContextBits) - 1) << 20;
  constexpr uint64_t kSource = ((uint64_t{1} << kSourceBits) - 1) << 34;
  constexpr uint64_t kTag = ((uint64_t{1} << kTagBits) - 1) << 48;
  constexpr uint64_t kNone = 0xf << 16;  // as no kind is 15
  const bool any_source = key.source == kAnySource, any_tag = key.tag == kAnyTag;
  const Key exact{key.context, any_source ? 0 : key.source, any_tag ? 0 : key.tag};
  if (!fits_compact(exact, 0)) [[unlikely]]
    return {kNone, kNone};
  return {compact_word(0, exact, 0),
          kContext | (any_source ? 0 : kSource) | (any_tag ? 0 : kTag)};
}

// --- others -----------------------------------------------------------------------------------
constexpr uint64_t pieces_of(size_t bytes) noexcept {
  return (bytes + kPieceBytes - 1) / kPieceBytes;
}
constexpr uint64_t first_word(uint64_t position, CellKind kind, ContextId context,
                              size_t bytes, uint64_t left_out) noexcept {
  return sequence_of(position) | static_cast<uint64_t>(kind) << 16 |
         uint64_t{bytes} << 20 | left_out << 30 | uint64_t{context} << 32;
}

// Payload is written and read with one store per cell. The last piece is handled separately,
// because nothing behind the data may be read or written. `position`: of the first of these cells.
inline void put_pieces(Cell* ring, uint64_t position, const void* data,
                       size_t bytes) noexcept {
  auto* from = static_cast<const char*>(data);
  for (; bytes > kCellBytes; bytes -= kPieceBytes, from += kPieceBytes, ++position) {
    const __m128i piece =
        _mm_slli_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)), 2);
    _mm_store_si128(reinterpret_cast<__m128i*>(&ring[position % kCells]),
                    _mm_insert_epi16(piece, static_cast<int16_t>(position), 0));
  }
  for (; bytes > 0; ++position) {
    auto& last = reinterpret_cast<PieceCell&>(ring[position % kCells]);
    const size_t n = std::min(bytes, kPieceBytes);
    last.position = static_cast<uint16_t>(position);
    small_copy(last.payload, from, n);
    from += n;
    bytes -= n;
  }
}
inline void get_pieces(const Cell* ring, uint64_t position, void* data,
                       size_t bytes) noexcept {
  auto* to = static_cast<char*>(data);
  for (; bytes > kCellBytes; bytes -= kPieceBytes, to += kPieceBytes, ++position) {
    const __m128i piece =
        _mm_load_si128(reinterpret_cast<const __m128i*>(&ring[position % kCells]));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_srli_si128(piece, 2));
  }
  for (; bytes > 0; ++position) {
    auto& last = reinterpret_cast<const PieceCell&>(ring[position % kCells]);
    const size_t n = std::min(bytes, kPieceBytes);
    small_copy(to, last.payload, n);
    to += n;
    bytes -= n;
  }
}

// The content of a message's first cell.
struct Arrival {
  Key key;
  uint32_t bytes;
  uint64_t cells;
  CellKind kind;
  bool is_compact;
};
// `word`: that of `cell`, once is_first() holds.
inline Arrival read_first(uint64_t word, const Cell& cell) noexcept {
  const auto kind = static_cast<unsigned>(word >> 16 & 15);
  if (kind <= kCompactBytes) {
    return {{static_cast<ContextId>(word >> 20 & ((1u << kContextBits) - 1)),
             static_cast<int>(word >> 34 & ((1u << kSourceBits) - 1)),
             static_cast<int>(word >> 48)},
            kind,
            1,
            CellKind::kInline,
            true};
  }
  Arrival message{{static_cast<ContextId>(word >> 32), 0, 0},
                  static_cast<uint32_t>(word >> 20 & 0x3ff),
                  0,
                  static_cast<CellKind>(kind),
                  false};
  std::memcpy(&message.key.source, cell.payload, sizeof(int));
  std::memcpy(&message.key.tag, cell.payload + sizeof(int), sizeof(int));
  message.cells = 1 + pieces_of(message.bytes) + (word >> 30 & 3);
  return message;
}

}  // namespace mpc::msg
