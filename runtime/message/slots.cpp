#include "runtime/message/slots.h"

#include <atomic>
#include <new>

#include "runtime/message/pieces.h"
#include "scheduler/execution.h"

namespace mpc::msg {
namespace {

constexpr size_t kBytes = Pieces::kSlots * Pieces::kMostPiece;
constexpr std::align_val_t kAlignment{4096};  // pages of their own

struct alignas(64) Kept {
  std::atomic<char*> memory{nullptr};
};
// Two cores with the same entry take turns, or allocate.
constexpr size_t kCores = 64;
constinit Kept g_kept[kCores];

std::atomic<char*>& kept_here() noexcept {
  return g_kept[static_cast<size_t>(sched::Execution::self().core() + 1) % kCores]
      .memory;
}

}  // namespace

// Acquire pairs with the destructor's release: the previous user no longer reads or writes it.
Slots::Slots() noexcept
    : data_(kept_here().exchange(nullptr, std::memory_order_acquire)) {
  if (data_ == nullptr)
    data_ = static_cast<char*>(::operator new(kBytes, kAlignment, std::nothrow));
}

Slots::~Slots() {
  char* none = nullptr;
  if (data_ != nullptr &&
      !kept_here().compare_exchange_strong(none, data_, std::memory_order_release,
                                           std::memory_order_relaxed))
    ::operator delete(data_, kAlignment);
}

}  // namespace mpc::msg
