#pragma once
// SharedCopy: one large copy made by two cores, the one that has begun it and a rank that
// waits.
//
// Role:      each mailbox has one. A core that copies a long message offers it to the rank at the
//            other end, if that rank waits actively; both take pieces until none is left.
// Users:     runtime/message.
// Threads:   offer() any but the owner's main execution; help() only that one.
// See also:  docs/messages.md (who copies), docs/design/0015-shared-copies.md (why this is
//            safe), tests/unit/message/shared_copy_test.cpp.

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace mpc::msg {

// A copy that is not of contiguous data: the helper has a part to do for each piece.
class HelpedPieces {
 public:
  // This is the last access to the object by the thread that has claimed the piece.
  virtual void do_helpers_part(uint32_t piece) noexcept = 0;

 protected:
  ~HelpedPieces() = default;
};

class alignas(64) SharedCopy {
 public:
  // Is a copy so long that it should be offered (setting message.shared_copy)? Caller: any.
  static bool pays(int64_t bytes) noexcept;

  // Copies n bytes that do not overlap, with the owner's help if it comes. False: nothing was
  // done, because another copy is offered to this owner now. Switches: no; waits for the piece that
  // the helper is copying, some microseconds.
  bool offer(void* dst, const void* src, size_t n) noexcept;

  // Takes part in the offered copy, until no piece is left to begin. True if it copied
  // anything. Cost: one load of the rank's own line if nothing is offered.
  bool help() noexcept {
    if (!is_open(word_.load(std::memory_order_relaxed))) [[likely]]
      return false;
    return take_pieces();
  }

  // The same for pieces of which the owner has only a part to do. False: another copy is offered.
  // Pieces below `limit` may be begun. Ownership: `pieces` lives
  // until each piece that was begun is done.
  bool open(HelpedPieces& pieces, uint32_t limit) noexcept;
  void allow(uint32_t limit) noexcept {
    // Release pairs with claim(): the piece is packed, or its slot is free.
    limit_.store(limit, std::memory_order_release);
  }
  // Does the owner's part of the next piece for it. False: all allowed pieces have begun.
  bool take_piece() noexcept;
  void close() noexcept;

 private:
  // A word is `round << 16 | piece`: the next piece to be taken, or one of these.
  static constexpr uint64_t kPieceBits = 16;
  static constexpr uint64_t kPieceMask = (uint64_t{1} << kPieceBits) - 1;
  static constexpr uint64_t kClosed = kPieceMask;       // nothing is offered
  static constexpr uint64_t kOpening = kPieceMask - 1;  // the fields are being written

  static bool is_open(uint64_t word) noexcept { return (word & kPieceMask) < kOpening; }
  bool begin_opening(uint64_t& round) noexcept;
  bool open(void* dst, const void* src, size_t n) noexcept;
  // The next piece, which is claimed. False: there is none.
  struct Piece {
    HelpedPieces* pieces;  // null: a copy of contiguous data, below
    uint32_t number;
    char* dst;
    const char* src;
    size_t bytes;
  };
  bool claim(Piece& piece) noexcept;
  bool take_pieces() noexcept;

  std::atomic<uint64_t> word_{kClosed};
  // Written while kOpening, read between two reads of the word.
  std::atomic<char*> dst_{nullptr};
  std::atomic<const char*> src_{nullptr};
  std::atomic<size_t> bytes_{0};
  std::atomic<size_t> piece_bytes_{1};
  std::atomic<uint32_t> limit_{
      0};  // pieces below it may be begun; also written while open
  std::atomic<HelpedPieces*> pieces_{nullptr};
  std::atomic<uint32_t> helped_{0};  // pieces that the helper has copied in this round
};

}  // namespace mpc::msg
