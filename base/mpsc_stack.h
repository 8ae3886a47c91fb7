#pragma once
// MpscStack: many threads push, one thread at a time takes everything.
//
// Role:      hands objects to another thread without a lock: an inbox.
//            A member of the objects links them.
// Users:     scheduler (inboxes), runtime/heap (blocks that other threads free), runtime/message
//            (eager blocks that are returned), runtime/transport/ucx (sends that wait for its
//            lock), nbc/engine (nodes that wait for their rank).
// Threads:   every function by any thread, any number of takers included.
// See also:  docs/scheduler.md section "Queues".
//
// Why no object is lost or seen twice: pushers only add at the top, takers only take the whole
// chain by one exchange. There is no pop that compares a top it has read before with the present
// one, so an object that leaves and comes back (ABA) does no harm.
//
// Why the taker sees what all pushers wrote: each push is a read-modify-write with release order.
// The taker's exchange reads the last push, which is in the release sequence of all pushes before
// it, so its acquire pairs with each of them.

#include <atomic>

namespace mpc {

// T has a member `T* T::*Next`, which belongs to the stack while the object is in it.
template <class T, T* T::*Next>
class MpscStack {
 public:
  constexpr MpscStack() noexcept = default;
  MpscStack(const MpscStack&) = delete;
  MpscStack& operator=(const MpscStack&) = delete;

  // Returns true if the stack was empty: that one pusher must wake the taker.
  // Order: at least release, pairs with the take functions. seq_cst if
  // the pusher then reads something that the taker writes before it
  // checks the stack (Dekker: one of them sees the other).
  bool push(T& item, std::memory_order order = std::memory_order_release) noexcept {
    return push_chain(item, item, order);
  }
  // The same for a chain, linked from its newest object to its oldest one.
  bool push_chain(T& newest, T& oldest,
                  std::memory_order order = std::memory_order_release) noexcept {
    T* top = top_.load(std::memory_order_relaxed);
    do {
      oldest.*Next = top;
    } while (
        !top_.compare_exchange_weak(top, &newest, order, std::memory_order_relaxed));
    return top == nullptr;
  }

  // Everything, linked from the newest object to the oldest one; null if the stack is empty.
  // Order: at least acquire. Cost: an exchange, also if the stack is empty: ask is_empty() first.
  T* take_newest_first(std::memory_order order = std::memory_order_acquire) noexcept {
    return top_.exchange(nullptr, order);
  }
  // The same in the order of the pushes.
  T* take_oldest_first(std::memory_order order = std::memory_order_acquire) noexcept {
    return reversed(take_newest_first(order));
  }

  // A hint. seq_cst: a push that is not seen comes later in the order of the seq_cst operations.
  bool is_empty(std::memory_order order = std::memory_order_relaxed) const noexcept {
    return top(order) == nullptr;
  }
  // No hint: a push with acq_rel that is not seen here sees everything that
  // the caller has written before. For a thread that releases a lock and
  // then asks whether another one found it held and has pushed.
  // Order: acq_rel if it is empty. Why: the compare-and-exchange also writes, so either it or the
  // push reads what the other has written, or something later in that release sequence.
  // Cost: a read-modify-write if it is empty.
  bool confirm_empty() noexcept {
    T* top = nullptr;
    return top_.compare_exchange_strong(top, nullptr, std::memory_order_acq_rel,
                                        std::memory_order_relaxed);
  }
  // The newest object, only for comparison: it may be freed already.
  T* top(std::memory_order order = std::memory_order_relaxed) const noexcept {
    return top_.load(order);
  }

  // The chain in reverse order; null for null.
  static T* reversed(T* chain) noexcept {
    T* turned = nullptr;
    while (chain != nullptr) {
      T* next = chain->*Next;
      chain->*Next = turned;
      turned = chain;
      chain = next;
    }
    return turned;
  }

  // The address of the top, for code that may call nothing, not even a member of std::atomic.
  T** raw() noexcept { return reinterpret_cast<T**>(&top_); }

 private:
  static_assert(sizeof(std::atomic<T*>) == sizeof(T*));
  std::atomic<T*> top_{nullptr};
};

}  // namespace mpc
