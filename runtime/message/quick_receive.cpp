#include "runtime/message/quick_receive.h"

#include <algorithm>

#include "runtime/message/small_copy.h"
#include "runtime/message/waiting.h"
#include "scheduler/execution.h"
#include "scheduler/may_spin.h"

namespace mpc::msg {
namespace {

// May the oldest message go to this receive, although the receive is in no queue?
bool is_mine(Mailbox& mine, const Arrival& message, const Key& key,
             const RecvArgs& args) {
  return message.kind == CellKind::kInline && matches(key, message.key) &&
         message.bytes <= args.type->size() * args.count &&
         (mine.posted.empty() ||
          mine.posted.find(message.key) == nullptr);  // earlier receives
}

// The oldest cell, as soon as it is published; null: it did not come soon, or other work
// has to be done first. Caller: holds the lock.
const Cell* look(Mailbox& mine, uint64_t position, bool is_patient) noexcept {
  constexpr int kLooks = 40;  // some 2 us: a pause takes about 50 ns
  const Cell& cell = mine.cells[position % kCells];
  if (is_patient) mine.answer_time.wait_before_look();
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

bool receive_locked(Mailbox& mine, const RecvArgs& args, bool is_patient,
                    Status* status) noexcept {
  const Key key{args.context, args.source_in_comm, args.tag};
  if (!mine.unexpected.empty() && mine.unexpected.find(key) != nullptr) return false;
  const uint64_t position = mine.head.load(std::memory_order_relaxed);
  const Cell* cell = look(mine, position, is_patient);
  if (cell == nullptr) return false;
  const Arrival message = read_first(cell->word.load(std::memory_order_relaxed), *cell);
  // An answer may follow: its line is fetched while this message is being processed.
  prefetch_for_write(mine.next_line.load(std::memory_order_relaxed));
  if (!is_mine(mine, message, key, args)) return false;
  mine.copy_out(message, position, static_cast<char*>(args.buffer));
  status->source = message.key.source;
  status->tag = message.key.tag;
  status->bytes = message.bytes;
  // Release pairs with the acquire in claim(): the cells may be written again.
  mine.head.store(position + message.cells, std::memory_order_release);
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
[[gnu::cold]] bool is_patient_within(Mailbox& mine, const RecvArgs& args) noexcept {
  return is_main(mine, sched::Execution::self()) && sched::spinning_pays_within() &&
         !mine.outside.may_come_from_outside(mine, args.context, args.source_in_comm);
}

}  // namespace

bool quick_receive(Mailbox& mine, const RecvArgs& args, Status* status) noexcept {
  if (!args.type->is_contiguous() || mine.is_wanted() ||
      mine.attention.load(std::memory_order_relaxed)) {
    return false;
  }
  bool is_patient = is_patient_alone(mine);
  if (!is_patient && g_has_outside) [[unlikely]]
    is_patient = is_patient_within(mine, args);
  if (is_patient) {
    mine.start_polling();
  } else if (!mine.has_mail()) {
    return false;
  }
  if (!mine.try_lock()) return false;
  if (is_patient) mine.spinning.store(true, std::memory_order_relaxed);  // see Spinning
  const bool is_done = receive_locked(mine, args, is_patient, status);
  mine.unlock();
  if (is_patient) mine.spinning.store(false, std::memory_order_relaxed);
  return is_done;
}

}  // namespace mpc::msg
