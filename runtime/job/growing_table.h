#pragma once
// GrowingTable: slots by index that stay where they are while the table grows.
//
// Role:      data about ranks that are spawned while others run: the others read it without a lock,
//            also crash handlers.
// Users:     runtime/job.
// Threads:   grow() one at a time; slot() and size() any.
// See also:  docs/design/0033-spawn.md.

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <memory>

namespace mpc::job {

// Each slot holds a pointer, null at first, whose object the table owns.
template <class T>
class GrowingTable {
 public:
  GrowingTable() = default;
  GrowingTable(const GrowingTable&) = delete;
  GrowingTable& operator=(const GrowingTable&) = delete;
  ~GrowingTable() {
    for (size_t i = 0; i < size(); ++i) delete slot(i).load(std::memory_order_relaxed);
    for (auto& block : blocks_) delete[] block.load(std::memory_order_relaxed);
  }

  // Afterwards slots [0, count) exist; a table does not shrink.
  void grow(size_t count) {
    for (size_t first = 0, b = 0; first < count; first += kFirst << b++)
      if (blocks_[b].load(std::memory_order_relaxed) == nullptr)
        // Release pairs with slot(): the slots are null.
        blocks_[b].store(
            new std::atomic<T*>[kFirst << b] {}, std::memory_order_release);
    if (count > size()) size_.store(count, std::memory_order_release);
  }
  size_t size() const noexcept { return size_.load(std::memory_order_acquire); }
  // Caller: knows that index < size(). Order: that of the operation on the slot.
  std::atomic<T*>& slot(size_t index) const noexcept {
    // Block b has kFirst << b slots, after the kFirst * (2^b - 1) slots of the blocks before it.
    const size_t turn = index / kFirst + 1;
    const auto b = static_cast<size_t>(std::bit_width(turn)) - 1;
    // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): turn > 0, so b is small
    const size_t first = kFirst * ((size_t{1} << b) - 1);
    return blocks_[b].load(std::memory_order_acquire)[index - first];
  }
  // Null: the slot is empty. Acquire pairs with put().
  T* get(size_t index) const noexcept {
    return index < size() ? slot(index).load(std::memory_order_acquire) : nullptr;
  }
  // Caller: the slot exists, and is empty.
  void put(size_t index, std::unique_ptr<T> object) noexcept {
    slot(index).store(object.release(), std::memory_order_release);
  }

 private:
  static constexpr size_t kFirst = 64;
  std::array<std::atomic<std::atomic<T*>*>, 24> blocks_{};
  std::atomic<size_t> size_{0};
};

}  // namespace mpc::job
