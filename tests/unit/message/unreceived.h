#pragma once
// Unreceived: what messages of other processes hold of a rank's memory, for tests.
//
// Role:      looks into the unexpected queue.
// Users:     tests/unit/message.
// Threads:   any execution.
// See also:  runtime/message/credit.h.

#include "runtime/message/mailbox.h"

namespace mpc::msg::test {

struct Held {
  size_t messages = 0, with_data = 0;
  size_t data_memory = 0;   // of those with data, in all
  size_t offer_memory = 0;  // of the others
};

inline Held held_by(Mailbox& mailbox) {
  Held held;
  mailbox.lock_now();
  for (Entry* entry = mailbox.unexpected.first(); entry != nullptr;
       entry = entry->next[0]) {
    if (entry->kind != Entry::kParcel) continue;
    ++held.messages;
    if (static_cast<Block*>(entry)->head.bulk == 0) {
      ++held.with_data;
      held.data_memory += EagerPool::memory_of(static_cast<size_t>(entry->bytes));
    } else {
      held.offer_memory += EagerPool::memory_of(0);
    }
  }
  mailbox.unlock();
  return held;
}

}  // namespace mpc::msg::test
