#pragma once
// Pool: objects of one type, reused instead of freed.
//
// Role:      keeps malloc out of the hot path (requests, envelopes, nodes of a schedule).
// Users:     every layer.
// Threads:   the caller locks, or each rank has its own.
// See also:  house rule 9.

#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "base/check.h"

namespace mpc {

// Memory goes back to the system only when the pool dies. Cost: create and destroy 2-3 ns.
template <class T, size_t kChunk = 64>
class Pool {
 public:
  Pool() noexcept = default;
  ~Pool() { CHECK(live_ == 0, "a pool dies while objects of it live"); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  template <class... Args>
  T* create(Args&&... args) {
    if (free_ == nullptr) grow();
    Slot* slot = free_;
    free_ = slot->next;
    ++live_;
    return new (slot->bytes) T(std::forward<Args>(args)...);
  }

  void destroy(T* object) noexcept {
    object->~T();
    Slot* slot = reinterpret_cast<Slot*>(object);
    slot->next = free_;
    free_ = slot;
    --live_;
  }

  size_t live_count() const noexcept { return live_; }

 private:
  union Slot {
    Slot* next;
    alignas(T) unsigned char bytes[sizeof(T)];
  };

  [[gnu::cold]] void grow() {
    chunks_.push_back(std::make_unique<Slot[]>(kChunk));
    for (size_t i = 0; i < kChunk; ++i) {
      Slot& slot = chunks_.back()[i];
      slot.next = free_;
      free_ = &slot;
    }
  }

  std::vector<std::unique_ptr<Slot[]>> chunks_;
  Slot* free_ = nullptr;
  size_t live_ = 0;
};

}  // namespace mpc
