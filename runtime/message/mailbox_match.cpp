// Mailbox: its lock, its ring, and the matching of messages with receives.
#include <algorithm>

#include "runtime/message/copy_scope.h"
#include "runtime/message/mailbox.h"
#include "runtime/message/mailbox_push.h"
#include "runtime/message/packing.h"
#include "runtime/message/short_wait.h"
#include "runtime/message/work.h"

namespace mpc::msg {

// --- lock -------------------------------------------------------------------------------------

void Mailbox::lock_slowly() noexcept {
  ShortWait wait;
  wanted.fetch_add(1, std::memory_order_relaxed);  // a hint for recv_small()
  do {
    wait.once();
  } while (!try_lock());
  wanted.fetch_sub(1, std::memory_order_relaxed);
}

// --- senders ----------------------------------------------------------------------------------

Mailbox::Claimed Mailbox::claim_slowly(uint64_t count, bool fills_line) {
  bool was_full = false;
  uint64_t word = tail.load(std::memory_order_relaxed);
  for (;;) {
    const uint64_t end = end_of(word >> 1, count, fills_line);
    // Acquire pairs with the release below or in drain(): the cells' readers have finished.
    if (end > head_seen.load(std::memory_order_acquire) + kCells) {
      const uint64_t now = head.load(std::memory_order_acquire);
      head_seen.store(now, std::memory_order_release);  // pairs with the load above
      if (end > now + kCells) {
        was_full = true;
        make_room(now);
        word = tail.load(std::memory_order_relaxed);
      }
      continue;
    }
    // Only the order of modifications of `tail` matters here, see the header.
    if (tail.compare_exchange_weak(word, end << 1 | (word & kDelegated),
                                   std::memory_order_relaxed))
      return {word >> 1, end, (word & kDelegated) != 0, was_full};
  }
}

// The ring is full while `head` has the value that claim() has seen: match for the owner instead of
// waiting for it, unless it is draining. (A value read here could belong to a ring that has been
// emptied in between: it would never change.)
[[gnu::cold]] void Mailbox::make_room(uint64_t seen) noexcept {
  constexpr int kTurnsForOwner = 20;  // about a microsecond
  Work work;
  ShortWait wait;
  for (int i = 0; i < kTurnsForOwner && spinning.load(std::memory_order_relaxed); ++i) {
    wait.once();
    if (head.load(std::memory_order_relaxed) != seen) return;
  }
  while (head.load(std::memory_order_relaxed) == seen) {
    if (try_lock()) {
      drain(work);
      unlock();
      work.run();
    } else {
      wait.once();  // the holder drains; or a sender is between claim and publish
    }
  }
}

// The owner does not poll: makes sure that some thread has polled after our publish().
void Mailbox::match_for_owner(uint64_t position) noexcept {
  ShortWait wait;
  while (!try_lock()) {
    // Acquire pairs with the release in drain(): the holder has taken our message.
    if (head.load(std::memory_order_acquire) > position) return;
    wait.once();
  }
  Work work;
  drain(work);
  unlock();
  work.run();
}

// The cell at `position`, in which no message begins.
PieceCell& Mailbox::piece(uint64_t position) noexcept {
  auto& piece = reinterpret_cast<PieceCell&>(cells[position % kCells]);
  piece.position = static_cast<uint16_t>(position);
  return piece;
}

// Publishes the first cell of a message whose other cells
// are written, except those that it leaves out.
void Mailbox::publish(const Claimed& claimed, CellKind kind, const Key& key,
                      size_t bytes) noexcept {
  const uint64_t end = claimed.position + 1 + pieces_of(bytes);
  for (uint64_t at = end; at < claimed.end; ++at) piece(at);
  Cell& cell = cells[claimed.position % kCells];
  std::memcpy(cell.payload, &key.source, sizeof key.source);
  std::memcpy(cell.payload + sizeof key.source, &key.tag, sizeof key.tag);
  // Release pairs with the acquire in drain().
  cell.word.store(
      first_word(claimed.position, kind, key.context, bytes, claimed.end - end),
      std::memory_order_release);
}

Mailbox::Sent Mailbox::push_cells(const Key& key, const void* data, size_t bytes) {
  const Claimed claimed = claim(1 + pieces_of(bytes), true);
  put_pieces(cells, claimed.position + 1, data, bytes);
  publish(claimed, CellKind::kInline, key, bytes);
  for (uint64_t at = claimed.position - claimed.position % kCellsPerLine;
       at < claimed.end; at += kCellsPerLine)
    hand_on(&cells[at % kCells]);
  return sent(claimed);
}

uint64_t Mailbox::push_pointer(CellKind kind, const Key& key, Entry* entry) {
  const Claimed claimed = claim(1 + pieces_of(sizeof entry), true);
  std::memcpy(piece(claimed.position + 1).payload, &entry, sizeof entry);
  publish(claimed, kind, key, sizeof entry);
  if (claimed.delegated) match_for_owner(claimed.position);
  return ticket_of(claimed.position);
}

// --- under the lock ---------------------------------------------------------------------------

void Mailbox::keep(Entry& message, Work& work) noexcept {
  unexpected.append(message);
  // Counted before its execution acquired the lock (see Watching), or it checks after us.
  if (watchers.load(std::memory_order_relaxed) != 0) work.add_news(*this);
}

Block* Mailbox::take_back(uint64_t ticket) noexcept {
  for (Entry* entry = unexpected.first(); entry != nullptr; entry = entry->next[0]) {
    if (entry->kind != Entry::kBlock) continue;
    auto* block = static_cast<Block*>(entry);
    if (block->ticket != ticket) continue;
    unexpected.remove(*block);
    return block;
  }
  return nullptr;
}

Operation* Mailbox::take_posted(const Key& key) noexcept {
  if (posted.empty()) return nullptr;
  Entry* entry = posted.find(key);
  if (entry == nullptr) return nullptr;
  posted.remove(*entry);
  return static_cast<Operation*>(entry);
}

void Mailbox::fill(Operation& receive, const Arrival& message,
                   uint64_t position) const noexcept {
  fill_status(receive, message.key, message.bytes);
  if (receive.type->is_contiguous() && message.bytes <= receive.bytes) [[likely]]
    return copy_out(message, position, static_cast<char*>(receive.buffer));
  char room[kInlineBytes];
  copy_out(message, position, room);
  unpack_into(receive, room, message.bytes);
}

void Mailbox::accept_inline(const Arrival& message, uint64_t position,
                            Operation* receive, Work& work) noexcept {
  if (receive != nullptr) {
    fill(*receive, message, position);
    work.complete_or_add(*receive);
  } else if (!closed.load(std::memory_order_relaxed)) {
    Block* block = eager.take(message.bytes);
    block->key = message.key;
    block->kind = Entry::kBlock;
    block->bytes = message.bytes;
    block->ticket = ticket_of(position);
    copy_out(message, position, block->data());
    keep(*block, work);
  }
}

void Mailbox::accept_send(Operation& send, uint64_t position, Operation* receive,
                          Work& work) noexcept {
  // Release pairs with cancel(): the operation is in a queue or matched now.
  send.in_ring.store(false, std::memory_order_release);
  if (receive != nullptr) {
    work.add_copy(*receive, send);
  } else if (
      send.may_buffer) {  // its sender relies on not having to wait for a receive
    if (!closed.load(std::memory_order_relaxed)) {
      const CopyScope scope(nullptr, &send);
      Block* block = make_block(eager, send.key, send.buffer, send.count, *send.type);
      block->ticket = ticket_of(position);
      remember(send, block->ticket);
      keep(*block, work);
    }
    work.add_sent(send);
  } else if (closed.load(std::memory_order_relaxed)) {
    send.is_orphan = true;  // stays incomplete: its receiver has ended
  } else {
    keep(send, work);
  }
}

void Mailbox::accept_pointer(const Arrival& message, uint64_t position,
                             Operation* receive, Work& work) noexcept {
  Entry* entry;
  auto& cell = reinterpret_cast<const PieceCell&>(cells[(position + 1) % kCells]);
  std::memcpy(&entry, cell.payload, sizeof entry);
  if (message.kind == CellKind::kRendezvous) {
    accept_send(*static_cast<Operation*>(entry), position, receive, work);
  } else if (receive != nullptr) {
    work.add_copy(*receive, *entry);
  } else if (!closed.load(std::memory_order_relaxed)) {
    static_cast<Block*>(entry)->ticket = ticket_of(position);
    keep(*entry, work);
  } else {
    EagerPool::give_back(static_cast<Block*>(entry));
  }
}

void Mailbox::accept(const Arrival& message, uint64_t position, Work& work) noexcept {
  Operation* const receive = take_posted(message.key);
  if (message.kind == CellKind::kInline) {
    accept_inline(message, position, receive, work);
  } else {
    accept_pointer(message, position, receive, work);
  }
}

Mailbox::Taken Mailbox::take_next(Operation& receive, Work& work) noexcept {
  Taken taken = Taken::kNothing;
  uint64_t at = head.load(std::memory_order_relaxed);
  while (taken == Taken::kNothing) {
    const Cell& cell = cells[at % kCells];
    // Acquire pairs with the release of the publisher.
    const uint64_t word = cell.word.load(std::memory_order_acquire);
    if (!is_first(word, at)) break;
    const Arrival message = read_first(word, cell);
    if (!matches(receive.key, message.key) ||
        (!posted.empty() && posted.find(message.key) != nullptr)) {  // earlier receives
      accept(message, at, work);
    } else if (message.kind == CellKind::kInline) {
      fill(receive, message, at);
      taken = Taken::kFilled;
    } else {
      accept_pointer(message, at, &receive, work);
      taken = Taken::kInWork;
    }
    at += message.cells;
    // Release pairs with the acquire in claim(): the cells may be written again.
    head.store(at, std::memory_order_release);
  }
  return taken;
}

void Mailbox::drain(Work& work) noexcept {
  constexpr uint64_t kCellsAhead = 2 * kCellsPerLine;
  const uint64_t start = head.load(std::memory_order_relaxed);
  uint64_t at = start;
  for (;;) {
    const Cell& cell = cells[at % kCells];
    // Acquire pairs with the release of the publisher.
    const uint64_t word = cell.word.load(std::memory_order_acquire);
    if (!is_first(word, at)) break;
    const Arrival message = read_first(word, cell);
    // More than one message has come, so the next ones are probably written by now.
    if (at != start) __builtin_prefetch(&cells[(at + kCellsAhead) % kCells]);
    accept(message, at, work);
    at += message.cells;
    // A full ring's senders wait for room; do not make them wait until all of it is drained.
    if ((at - start) % (kCells / 4) < message.cells)
      head.store(at, std::memory_order_release);
  }
  // Release pairs with the acquire in claim(): the cells may be written again.
  if (at != start) head.store(at, std::memory_order_release);
}

// --- owner ------------------------------------------------------------------------------------

bool Mailbox::poll() noexcept {
  if (!has_mail() || !try_lock()) return false;
  Work work;
  drain(work);
  unlock();
  work.run();
  return true;
}

void Mailbox::delegate() noexcept {
  backlog_receives.store(0, std::memory_order_relaxed);
  // seq_cst: this is the check of an execution that parks, see start_polling().
  if ((tail.load(std::memory_order_seq_cst) & kDelegated) != 0) return;
  // Claims before this one in the order of `tail`'s modifications did not see the flag:
  // their messages are ours to match. Later ones see it.
  const uint64_t end = tail.fetch_or(kDelegated, std::memory_order_seq_cst) >> 1;
  may_be_delegated.store(true, std::memory_order_relaxed);
  ShortWait wait;
  for (;;) {
    Work work;
    lock_now();
    drain(work);
    const bool all = head.load(std::memory_order_relaxed) >= end;
    unlock();
    work.run();
    if (all) return;
    wait.once();  // a sender is between claim and publish
  }
}

void Mailbox::take_over() noexcept {
  if (is_any_parked(std::memory_order_relaxed)) return;  // a hint, spares the rest
  may_be_delegated.store(false, std::memory_order_relaxed);
  // An execution that parks says so and then reads the flag; we clear the flag and then read
  // whether any is parked (both seq_cst): one of the two sees the other, and the mailbox is
  // delegated again.
  tail.fetch_and(~kDelegated, std::memory_order_seq_cst);
  if (is_any_parked(std::memory_order_seq_cst)) delegate();
}

}  // namespace mpc::msg
