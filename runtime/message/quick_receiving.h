#pragma once
// Quick receiving: the one way of quick_receive(), with and without telling of the match.
//
// Role:      a template, so that a job in which nobody hears of matches has the shorter way, compiled
//            alone.
// Users:     runtime/message (quick_receive.cpp, watched_receive.cpp).
// Threads:   as quick_receive().
// See also:  runtime/message/quick_receive.h, docs/design/0003-mailbox.md.

#include <algorithm>

#include "runtime/message/match_note.h"
#include "runtime/message/small_copy.h"
#include "runtime/message/waiting.h"
#include "scheduler/execution.h"
#include "scheduler/may_spin.h"

namespace mpc::msg::quick {

// The payload, from one to kMaxCells cells, straight to where it belongs.
[[gnu::always_inline]] inline void copy_out(const Mailbox& mine, const Cell& cell,
                                            uint64_t position, char* to) noexcept {
  size_t at = std::min<size_t>(cell.bytes, sizeof cell.payload);
  small_copy(to, cell.payload, at);
  for (uint64_t i = 1; i < cell.cells; ++i) {
    auto& more = reinterpret_cast<const MoreCell&>(mine.cells[(position + i) % kCells]);
    const size_t n = std::min<size_t>(cell.bytes - at, sizeof more.payload);
    small_copy(to + at, more.payload, n);
    at += n;
  }
}

// May the message in the oldest cell go to this receive, although it stands in no queue?
[[gnu::always_inline]] inline bool is_mine(Mailbox& mine, const Cell& cell,
                                           const Key& key, const RecvArgs& args) {
  return cell.kind == CellKind::kInline && matches(key, cell.key) &&
         cell.bytes <= args.type->size() * args.count &&
         (mine.posted.empty() ||
          mine.posted.find(cell.key) == nullptr);  // earlier receives
}

// While somebody hears of matches each mailbox is wanted once more than by others.
template <bool is_watched>
bool is_wanted_by_others(const Mailbox& mine) noexcept {
  if constexpr (!is_watched) return mine.is_wanted();
  return mine.wanted.load(std::memory_order_relaxed) > 1;
}

// The oldest cell, as soon as it is published; null: it did not come soon, or something else
// has to be done first. Caller: holds the lock.
template <bool is_watched>
[[gnu::always_inline]] inline const Cell* look(Mailbox& mine, uint64_t position,
                                               bool is_patient) noexcept {
  constexpr int kLooks = 40;  // some 2 us: a pause takes about 50 ns
  const Cell& cell = mine.cells[position % kCells];
  if (is_patient) mine.answer_time.wait_before_look();
  for (int i = 0;; ++i) {
    // acquire pairs with the release in publish().
    if (cell.sequence.load(std::memory_order_acquire) ==
        static_cast<uint32_t>(position + 1)) {
      if (is_patient) mine.answer_time.note_end(i, true);
      return &cell;
    }
    if (!is_patient || i == kLooks || is_wanted_by_others<is_watched>(mine) ||
        !sched::may_spin() || mine.attention.load(std::memory_order_relaxed)) {
      if (is_patient) mine.answer_time.note_end(i, false);
      return nullptr;
    }
    // Looking more often makes the sender's store slower: each look takes its line away.
    __builtin_ia32_pause();
  }
}

template <bool is_watched>
[[gnu::always_inline]] inline bool receive_locked(Mailbox& mine, const RecvArgs& args,
                                                  bool is_patient,
                                                  Status* status) noexcept {
  const Key key{args.context, args.source_in_comm, args.tag};
  if (!mine.unexpected.empty() && mine.unexpected.find(key) != nullptr) return false;
  const uint64_t position = mine.head.load(std::memory_order_relaxed);
  const Cell* cell = look<is_watched>(mine, position, is_patient);
  if (cell == nullptr) return false;
  // An answer may follow: its line comes over while this message is being worked on.
  prefetch_for_write(mine.next_line.load(std::memory_order_relaxed));
  if (!is_mine(mine, *cell, key, args)) return false;
  copy_out(mine, *cell, position, static_cast<char*>(args.buffer));
  status->source = cell->key.source;
  status->tag = cell->key.tag;
  status->bytes = cell->bytes;
  if constexpr (is_watched)
    note_match(mine.world_rank, cell->key, cell->bytes, nullptr);
  // release pairs with the acquire in claim(): the cells may be written again.
  mine.head.store(position + cell->cells, std::memory_order_release);
  return true;
}

// Where there are other processes: for a message of the rank's own one only. Nobody polls the network
// meanwhile.
[[gnu::cold]] inline bool is_patient_within(Mailbox& mine,
                                            const RecvArgs& args) noexcept {
  return is_main(mine, sched::Execution::self()) && sched::spinning_pays_within() &&
         !mine.outside.may_come_from_outside(mine, args.context, args.source_in_comm);
}

template <bool is_watched>
[[gnu::always_inline]] inline bool receive(Mailbox& mine, const RecvArgs& args,
                                           Status* status) noexcept {
  bool is_patient = is_main(mine, sched::Execution::self()) && sched::spinning_pays();
  if (!is_patient && g_has_outside) [[unlikely]]
    is_patient = is_patient_within(mine, args);
  if (is_patient) {
    mine.start_polling();
  } else if (!mine.has_mail()) {
    return false;
  }
  if (!mine.try_lock()) return false;
  if (is_patient) mine.spinning.store(true, std::memory_order_relaxed);  // see Spinning
  const bool is_done = receive_locked<is_watched>(mine, args, is_patient, status);
  mine.unlock();
  if (is_patient) mine.spinning.store(false, std::memory_order_relaxed);
  return is_done;
}

}  // namespace mpc::msg::quick
