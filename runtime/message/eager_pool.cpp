#include "runtime/message/eager_pool.h"

#include <new>

#include "base/check.h"

namespace mpc::msg {

EagerPool::~EagerPool() { clear(); }

Block* EagerPool::make(int size_class, EagerPool* owner) {
  const size_t bytes = sizeof(Block) + (kSmallest << size_class);
  void* memory = ::operator new (bytes, std::align_val_t{alignof(Block)}, std::nothrow);
  CHECK(memory != nullptr, "no memory for an eager message");
  auto* block = new (memory) Block;
  block->owner = owner;
  block->size_class = size_class;
  return block;
}

Block* EagerPool::take(size_t bytes) {
  const int size_class = class_of(bytes);
  if (!lock_.try_lock()) return make(size_class, nullptr);
  if (free_[size_class] == nullptr) collect();
  Block* block = free_[size_class];
  if (block != nullptr) {
    free_[size_class] = block->next_free;
    --free_counts_[size_class];
  }
  lock_.unlock();
  if (is_long(size_class)) {
    long_bytes_.fetch_add(kSmallest << size_class, std::memory_order_relaxed);
  }
  return block != nullptr ? block : make(size_class, this);
}

void EagerPool::collect() noexcept {
  Block* block = returned_.take_newest_first();
  while (block != nullptr) {
    Block* next = block->next_free;
    const int c = block->size_class;
    if (free_counts_[c] * (kSmallest << c) < kKeptBytesPerClass) {
      block->next_free = free_[c];
      free_[c] = block;
      ++free_counts_[c];
    } else {
      ::operator delete (block, std::align_val_t{alignof(Block)});
    }
    block = next;
  }
}

void EagerPool::give_back(Block* block) noexcept {
  EagerPool* owner = block->owner;
  if (owner == nullptr) {
    ::operator delete (block, std::align_val_t{alignof(Block)});
    return;
  }
  if (is_long(block->size_class)) {
    owner->long_bytes_.fetch_sub(kSmallest << block->size_class,
                                 std::memory_order_relaxed);
  }
  owner->returned_.push(*block);
}

void EagerPool::clear() noexcept {
  const Locked locked(lock_);
  collect();
  for (int c = 0; c < kClasses; ++c) {
    while (Block* block = free_[c]) {
      free_[c] = block->next_free;
      ::operator delete (block, std::align_val_t{alignof(Block)});
    }
    free_counts_[c] = 0;
  }
}

}  // namespace mpc::msg
