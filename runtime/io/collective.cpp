#include "runtime/io/collective.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace mpc::io {
namespace {

constexpr Count kNowhere = std::numeric_limits<Count>::max();
void lower(std::atomic<Count>& value, Count to) noexcept {
  Count present = value.load(std::memory_order_relaxed);
  while (to < present &&
         !value.compare_exchange_weak(present, to, std::memory_order_relaxed)) {
  }
}

}  // namespace

void Reach::note(const WindowOutcome& outcome) noexcept {
  if (outcome.error != 0)
    note(Reach{outcome.stopped_at, kNotStopped, outcome.error});
  else
    file_end = std::min(file_end, outcome.stopped_at);
}

void Reach::note(const Reach& other) noexcept {
  if (other.failed_at < failed_at || error == 0) error = other.error;
  failed_at = std::min(failed_at, other.failed_at);
  file_end = std::min(file_end, other.file_end);
}

Outcome outcome_of(const Part& part, const Reach& reach) noexcept {
  if (part.bytes == 0) return {};
  const Count stop = std::min(reach.failed_at, reach.file_end);
  if (stop >= part.last) return {part.bytes, 0};
  const Count bytes =
      std::clamp<Count>(part.view->stream_before(stop) - part.begin, 0, part.bytes);
  return {bytes, reach.failed_at < part.last ? reach.error : 0};
}

Count pieces_of(const Part& part) noexcept {
  if (part.last - part.first == part.bytes) return 1;
  return std::max<Count>(part.bytes / part.view->mean_run(), 1);
}

Collective::Collective(const Target& target, std::vector<Part> parts, bool is_write)
    : target_(target),
      parts_(std::move(parts)),
      is_write_(is_write),
      failed_at_(kNowhere),
      file_end_(kNowhere) {
  begin_ = kNowhere;
  for (const Part& part : parts_) {
    if (part.bytes == 0) continue;
    begin_ = std::min(begin_, part.first);
    end_ = std::max(end_, part.last);
  }
  if (begin_ >= end_ || !is_worthwhile()) return;
  const Count window = target_.tuning.collective_window_bytes;
  begin_ = begin_ / window * window;
  window_count_ = (end_ - begin_ + window - 1) / window;
  left_.store(window_count_, std::memory_order_relaxed);
}

bool Collective::is_worthwhile() const noexcept {
  const Switch hint =
      is_write_ ? target_.tuning.collective_writes : target_.tuning.collective_reads;
  if (hint == Switch::kDisable) return false;
  Count bytes = 0, pieces = 0;
  int with_data = 0;
  for (const Part& part : parts_) {
    if (part.bytes == 0) continue;
    if (!part.view->is_ordered()) return false;
    ++with_data;
    bytes += part.bytes;
    pieces += pieces_of(part);
  }
  if (hint == Switch::kEnable) return true;
  return with_data > 1 && bytes / pieces < kLargePiece &&
         (end_ - begin_) / kMostSparse <= bytes;
}

bool Collective::work() {
  const Count window = target_.tuning.collective_window_bytes;
  for (;;) {
    const Count i = next_.fetch_add(1, std::memory_order_relaxed);
    if (i >= window_count_) return false;
    const Count begin = begin_ + i * window;
    const Count end = std::min(end_, begin + window);
    note(is_write_ ? write_window(target_, parts_, begin, end)
                   : read_window(target_, parts_, begin, end));
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) return true;
  }
}

void Collective::note(const WindowOutcome& outcome) noexcept {
  if (outcome.error != 0) {
    int none = 0;
    error_.compare_exchange_strong(none, outcome.error, std::memory_order_relaxed);
    lower(failed_at_, outcome.stopped_at);
  } else if (outcome.stopped_at != kNotStopped) {
    lower(file_end_, outcome.stopped_at);
  }
}

Outcome Collective::outcome(size_t index) const noexcept {
  return outcome_of(parts_[index], {failed_at_.load(std::memory_order_relaxed),
                                    file_end_.load(std::memory_order_relaxed),
                                    error_.load(std::memory_order_relaxed)});
}

}  // namespace mpc::io
