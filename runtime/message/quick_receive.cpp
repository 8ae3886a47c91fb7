#include "runtime/message/quick_receive.h"

#include <algorithm>

#include "runtime/message/small_copy.h"
#include "runtime/message/waiting.h"
#include "scheduler/execution.h"
#include "scheduler/may_spin.h"

namespace mpc::msg {
namespace {

// May the oldest message go to a receive with this key, although that is in no queue?
bool may_take(Mailbox& mine, const Arrival& message, const Key& key) noexcept {
  return message.kind == CellKind::kInline && matches(key, message.key) &&
         (mine.posted.empty() ||
          mine.posted.find(message.key) == nullptr);  // earlier receives
}
// Has a message with this key come before those of the ring?
bool is_kept(Mailbox& mine, const Key& key) noexcept {
  return !mine.unexpected.empty() && mine.unexpected.find(key) != nullptr;
}

// A message is about to be there: if it is as long as the last one, its other lines come at the same time as
// the first one, and not after it.
inline void fetch_rest(const Mailbox& mine, uint64_t position) noexcept {
  for (uint64_t i = kCellsPerLine; i < mine.last_cells; i += kCellsPerLine)
    __builtin_prefetch(&mine.cells[(position + i) % kCells]);
}

// The oldest cell, as soon as it is published; null: it did not come soon, or other work
// has to be done first. Caller: holds the lock.
[[gnu::always_inline]] inline const Cell* look(Mailbox& mine, uint64_t position,
                                               bool is_patient) noexcept {
  constexpr int kLooks = 40;  // some 2 us: a pause takes about 50 ns
  const Cell& cell = mine.cells[position % kCells];
  if (is_patient) {
    mine.answer_time.wait_before_look();
    if (mine.answer_time.has_waited()) fetch_rest(mine, position);
  }
  for (int i = 0;; ++i) {
    // Acquire pairs with the release of the publisher.
    if (is_first(cell.word.load(std::memory_order_acquire), position)) {
      if (is_patient) mine.answer_time.note_end(i, true);
      return &cell;
    }
    if (!is_patient || i == kLooks || mine.is_wanted() || !sched::may_spin() ||
        mine.attention.load(std::memory_order_relaxed)) {
      if (is_patient) mine.answer_time.note_end(i, false);
      return nullptr;
    }
    // Polling more often makes the sender's store slower: each look takes its line away.
    __builtin_ia32_pause();
  }
}

}  // namespace

// Clearly quicker: a rank that waits sees nothing else meanwhile.
bool AnswerTime::waiting_pays() const noexcept {
  return direct_.ticks == 0 || waited_.ticks == 0 ||
         waited_.ticks < direct_.ticks - direct_.ticks / 16;
}

void AnswerTime::learn_from_probe(int64_t ticks) noexcept {
  direct_.add(ticks);
  // If the rank has looked too early, the time until it saw the answer is that of three or four
  // journeys of a line; we shall need one.
  if (next_credit_ == 1) wait_ticks_ = std::min(wait_ticks_, ticks / 2);
  if (wait_ticks_ <= 0) wait_ticks_ = ticks / 2;
  credit_ = next_credit_;
  next_credit_ = std::min(2 * next_credit_ + 1, kMostCredit);
  if (waiting_pays()) return;
  credit_ = std::min(credit_, kComparison);
  direct_left_.store(kDirectSeries, std::memory_order_relaxed);
}

// `looks_in_vain` > 0, or this is a probe or measured, or no message has come.
void AnswerTime::learn(int looks_in_vain, bool has_come) noexcept {
  if (look_ != Look::kProbe) {
    wait_ticks_ = looks_in_vain == 0 && has_come
                      ? wait_ticks_ - kLessTicks
                      : std::min(wait_ticks_ + kMoreTicks, kMostWaitTicks);
    if (!has_come) credit_ = 0;
    if (look_ == Look::kWaited) return;
  }
  const auto ticks =
      static_cast<int64_t>(__rdtsc() - sent_ticks_.load(std::memory_order_relaxed));
  sent_ticks_.store(0, std::memory_order_relaxed);
  const bool is_answer = has_come && ticks <= kMostTicks;
  if (look_ == Look::kMeasured) {
    if (is_answer) waited_.add(ticks);
  } else if (is_answer && looks_in_vain > 0) {
    learn_from_probe(ticks);
  } else {
    next_credit_ = 1;
  }
}

namespace {

void describe(const Arrival& message, Status* status) noexcept {
  status->source = message.key.source;
  status->tag = message.key.tag;
  status->bytes = message.bytes;
}

// A message of several cells, or one whose turn it may not be.
[[gnu::noinline]] bool receive_longer(Mailbox& mine, const Cell& cell,
                                      uint64_t position, char* buffer, size_t room,
                                      const Key& key, Status* status) noexcept {
  const Arrival message = read_first(cell.word.load(std::memory_order_relaxed), cell);
  if (message.bytes > room || !may_take(mine, message, key)) return false;
  mine.copy_out(message, position, buffer);
  mine.last_cells = message.cells;
  if (status != nullptr) describe(message, status);
  // Release pairs with the acquire in claim(): the cells may be written again.
  mine.head.store(position + message.cells, std::memory_order_release);
  return true;
}

// What can be prepared before the message is there is: from then on each instruction delays it.
[[gnu::always_inline]] inline bool receive_locked(Mailbox& mine, char* buffer,
                                                  size_t room, const Key& key,
                                                  bool is_patient,
                                                  Status* status) noexcept {
  if (is_kept(mine, key)) [[unlikely]]
    return false;
  const CompactPattern pattern = compact_pattern(key);
  const bool is_only_receive = mine.posted.empty();
  const uint64_t position = mine.head.load(std::memory_order_relaxed);
  const Cell* cell = look(mine, position, is_patient);
  if (cell == nullptr) return false;
  // An answer may follow: its line is fetched while this message is being processed.
  prefetch_for_write(mine.next_line.load(std::memory_order_relaxed));
  const uint64_t word = cell->word.load(std::memory_order_relaxed);
  const uint32_t bytes = compact_bytes(word);
  if (!is_only_receive || !is_compact(word) || !pattern.matches(word) || bytes > room)
    return receive_longer(mine, *cell, position, buffer, room, key, status);
  small_copy(buffer, cell->payload, bytes);
  mine.last_cells = 1;
  // Release pairs with the acquire in claim(): the cell may be written again.
  mine.head.store(position + 1, std::memory_order_release);
  if (status != nullptr) describe(read_first(word, *cell), status);
  return true;
}

// The message stays where it is, for the receive that follows.
bool probe_locked(Mailbox& mine, const Key& key, bool is_patient,
                  Status* status) noexcept {
  if (is_kept(mine, key)) return false;
  const Cell* cell = look(mine, mine.head.load(std::memory_order_relaxed), is_patient);
  if (cell == nullptr) return false;
  const Arrival message = read_first(cell->word.load(std::memory_order_relaxed), *cell);
  if (!may_take(mine, message, key)) return false;
  *status = Status{};
  describe(message, status);
  return true;
}

// Without other processes.
bool is_patient_alone(const Mailbox& mine) noexcept {
  const sched::Execution& me = sched::Execution::self();
  if (is_main(mine, me)) return sched::spinning_pays();
  return may_poll(mine, me) && !g_has_outside && sched::may_spin() &&
         !mine.is_any_parked(std::memory_order_relaxed);
}

// With other processes: waits only for a message of the rank's
// own process. No thread polls the network meanwhile.
// Not [[gnu::cold]]: gcc would move all that follows in recv_small() apart, too.
[[gnu::noinline]] bool is_patient_within(Mailbox& mine, ContextId context,
                                         int source) noexcept {
  return is_main(mine, sched::Execution::self()) && sched::spinning_pays_within() &&
         !mine.outside.may_come_from_outside(mine, context, source);
}

[[gnu::always_inline]] inline bool is_patient_for(Mailbox& mine, ContextId context,
                                                  int source) noexcept {
  return is_patient_alone(mine) ||
         (g_has_outside && is_patient_within(mine, context, source));
}

// `look(is_patient)` under the lock; false where other work has to be done first.
template <class Look>
[[gnu::always_inline]] inline bool look_under_lock(Mailbox& mine, bool is_patient,
                                                   Look look) noexcept {
  if (is_patient) {
    mine.start_polling();
  } else if (!mine.has_mail()) {
    return false;
  }
  if (!mine.try_lock()) return false;
  if (is_patient) mine.spinning.store(true, std::memory_order_relaxed);  // see Spinning
  const bool is_done = look();
  mine.unlock();
  if (is_patient) mine.spinning.store(false, std::memory_order_relaxed);
  return is_done;
}

bool has_other_work(const Mailbox& mine) noexcept {
  return mine.is_wanted() || mine.attention.load(std::memory_order_relaxed);
}

}  // namespace

[[gnu::flatten]] bool recv_small(job::Rank& self, void* buffer, size_t room,
                                 Origin origin, int tag, Status* status) noexcept {
  Mailbox& mine = mailbox_of(self);
  if (has_other_work(mine)) [[unlikely]]
    return false;
  const Key key{origin.context(), origin.source(), tag};
  const bool is_patient = is_patient_for(mine, key.context, key.source);
  return look_under_lock(mine, is_patient, [&]() noexcept {
    return receive_locked(mine, static_cast<char*>(buffer), room, key, is_patient,
                          status);
  });
}

bool quick_probe(Mailbox& mine, const Key& key, bool may_wait,
                 Status* status) noexcept {
  if (has_other_work(mine)) return false;
  const bool is_patient = may_wait && is_patient_for(mine, key.context, key.source);
  return look_under_lock(mine, is_patient, [&]() noexcept {
    return probe_locked(mine, key, is_patient, status);
  });
}

}  // namespace mpc::msg
