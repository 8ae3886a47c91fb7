// Mailbox: its lock, its ring, and the matching of what comes with what is posted.
#include <algorithm>

#include "runtime/message/copy_scope.h"
#include "runtime/message/mailbox.h"
#include "runtime/message/packing.h"
#include "runtime/message/short_wait.h"
#include "runtime/message/work.h"

namespace mpc::msg {

// --- lock -------------------------------------------------------------------------------------

void Mailbox::lock_slowly() noexcept {
  ShortWait wait;
  wanted.fetch_add(1, std::memory_order_relaxed);  // a hint for quick_receive()
  do {
    wait.once();
  } while (!try_lock());
  wanted.fetch_sub(1, std::memory_order_relaxed);
}

// --- senders ----------------------------------------------------------------------------------

[[gnu::always_inline]] inline Mailbox::Claimed Mailbox::claim(uint64_t count) {
  uint64_t word = tail.load(std::memory_order_relaxed);
  // acquire pairs with the release in claim_slowly() or drain(): the cells' readers are done.
  if ((word >> 1) + count <= head_seen.load(std::memory_order_acquire) + kCells &&
      tail.compare_exchange_strong(word, word + 2 * count, std::memory_order_relaxed))
      [[likely]]
    return {word >> 1, (word & kDelegated) != 0, false};
  return claim_slowly(count);
}

Mailbox::Claimed Mailbox::claim_slowly(uint64_t count) {
  bool was_full = false;
  uint64_t word = tail.load(std::memory_order_relaxed);
  for (;;) {
    const uint64_t position = word >> 1;
    // acquire pairs with the release below or in drain(): the cells' readers are done.
    if (position + count > head_seen.load(std::memory_order_acquire) + kCells) {
      const uint64_t now = head.load(std::memory_order_acquire);
      head_seen.store(now, std::memory_order_release);  // pairs with the load above
      if (position + count > now + kCells) {
        was_full = true;
        make_room(now);
        word = tail.load(std::memory_order_relaxed);
      }
      continue;
    }
    // Only the order of modifications of `tail` matters here, see the header.
    if (tail.compare_exchange_weak(word, word + 2 * count, std::memory_order_relaxed))
      return {position, (word & kDelegated) != 0, was_full};
  }
}

// The ring is full, as long as `head` is what claim() has seen: match for the owner instead of
// waiting for it, unless it is at it. (A value read here could be that of a ring that has been
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

inline void Mailbox::publish(uint64_t position, CellKind kind, const Key& key, size_t bytes,
                      uint64_t count) noexcept {
  Cell& cell = cells[position % kCells];
  cell.key = key;
  cell.kind = kind;
  cell.cells = static_cast<uint8_t>(count);
  cell.bytes = static_cast<uint16_t>(bytes);
  // release pairs with the acquire in drain().
  cell.sequence.store(static_cast<uint32_t>(position + 1), std::memory_order_release);
}

// The owner does not look: sees to it that somebody has looked after our publish().
void Mailbox::match_for_owner(uint64_t position) noexcept {
  ShortWait wait;
  while (!try_lock()) {
    // acquire pairs with the release in drain(): the holder has taken our message.
    if (head.load(std::memory_order_acquire) > position) return;
    wait.once();
  }
  Work work;
  drain(work);
  unlock();
  work.run();
}

Mailbox::Sent Mailbox::push_inline(const Key& key, const void* data, size_t bytes) {
  if (bytes > sizeof(Cell::payload)) return push_cells(key, data, bytes);
  const auto [position, delegated, was_full] = claim(1);
  Cell& cell = cells[position % kCells];
  small_copy(cell.payload, data, bytes);
  publish(position, CellKind::kInline, key, bytes, 1);
  hand_on(&cell);
  if (delegated) match_for_owner(position);
  return sent(position, 1, was_full);
}

// The receiver looks at the next cell from now on. Ours for a moment, it is quickly ours again later.
Mailbox::Sent Mailbox::sent(uint64_t position, uint64_t count,
                            bool was_full) const noexcept {
  const void* next = &cells[(position + count) % kCells];
  prefetch_for_write(next);
  return {ticket_of(position), next, was_full};
}

Mailbox::Sent Mailbox::push_cells(const Key& key, const void* data, size_t bytes) {
  const size_t rest = bytes - sizeof(Cell::payload);
  const uint64_t count =
      1 + (rest + sizeof(MoreCell::payload) - 1) / sizeof(MoreCell::payload);
  const auto [position, delegated, was_full] = claim(count);
  const char* from = static_cast<const char*>(data);
  small_copy(cells[position % kCells].payload, from, sizeof(Cell::payload));
  for (uint64_t i = 1; i < count; ++i) {
    auto& more = reinterpret_cast<MoreCell&>(cells[(position + i) % kCells]);
    const size_t at = sizeof(Cell::payload) + (i - 1) * sizeof(MoreCell::payload);
    // Payload never stands where a sequence number is looked for, and this number is half a
    // turn away from every one that is expected here.
    more.sequence.store(static_cast<uint32_t>(position + i + 1) ^ 0x80000000u,
                        std::memory_order_relaxed);
    small_copy(more.payload, from + at,
               std::min(bytes - at, sizeof(MoreCell::payload)));
  }
  publish(position, CellKind::kInline, key, bytes, count);
  for (uint64_t i = 0; i < count; ++i) hand_on(&cells[(position + i) % kCells]);
  if (delegated) match_for_owner(position);
  return sent(position, count, was_full);
}

uint64_t Mailbox::push_pointer(CellKind kind, const Key& key, Entry* entry) {
  const auto [position, delegated, was_full] = claim(1);
  static_cast<void>(was_full);
  std::memcpy(cells[position % kCells].payload, &entry, sizeof entry);
  publish(position, kind, key, 0, 1);
  if (delegated) match_for_owner(position);
  return ticket_of(position);
}

// --- under the lock ---------------------------------------------------------------------------

void Mailbox::keep(Entry& message, Work& work) noexcept {
  unexpected.append(message);
  // Counted before its execution took the lock (see Watching), or it looks after us.
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

// The payload in one piece: of one cell where it is, of several put together in `room`.
const char* Mailbox::gather(const Cell& cell, uint64_t position,
                            char* room) const noexcept {
  if (cell.cells == 1) return cell.payload;
  std::memcpy(room, cell.payload, sizeof cell.payload);
  size_t at = sizeof cell.payload;
  for (uint64_t i = 1; i < cell.cells; ++i) {
    auto& more = reinterpret_cast<const MoreCell&>(cells[(position + i) % kCells]);
    const size_t n = std::min(cell.bytes - at, sizeof more.payload);
    small_copy(room + at, more.payload, n);
    at += n;
  }
  return room;
}

void Mailbox::fill(Operation& receive, const Cell& cell,
                   uint64_t position) const noexcept {
  fill_status(receive, cell.key, cell.bytes);
  if (cell.cells == 1 && receive.type->is_contiguous() &&
      cell.bytes <= receive.bytes) [[likely]]
    return small_copy(receive.buffer, cell.payload, cell.bytes);
  char room[kInlineBytes];
  unpack_into(receive, gather(cell, position, room), cell.bytes);
}

void Mailbox::accept_inline(Cell& cell, uint64_t position, Operation* receive,
                            Work& work) noexcept {
  if (receive != nullptr) {
    fill(*receive, cell, position);
    work.add_completion(*receive);
  } else if (!closed.load(std::memory_order_relaxed)) {
    char room[kInlineBytes];
    Block* block = eager.take(cell.bytes);
    block->key = cell.key;
    block->kind = Entry::kBlock;
    block->bytes = cell.bytes;
    block->ticket = ticket_of(position);
    small_copy(block->data(), gather(cell, position, room), cell.bytes);
    keep(*block, work);
  }
}

void Mailbox::accept_send(Operation& send, uint64_t position, Operation* receive,
                          Work& work) noexcept {
  // release pairs with cancel(): the operation is in a queue or matched now.
  send.in_ring.store(false, std::memory_order_release);
  if (receive != nullptr) {
    work.add_copy(*receive, send);
  } else if (
      send.may_buffer) {  // its sender counts on not having to wait for a receive
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

void Mailbox::accept_pointer(Cell& cell, uint64_t position, Operation* receive,
                             Work& work) noexcept {
  Entry* entry;
  std::memcpy(&entry, cell.payload, sizeof entry);
  if (cell.kind == CellKind::kRendezvous) {
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

void Mailbox::accept(Cell& cell, uint64_t position, Work& work) noexcept {
  Operation* const receive = take_posted(cell.key);
  if (cell.kind == CellKind::kInline) {
    accept_inline(cell, position, receive, work);
  } else {
    accept_pointer(cell, position, receive, work);
  }
}

Mailbox::Taken Mailbox::take_next(Operation& receive, Work& work) noexcept {
  Taken taken = Taken::kNothing;
  uint64_t at = head.load(std::memory_order_relaxed);
  while (taken == Taken::kNothing) {
    Cell& cell = cells[at % kCells];
    // acquire pairs with the release in publish().
    if (cell.sequence.load(std::memory_order_acquire) != static_cast<uint32_t>(at + 1))
      break;
    const uint64_t count = cell.cells;
    if (!matches(receive.key, cell.key) ||
        (!posted.empty() && posted.find(cell.key) != nullptr)) {  // earlier receives
      accept(cell, at, work);
    } else if (cell.kind == CellKind::kInline) {
      fill(receive, cell, at);
      taken = Taken::kFilled;
    } else {
      accept_pointer(cell, at, &receive, work);
      taken = Taken::kInWork;
    }
    at += count;
    // release pairs with the acquire in claim(): the cells may be written again.
    head.store(at, std::memory_order_release);
  }
  return taken;
}

void Mailbox::drain(Work& work) noexcept {
  constexpr uint64_t kCellsAhead = 2;
  const uint64_t start = head.load(std::memory_order_relaxed);
  uint64_t at = start;
  for (;;) {
    Cell& cell = cells[at % kCells];
    // acquire pairs with the release in publish().
    if (cell.sequence.load(std::memory_order_acquire) !=
        static_cast<uint32_t>(at + 1)) {
      break;
    }
    const uint64_t count = cell.cells;
    // More than one has come, so the next ones are probably written by now.
    if (at != start) __builtin_prefetch(&cells[(at + kCellsAhead) % kCells]);
    accept(cell, at, work);
    at += count;
    // A full ring's senders wait for room; do not make them wait for all of it.
    if ((at - start) % 16 < count) head.store(at, std::memory_order_release);
  }
  // release pairs with the acquire in claim(): the cells may be written again.
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
  // seq_cst: the look of an execution that parks, see start_polling().
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

void Mailbox::start_polling() noexcept {
  if (!may_be_delegated.load(std::memory_order_relaxed)) return;
  may_be_delegated.store(false, std::memory_order_relaxed);
  // An execution that parks adds itself to parked_others and then looks at the flag; we clear
  // the flag and then look at parked_others (both seq_cst): one of the two sees the other,
  // and the mailbox is delegated again.
  tail.fetch_and(~kDelegated, std::memory_order_seq_cst);
  if (parked_others.load(std::memory_order_seq_cst) != 0) delegate();
}

}  // namespace mpc::msg
