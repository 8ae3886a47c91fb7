#include "runtime/message/shared_copy.h"

#include <algorithm>

#include "base/counter.h"
#include "base/settings.h"
#include "runtime/message/short_wait.h"
#include "runtime/transport/memory/copy.h"

namespace mpc::msg {
namespace {

IntSetting s_least{
    "message.shared_copy",
    512 << 10,
    "bytes",
    "Messages, puts and gets of this length are copied by both ranks if the other "
    "one waits actively; 0: never",
    0,
    INT64_MAX};

Counter helped_counter{"message.helped_pieces",
                       "Pieces of long copies made by the rank at the other end"};

// Both sides should get some pieces, and the wait for the last
// one should be short: at most the time of one piece.
constexpr size_t kPieces = 16;
constexpr size_t kLeastPiece = 16 << 10;
constexpr size_t kMostPiece = 64 << 10;
constexpr size_t kPage = 4 << 10;
constexpr size_t kMostPieces = 60000;  // fewer than there are numbers for

size_t piece_of(size_t n) noexcept {
  const size_t piece = std::clamp(n / kPieces, kLeastPiece, kMostPiece);
  return (std::max(piece, n / kMostPieces + 1) + kPage - 1) / kPage * kPage;
}

}  // namespace

bool SharedCopy::pays(int64_t bytes) noexcept {
  const int64_t least = s_least.get();
  return least != 0 && bytes >= least;
}

// Moves from closed to opening; then the fields are ours.
bool SharedCopy::begin_opening(uint64_t& round) noexcept {
  uint64_t word = word_.load(std::memory_order_relaxed);
  if ((word & kPieceMask) != kClosed) return false;
  round = word & ~kPieceMask;
  // Acquire pairs with the store in close(): the last round is over.
  return word_.compare_exchange_strong(
      word, round | kOpening, std::memory_order_acquire, std::memory_order_relaxed);
}

bool SharedCopy::open(void* dst, const void* src, size_t n) noexcept {
  uint64_t round;
  if (!begin_opening(round)) return false;
  const size_t step = piece_of(n);
  // Release for each: a thread that reads one of these has seen the word leave the former round, so
  // its claim() of that round fails.
  dst_.store(static_cast<char*>(dst), std::memory_order_release);
  src_.store(static_cast<const char*>(src), std::memory_order_release);
  bytes_.store(n, std::memory_order_release);
  piece_bytes_.store(step, std::memory_order_release);
  limit_.store(static_cast<uint32_t>((n + step - 1) / step), std::memory_order_release);
  pieces_.store(nullptr, std::memory_order_release);
  word_.store(round, std::memory_order_release);  // pairs with claim(): the fields
  return true;
}

bool SharedCopy::open(HelpedPieces& pieces, uint32_t limit) noexcept {
  uint64_t round;
  if (!begin_opening(round)) return false;
  // Release for each: as above.
  limit_.store(limit, std::memory_order_release);
  pieces_.store(&pieces, std::memory_order_release);
  word_.store(round, std::memory_order_release);  // pairs with claim(): the fields
  return true;
}

bool SharedCopy::claim(Piece& piece) noexcept {
  // Acquire pairs with open().
  uint64_t word = word_.load(std::memory_order_acquire);
  for (;;) {
    if (!is_open(word)) return false;
    // Acquire for each: see open().
    char* const dst = dst_.load(std::memory_order_acquire);
    const char* const src = src_.load(std::memory_order_acquire);
    const size_t bytes = bytes_.load(std::memory_order_acquire);
    const size_t step = piece_bytes_.load(std::memory_order_acquire);
    HelpedPieces* const pieces = pieces_.load(std::memory_order_acquire);
    const auto number = static_cast<uint32_t>(word & kPieceMask);
    // Acquire also pairs with allow().
    if (number >= limit_.load(std::memory_order_acquire)) return false;
    // It succeeds only if the word has not changed since it was read, so the fields belong to
    // its round. Acquire pairs with open().
    if (word_.compare_exchange_weak(word, word + 1, std::memory_order_acquire,
                                    std::memory_order_acquire)) {
      piece = {pieces, number, nullptr, nullptr, 0};
      if (pieces != nullptr) return true;
      const size_t begin = number * step;
      piece.dst = dst + begin;
      piece.src = src + begin;
      piece.bytes = std::min(step, bytes - begin);
      return true;
    }
  }
}

bool SharedCopy::take_pieces() noexcept {
  Piece piece;
  uint32_t count = 0;
  while (claim(piece)) {
    ++count;
    if (piece.pieces != nullptr) {
      piece.pieces->do_helpers_part(piece.number);
      continue;
    }
    transport::copy_bytes(piece.dst, piece.src, piece.bytes);
    // Release pairs with offer(): the data. Not touched after the last one: the copier may begin
    // the next round.
    helped_.fetch_add(1, std::memory_order_release);
  }
  if (count != 0) helped_counter.add(count);
  return count != 0;
}

bool SharedCopy::offer(void* dst, const void* src, size_t n) noexcept {
  if (!open(dst, src, n)) return false;
  const size_t step = piece_of(n);
  auto missing = static_cast<uint32_t>((n + step - 1) / step);
  Piece piece;
  while (claim(piece)) {
    transport::copy_bytes(piece.dst, piece.src, piece.bytes);
    --missing;
  }
  ShortWait wait;
  // Acquire pairs with take_pieces(): the data.
  while (helped_.load(std::memory_order_acquire) != missing) wait.once();
  helped_.store(0, std::memory_order_relaxed);
  close();
  return true;
}

void SharedCopy::close() noexcept {
  const uint64_t round = word_.load(std::memory_order_relaxed) & ~kPieceMask;
  // Release pairs with begin_opening(): `helped_`.
  word_.store((round + (kPieceMask + 1)) | kClosed, std::memory_order_release);
}

bool SharedCopy::take_piece() noexcept {
  Piece piece;
  if (!claim(piece)) return false;
  piece.pieces->do_helpers_part(piece.number);
  return true;
}

}  // namespace mpc::msg
