#pragma once
// MpscQueue: an intrusive queue with many pushers and one taker at a time.
//
// Role:      hands objects to another thread without a lock; the taker takes everything.
// Users:     every layer.
// Threads:   push() by anyone; take_all() by any thread (an exchange), the order holds per taker.
// See also:  scheduler/worker.cpp uses the same idea for its inbox.

#include <atomic>

namespace mpc {

// T has a member `T* T::*Next` that the queue uses while the object is in it.
template <class T, T* T::*Next>
class MpscQueue {
 public:
  MpscQueue() noexcept = default;
  MpscQueue(const MpscQueue&) = delete;
  MpscQueue& operator=(const MpscQueue&) = delete;

  // Returns true if the queue was empty: the one pusher who must wake the taker.
  // Order: release, pairs with the acquire in take_all(). Pushers only add and the taker only
  // takes the whole chain, so there is no ABA.
  bool push(T& item) noexcept {
    T* top = top_.load(std::memory_order_relaxed);
    do {
      item.*Next = top;
    } while (!top_.compare_exchange_weak(top, &item, std::memory_order_release,
                                         std::memory_order_relaxed));
    return top == nullptr;
  }

  bool empty() const noexcept {
    return top_.load(std::memory_order_relaxed) == nullptr;
  }

  // Everything, linked through Next, the oldest first; null if there is nothing.
  T* take_all() noexcept {
    if (empty()) return nullptr;
    // Acquire pairs with every push(): each is a read-modify-write, so the whole chain is in
    // one release sequence.
    T* newest = top_.exchange(nullptr, std::memory_order_acquire);
    T* oldest_first = nullptr;
    while (newest != nullptr) {
      T* next = newest->*Next;
      newest->*Next = oldest_first;
      oldest_first = newest;
      newest = next;
    }
    return oldest_first;
  }

 private:
  std::atomic<T*> top_{nullptr};
};

}  // namespace mpc
