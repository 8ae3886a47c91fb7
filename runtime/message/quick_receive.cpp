#include "runtime/message/quick_receive.h"

#include <algorithm>

#include "runtime/message/quick_receiving.h"

namespace mpc::msg {

// Clearly quicker: a rank that waits sees nothing else meanwhile.
bool AnswerTime::waiting_pays() const noexcept {
  return direct_.ticks == 0 || waited_.ticks == 0 ||
         waited_.ticks < direct_.ticks - direct_.ticks / 16;
}

void AnswerTime::learn_from_probe(int64_t ticks) noexcept {
  direct_.add(ticks);
  // The time until the answer was seen, by who looked too early, is that of three journeys of
  // a line or four; we shall need one.
  if (next_credit_ == 1) wait_ticks_ = std::min(wait_ticks_, ticks / 2);
  if (wait_ticks_ <= 0) wait_ticks_ = ticks / 2;
  credit_ = next_credit_;
  next_credit_ = std::min(2 * next_credit_ + 1, kMostCredit);
  if (waiting_pays()) return;
  credit_ = std::min(credit_, kComparison);
  direct_left_.store(kDirectSeries, std::memory_order_relaxed);
}

// `looks_in_vain` > 0, or this is a probe or measured, or nothing has come.
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

bool quick_receive(Mailbox& mine, const RecvArgs& args, Status* status) noexcept {
  if (!args.type->is_contiguous()) return false;
  if (mine.is_wanted()) [[unlikely]]
    return receive_if_watched(mine, args, status);
  if (mine.attention.load(std::memory_order_relaxed)) return false;
  return quick::receive<false>(mine, args, status);
}

}  // namespace mpc::msg
