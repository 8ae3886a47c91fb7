#include "runtime/message/credit.h"

#include <algorithm>

#include "base/check.h"
#include "base/settings.h"

namespace mpc::msg {
namespace {

// Default: a thousand messages of the eager limit; chosen, not tuned.
IntSetting s_unexpected{"net.unexpected_bytes",
                        8 << 20,
                        "bytes",
                        "Memory of a rank that messages of other processes may fill "
                        "before they are received; beyond it data stay with their "
                        "senders until then; 0: always",
                        0,
                        1 << 30};

uint32_t share_of(size_t bytes, size_t least, int senders) noexcept {
  return bytes == 0 ? 0
                    : static_cast<uint32_t>(
                          std::max(bytes / static_cast<size_t>(senders), least) / 64);
}

}  // namespace

size_t Credit::bytes_from_settings() noexcept {
  return static_cast<size_t>(s_unexpected.get());
}

Credit::Counts Credit::make_counts(size_t n) {
  Counts counts(static_cast<uint32_t*>(std::calloc(n, sizeof(uint32_t))));
  CHECK(counts != nullptr, "no memory for the processes of the job");
  return counts;
}

Credit::Credit(const job::ProcessMap& map, int process, size_t bytes)
    : Credit({map.ranks_of(process), map.processes(), std::max(map.processes() - 1, 1),
              map.ranks()},
             bytes) {}

Credit::Credit(const Shape& shape, size_t bytes)
    : first_rank_(shape.own.first),
      own_ranks_(static_cast<size_t>(shape.own.size())),
      share_(share_of(bytes, kLeastShareBytes, shape.sharers)),
      due_(std::max(share_ / 2, 1u)),
      used_(make_counts(static_cast<size_t>(shape.numbers))),
      owed_(make_counts(static_cast<size_t>(shape.processes) * own_ranks_)) {}

void Credit::forget(int process, const std::vector<job::RankRange>& numbers) noexcept {
  // Written only where the value is not 0: pages that were never used stay untouched.
  const auto clear = [](std::atomic_ref<uint32_t> count) {
    if (count.load(std::memory_order_relaxed) != 0)
      count.store(0, std::memory_order_relaxed);
  };
  for (const job::RankRange& range : numbers)
    for (int rank = range.first; rank < range.end; ++rank)
      clear(std::atomic_ref(used_[rank]));
  for (size_t own = 0; own < own_ranks_; ++own)
    clear(owed(process, first_rank_ + static_cast<int>(own)));
}

}  // namespace mpc::msg
