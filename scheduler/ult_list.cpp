#include "scheduler/ult_list.h"

namespace mpc::sched {

void UltList::add(Ult& ult) {
  const Locked lock(lock_);
  live_.fetch_add(1, std::memory_order_relaxed);
  ult.live_count = &live_;
  ults_.push_back(&ult);
}

void UltList::remove(Ult& ult) {
  const Locked lock(lock_);
  live_.fetch_sub(1, std::memory_order_relaxed);
  std::erase(ults_, &ult);
}

std::vector<Ult*> UltList::wait_for_all() {
  uint32_t live;
  // Acquire pairs with the release in Ult::end().
  while ((live = live_.load(std::memory_order_acquire)) != 0) futex_wait(live_, live);
  std::vector<Ult*> ended;
  const Locked lock(lock_);
  ended.swap(ults_);
  return ended;
}

}  // namespace mpc::sched
