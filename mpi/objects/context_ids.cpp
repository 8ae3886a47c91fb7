#include "mpi/objects/context_ids.h"

namespace mpc::mpi {
namespace {

static_assert(kWorldReserve.first > kSelfContext + 1 &&
              kWorldReserve.first + 2 * kReservePairs <= 2 * ContextIds::kFirstPair);

constexpr uint64_t kPairs = ContextIds::kEndPair - ContextIds::kFirstPair;

}  // namespace

ContextIds::ContextIds(int index, int processes) noexcept
    : first_(kFirstPair +
             kPairs / static_cast<uint64_t>(processes) * static_cast<uint64_t>(index)),
      size_(kPairs / static_cast<uint64_t>(processes)),
      kept_(size_ / 8) {}

ContextGrant ContextIds::take(int pairs) noexcept {
  const auto n = static_cast<uint64_t>(pairs);
  for (;;) {
    // Relaxed: the numbers publish no other data.
    const uint64_t taken = taken_.fetch_add(n, std::memory_order_relaxed);
    const uint64_t at =
        taken < size_ ? taken : kept_ + (taken - size_) % (size_ - kept_);
    // Otherwise the grant would reach beyond the range: its pairs are skipped in this round.
    if (at + n <= size_) [[likely]]
      return {static_cast<msg::ContextId>(2 * (first_ + at)), pairs};
  }
}

}  // namespace mpc::mpi
