#include "runtime/message/eager_pool.h"

#include <bit>
#include <new>

#include "base/check.h"

namespace mpc::msg {

EagerPool::~EagerPool() { clear(); }

int EagerPool::class_of(size_t bytes) noexcept {
  if (bytes <= kSmallest) return 0;
  return static_cast<int>(std::bit_width(bytes - 1) - std::bit_width(kSmallest - 1));
}

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
  // acquire pairs with the release below: the lists of the previous holder.
  if (busy_.exchange(1, std::memory_order_acquire) != 0)
    return make(size_class, nullptr);
  if (free_[size_class] == nullptr) collect();
  Block* block = free_[size_class];
  if (block != nullptr) {
    free_[size_class] = block->next_free;
    --free_counts_[size_class];
  }
  busy_.store(0, std::memory_order_release);  // pairs with the exchange above
  return block != nullptr ? block : make(size_class, this);
}

void EagerPool::collect() noexcept {
  // acquire pairs with the release in give_back().
  Block* block = returned_.exchange(nullptr, std::memory_order_acquire);
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
  Block* top = owner->returned_.load(std::memory_order_relaxed);
  do {
    block->next_free = top;
    // release pairs with the acquire in collect(): the block is no longer read.
  } while (!owner->returned_.compare_exchange_weak(
      top, block, std::memory_order_release, std::memory_order_relaxed));
}

void EagerPool::clear() noexcept {
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
