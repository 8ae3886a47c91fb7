#pragma once
// ItemQueue: the items of one rank, the oldest first, linked by a member of the items.
//
// Role:      a FIFO from whose middle an item can be removed.
// Users:     scheduler/progress: progress threads.
// Threads:   the caller locks.
// See also:  scheduler/progress/progress.h.

#include "scheduler/progress/progress.h"

namespace mpc::sched {

class ItemQueue {
 public:
  bool is_empty() const noexcept { return first_ == nullptr; }
  void push(ProgressItem& item) noexcept {
    item.next = nullptr;
    (last_ != nullptr ? last_->next : first_) = &item;
    last_ = &item;
  }
  // The oldest item; null if there is none.
  ProgressItem* pop() noexcept {
    ProgressItem* item = first_;
    if (item == nullptr) return nullptr;
    first_ = item->next;
    if (first_ == nullptr) last_ = nullptr;
    return item;
  }
  // Removes `wanted`, which is only compared unless it is queued here. False: it is not.
  bool take(const ProgressItem* wanted) noexcept {
    ProgressItem* before = nullptr;
    for (ProgressItem* item = first_; item != nullptr;
         before = item, item = item->next) {
      if (item != wanted) continue;
      (before != nullptr ? before->next : first_) = item->next;
      if (last_ == item) last_ = before;
      return true;
    }
    return false;
  }

 private:
  ProgressItem* first_ = nullptr;
  ProgressItem* last_ = nullptr;
};

}  // namespace mpc::sched
