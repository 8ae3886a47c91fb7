#pragma once
// Mailbox, the senders' side: how a cell is claimed, and a message of one cell pushed, in line.
//
// Role:      a small message is a few dozen instructions; a call in their midst would be a third of them.
// Users:     runtime/message (mailbox_match.cpp, send.cpp).
// Threads:   any.
// See also:  runtime/message/mailbox.h, docs/design/0003-mailbox.md.

#include "base/prefetch.h"
#include "runtime/message/mailbox.h"

namespace mpc::msg {

// Where a message of `count` cells ends: right after them, or at the end of its last line.
constexpr uint64_t end_of(uint64_t position, uint64_t count, bool fills_line) noexcept {
  const uint64_t end = position + count;
  return fills_line ? (end + kCellsPerLine - 1) / kCellsPerLine * kCellsPerLine : end;
}

[[gnu::always_inline]] inline Mailbox::Claimed Mailbox::claim(uint64_t count,
                                                              bool fills_line) {
  uint64_t word = tail.load(std::memory_order_relaxed);
  const uint64_t end = end_of(word >> 1, count, fills_line);
  // Acquire pairs with the release in claim_slowly() or drain(): the cells' readers have finished.
  if (end <= head_seen.load(std::memory_order_acquire) + kCells &&
      tail.compare_exchange_strong(word, end << 1 | (word & kDelegated),
                                   std::memory_order_relaxed)) [[likely]]
    return {word >> 1, end, (word & kDelegated) != 0, false};
  return claim_slowly(count, fills_line);
}

// The owner handles the message, or another thread does. From now on the receiver polls the next
// cell: if we fetch its line for a moment, it is quickly ours again later. Not if it is the line
// that the receiver is about to fetch.
[[gnu::always_inline]] inline Mailbox::Sent Mailbox::sent(
    const Claimed& claimed) noexcept {
  if (claimed.delegated) [[unlikely]]
    match_for_owner(claimed.position);
  const void* next = &cells[claimed.end % kCells];
  if (claimed.end % kCellsPerLine == 0) prefetch_for_write(next);
  return {ticket_of(claimed.position), next, claimed.was_full};
}

[[gnu::always_inline]] inline Mailbox::Sent Mailbox::push_compact(const Key& key,
                                                                  const void* data,
                                                                  size_t bytes,
                                                                  bool more_follow) {
  const Claimed claimed = claim(1, false);
  Cell& cell = cells[claimed.position % kCells];
  small_copy(cell.payload, data, bytes);
  // Release pairs with the acquire in drain().
  cell.word.store(compact_word(claimed.position, key, bytes),
                  std::memory_order_release);
  if (!more_follow || claimed.end % kCellsPerLine == 0) hand_on(&cell);
  return sent(claimed);
}

[[gnu::always_inline]] inline Mailbox::Sent Mailbox::push_inline(const Key& key,
                                                                 const void* data,
                                                                 size_t bytes,
                                                                 bool more_follow) {
  return fits_compact(key, bytes) ? push_compact(key, data, bytes, more_follow)
                                  : push_cells(key, data, bytes);
}

}  // namespace mpc::msg
