#pragma once
// Ring: messages from one process to another one of the same host, in memory that both have mapped.
//
// Role:      one writer, one reader. A message is one cell: its envelope, up to 72 bytes of data, or
//            where its data are in the bytes behind the cells.
// Users:     runtime/transport/host.
// Threads:   RingWriter: one call at a time, in the sending process; RingReader: likewise in the other
//            one, has_mail() any thread.
// See also:  docs/design/0047-host-segment.md (why nothing is lost, torn or seen twice).
//
//   cells   | lap bytes envelope data | ... | ... |      the writer's; `lap` is written last
//   data    | ............................. |            the writer's: messages of more than 72 bytes
//   head    | cells read | bytes free again |            the reader's
//
// A cell's `lap` says how often the writer has been round the ring when it wrote the cell. So the
// reader looks at one line only, the cell that comes next, and an 8-byte message is in that line.
// A writer that dies before it has written `lap` has sent nothing.

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "runtime/transport/envelope.h"
#include "runtime/transport/host/claims.h"
#include "runtime/transport/net.h"

namespace mpc::transport::host {

inline constexpr size_t kLineBytes = 64;
inline constexpr size_t kInlineBytes = 72;

// Messages, and what is said about long ones that stay with their sender: see notes.h. `id` of the envelope
// is the number of such a message, which its sender's process never uses again.
enum class CellKind : uint32_t {
  kMessage,
  kOffer,   // the envelope of the message; data: its number, address and length
  kEnded,   // to the sender: it is not needed any more; `bytes`: the Outcome
  kRecall,  // the sender wants its memory back
  kAsk,     // to the sender: a piece from `bytes` on, because its memory cannot be read
  kPiece,   // the answer
};

struct alignas(kLineBytes) Cell {
  std::atomic<uint32_t> lap;  // 0: never written
  uint32_t kind_and_bytes;    // length of the data
  char envelope[kEnvelopeBytes];
  // The data; if they are longer, where they begin among all bytes that were ever written.
  char data[kInlineBytes];
};
static_assert(sizeof(Cell) == 2 * kLineBytes);
static_assert(std::atomic<uint32_t>::is_always_lock_free &&
              std::atomic<uint64_t>::is_always_lock_free);

inline constexpr uint32_t kKindShift = 28;
inline constexpr uint32_t kLengthMask = (1U << kKindShift) - 1;

struct alignas(kLineBytes) RingHead {
  std::atomic<uint64_t> cells_read;
  std::atomic<uint64_t> bytes_free;  // so many of all bytes that were ever written
  // The writer's: it can read memory of the reader's process.
  alignas(kLineBytes) std::atomic<uint32_t> writer_reads;
  // Long messages of the writer that the reader fetches.
  Slot slots[kSlots];
};

// Powers of two.
struct RingShape {
  uint32_t cells = 0;
  uint32_t data_bytes = 0;
  constexpr size_t bytes() const noexcept {
    return sizeof(RingHead) + cells * sizeof(Cell) + data_bytes;
  }
  // A longer message would not have room in every ring that is empty.
  constexpr size_t most_message_bytes() const noexcept { return data_bytes / 2; }
  constexpr bool is_valid() const noexcept {
    return cells != 0 && (cells & (cells - 1)) == 0 && data_bytes >= 2 * kLineBytes &&
           (data_bytes & (data_bytes - 1)) == 0;
  }
};

// Where the parts of a ring are. `memory`: aligned to a line; zero at first.
struct RingMemory {
  RingMemory(void* memory, const RingShape& ring_shape) noexcept
      : shape(ring_shape),
        laps_shift(std::countr_zero(ring_shape.cells)),
        head(static_cast<RingHead*>(memory)),
        cells(reinterpret_cast<Cell*>(head + 1)),
        data(reinterpret_cast<char*>(cells + ring_shape.cells)) {}
  Cell& cell(uint64_t number) const noexcept {
    return cells[number & (shape.cells - 1)];
  }
  uint32_t lap_of(uint64_t number) const noexcept {
    return static_cast<uint32_t>(number >> laps_shift) + 1;
  }
  static constexpr uint64_t lines(uint64_t bytes) noexcept {
    return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
  }
  const RingShape shape;
  const int laps_shift;  // a division would take as long as a look
  RingHead* const head;
  Cell* const cells;
  char* const data;
};

class RingWriter {
 public:
  RingWriter(void* memory, const RingShape& shape) noexcept : ring_(memory, shape) {}

  void say_reads(bool reads) noexcept {
    ring_.head->writer_reads.store(reads ? 1 : 0, std::memory_order_release);
  }
  Slot& slot(int number) const noexcept { return ring_.head->slots[number]; }

  // False: there is no room now. The source has most_message_bytes() at most.
  // Order: release, and seq_cst for a writer that asks afterwards whether the reader sleeps.
  bool write(const Envelope& envelope, const Source& source,
             CellKind kind = CellKind::kMessage) noexcept {
    if (next_cell_ - cells_read_ == ring_.shape.cells && !find_room()) return false;
    Cell& cell = ring_.cell(next_cell_);
    char* out = cell.data;
    if (source.bytes > kInlineBytes) [[unlikely]] {
      const uint64_t at = place_for(source.bytes);
      if (at == kNoPlace) return false;
      std::memcpy(cell.data, &at, sizeof at);
      out = ring_.data + (at & (ring_.shape.data_bytes - 1));
      next_byte_ = at + RingMemory::lines(source.bytes);
    }
    encode(envelope, cell.envelope);
    cell.kind_and_bytes =
        static_cast<uint32_t>(source.bytes) | static_cast<uint32_t>(kind) << kKindShift;
    if (source.pack != nullptr) {
      source.pack(source.data, 0, out, source.bytes);
    } else if (source.bytes != 0) {
      std::memcpy(out, source.data, source.bytes);
    }
    cell.lap.store(ring_.lap_of(next_cell_), std::memory_order_seq_cst);
    ++next_cell_;
    return true;
  }

 private:
  static constexpr uint64_t kNoPlace = ~uint64_t{0};

  // Acquire pairs with RingReader::give_back(): the reader has finished with what it gives back.
  bool find_room() noexcept {
    cells_read_ = ring_.head->cells_read.load(std::memory_order_acquire);
    return next_cell_ - cells_read_ != ring_.shape.cells;
  }
  // Messages are in one piece: what does not fit before the end of the memory begins at its start.
  uint64_t place_for(uint64_t bytes) noexcept {
    const uint64_t all = ring_.shape.data_bytes;
    const uint64_t left = all - (next_byte_ & (all - 1));
    const uint64_t at = bytes <= left ? next_byte_ : next_byte_ + left;
    const uint64_t end = at + RingMemory::lines(bytes);
    if (end - bytes_free_ <= all) return at;
    bytes_free_ = ring_.head->bytes_free.load(std::memory_order_acquire);
    return end - bytes_free_ <= all ? at : kNoPlace;
  }

  const RingMemory ring_;
  uint64_t next_cell_ = 0, next_byte_ = 0;
  uint64_t cells_read_ = 0, bytes_free_ = 0;  // as last seen
};

class RingReader {
 public:
  RingReader(void* memory, const RingShape& shape) noexcept : ring_(memory, shape) {}

  // Can the other process read memory of this one? Acquire pairs with RingWriter::say_reads().
  bool writer_reads() const noexcept {
    return ring_.head->writer_reads.load(std::memory_order_acquire) != 0;
  }
  Slot& slot(int number) const noexcept { return ring_.head->slots[number]; }

  // Caller: any thread; a hint, unless it is the reader. Order: acquire, pairs with write(). seq_cst
  // for a reader that has said before that it is about to sleep.
  bool has_mail(std::memory_order order = std::memory_order_acquire) const noexcept {
    const uint64_t next = next_cell_.load(std::memory_order_relaxed);
    return ring_.cell(next).lap.load(order) == ring_.lap_of(next);
  }

  Sign sign() const noexcept {
    const uint64_t next = next_cell_.load(std::memory_order_relaxed);
    return {&ring_.cell(next).lap, ring_.lap_of(next)};
  }

  struct Message {
    const char* envelope = nullptr;
    const void* data = nullptr;
    size_t bytes = 0;
    CellKind kind{};
    bool is_sane = false;  // false: the other process has written over its memory
  };
  // The next message, which stays where it is until pop(). Caller: has_mail().
  Message front() const noexcept {
    const Cell& cell = ring_.cell(next_cell_.load(std::memory_order_relaxed));
    Message out{cell.envelope, cell.data, cell.kind_and_bytes & kLengthMask,
                static_cast<CellKind>(cell.kind_and_bytes >> kKindShift), true};
    if (out.bytes <= kInlineBytes) [[likely]]
      return out;
    const uint64_t place = place_of(cell) & (ring_.shape.data_bytes - 1);
    out.data = ring_.data + place;
    out.is_sane = out.bytes <= ring_.shape.data_bytes - place;
    return out;
  }
  void pop() noexcept {
    const uint64_t next = next_cell_.load(std::memory_order_relaxed);
    const Cell& cell = ring_.cell(next);
    const uint32_t bytes = cell.kind_and_bytes & kLengthMask;
    if (bytes > kInlineBytes) bytes_free_ = place_of(cell) + RingMemory::lines(bytes);
    next_cell_.store(next + 1, std::memory_order_relaxed);
  }
  // Called after one or several pop(). Release pairs with RingWriter: what was read has been read.
  void give_back() noexcept {
    ring_.head->bytes_free.store(bytes_free_, std::memory_order_release);
    ring_.head->cells_read.store(next_cell_.load(std::memory_order_relaxed),
                                 std::memory_order_release);
  }

 private:
  static uint64_t place_of(const Cell& cell) noexcept {
    uint64_t at;
    std::memcpy(&at, cell.data, sizeof at);
    return at;
  }

  const RingMemory ring_;
  std::atomic<uint64_t> next_cell_{0};  // written by the reader only
  uint64_t bytes_free_ = 0;
};

}  // namespace mpc::transport::host
