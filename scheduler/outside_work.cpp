#include "scheduler/outside_work.h"

#include <atomic>

namespace mpc::sched {
namespace {

constinit std::atomic<int64_t> g_under_way{0};
constinit std::atomic<uint64_t> g_begun{0};

}  // namespace

// Relaxed: until after this the caller is seen to run, or its own piece of work is counted.
void begin_outside_work() noexcept {
  g_under_way.fetch_add(1, std::memory_order_relaxed);
  g_begun.fetch_add(1, std::memory_order_relaxed);
}

void end_outside_work(int64_t pieces) noexcept {
  if (pieces != 0) g_under_way.fetch_sub(pieces, std::memory_order_release);
}

OutsideWork outside_work() noexcept {
  // acquire pairs with end_outside_work().
  const bool is_under_way = g_under_way.load(std::memory_order_acquire) != 0;
  return {is_under_way, g_begun.load(std::memory_order_relaxed)};
}

}  // namespace mpc::sched
