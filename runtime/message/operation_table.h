#pragma once
// OperationTable: the operations that another process will end, found by their number.
//
// Role:      needs no memory of its own per operation: operations are chained by a link that
//            otherwise only queues use. Numbers are consecutive, so bins are about equally full.
// Users:     runtime/message/endpoint.h, under its lock.
// Threads:   none of its own.
// See also:  runtime/message/request.h (Remote).

#include <utility>
#include <vector>

#include "runtime/message/request.h"

namespace mpc::msg {

class OperationTable {
 public:
  // Inserts by op.remote.id. Caller: the operation is in no queue, and has op.remote.
  void insert(Operation& op) {
    if (size_ == bins_.size()) grow();
    ++size_;
    link(op);
  }
  // Null: it is not in the table.
  Operation* find(uint64_t id) noexcept {
    return static_cast<Operation*>(*link_to(id));
  }
  // The same, and removes it.
  Operation* remove(uint64_t id) noexcept {
    Entry** const at = link_to(id);
    Entry* const found = *at;
    if (found == nullptr) return nullptr;
    *at = found->next[0];
    --size_;
    return static_cast<Operation*>(found);
  }
  // Removes all operations for which `is_wanted(op)` is true; it may store them, but not insert.
  template <class IsWanted>
  void remove_if(IsWanted is_wanted) {
    for (Entry*& bin : bins_) {
      for (Entry** at = &bin; *at != nullptr;) {
        Entry* const entry = *at;
        Entry* const next = entry->next[0];
        if (!is_wanted(static_cast<Operation&>(*entry))) {
          at = &entry->next[0];
          continue;
        }
        *at = next;
        --size_;
      }
    }
  }

 private:
  static constexpr size_t kFirstBins = 64;

  // Where the entry is linked, or the null at the end of its bin.
  Entry** link_to(uint64_t id) noexcept {
    Entry** at = &bins_[id & (bins_.size() - 1)];
    while (*at != nullptr && static_cast<Operation*>(*at)->remote.id != id)
      at = &(*at)->next[0];
    return at;
  }
  void link(Operation& op) noexcept {
    Entry*& bin = bins_[op.remote.id & (bins_.size() - 1)];
    op.next[0] = bin;
    bin = &op;
  }
  void grow() {
    const std::vector<Entry*> old =
        std::exchange(bins_, std::vector<Entry*>(2 * bins_.size()));
    for (Entry* entry : old) {
      while (entry != nullptr)
        link(static_cast<Operation&>(*std::exchange(entry, entry->next[0])));
    }
  }

  std::vector<Entry*> bins_ = std::vector<Entry*>(kFirstBins);
  size_t size_ = 0;
};

}  // namespace mpc::msg
