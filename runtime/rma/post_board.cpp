#include "runtime/rma/post_board.h"

#include <memory>

#include "runtime/message/message.h"

namespace mpc::rma {
namespace {

constexpr int kBits = 64;
uint64_t bit_of(int target) noexcept { return uint64_t{1} << (target % kBits); }

}  // namespace

PostBoard::~PostBoard() { delete[] words_.load(std::memory_order_relaxed); }

std::atomic<uint64_t>& PostBoard::word_of(int target) {
  // Acquire pairs with the exchange below.
  std::atomic<uint64_t>* words = words_.load(std::memory_order_acquire);
  if (words == nullptr) {
    const auto count = static_cast<size_t>((members_ + kBits - 1) / kBits);
    auto made = std::make_unique<std::atomic<uint64_t>[]>(count);
    if (words_.compare_exchange_strong(words, made.get(), std::memory_order_acq_rel))
      words = made.release();
  }
  return words[target / kBits];
}

void PostBoard::post(int target) {
  // seq_cst: either we see who awaits us, or the waiter sees the bit; see wait_and_take().
  word_of(target).fetch_or(bit_of(target), std::memory_order_seq_cst);
  if (awaited_.load(std::memory_order_seq_cst) == target) sleeper_.wake();
}

bool PostBoard::is_posted(int target) {
  return (word_of(target).load(std::memory_order_seq_cst) & bit_of(target)) != 0;
}

bool PostBoard::take(int target) {
  if (!is_posted(target)) return false;
  word_of(target).fetch_and(~bit_of(target), std::memory_order_relaxed);  // own again
  return true;
}

void PostBoard::wait_and_take(int target, job::Rank& self,
                              const sched::WaitReason& why) {
  if (take(target)) return;
  struct Wait {
    PostBoard& board;
    const int target;
  } wait{*this, target};
  awaited_.store(target, std::memory_order_seq_cst);
  msg::wait_for(
      self,
      {[](void* w) {
         auto& [board, from] = *static_cast<Wait*>(w);
         return board.is_posted(from);
       },
       [](void* w, sched::Execution& waiter) {
         static_cast<Wait*>(w)->board.sleeper_.arm(waiter);
       },
       [](void* w) { static_cast<Wait*>(w)->board.sleeper_.disarm(); }, &wait},
      why);
  awaited_.store(-1, std::memory_order_relaxed);
  take(target);
}

}  // namespace mpc::rma
