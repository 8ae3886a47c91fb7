#include "runtime/message/pieces.h"

#include <algorithm>

#include "runtime/message/short_wait.h"

namespace mpc::msg {

void Pieces::walk(const End& end, bool packs, uint32_t piece) noexcept {
  const size_t at = piece * step_, n = std::min(step_, bytes_ - at);
  if (packs) {
    dt::pack(end.buffer, *end.type, end.count, at, slot(piece), n);
  } else {
    dt::unpack(end.buffer, *end.type, end.count, at, slot(piece), n);
  }
}

void Pieces::do_helpers_part(uint32_t piece) noexcept {
  walk(helper_, helper_packs_, piece);
  // Release pairs with await(): the data, and that the slot is free.
  done_[piece % kSlots].store(piece + 1, std::memory_order_release);
}

void Pieces::do_copiers_part(uint32_t piece) noexcept {
  if (!is_direct_) walk(copier_, !helper_packs_, piece);
}

// Waits until the helper's part of this piece is done: by
// the helper or, if it has not begun, by us.
void Pieces::await(uint32_t piece) noexcept {
  ShortWait wait;
  bool is_by_helper = true;
  // Acquire pairs with do_helpers_part().
  while (done_[piece % kSlots].load(std::memory_order_acquire) != piece + 1) {
    if (own_->help()) continue;  // the other rank may be waiting for us in the same way
    if (patience_ > 0) {
      --patience_;
      __builtin_ia32_pause();
    } else if (theirs_->take_piece()) {
      is_by_helper = false;
    } else {
      wait.once();
    }
  }
  if (is_by_helper) patience_ = full_patience_;
}

bool Pieces::run(SharedCopy& theirs, SharedCopy& own, int patience) noexcept {
  theirs_ = &theirs;
  own_ = &own;
  full_patience_ = patience_ = patience;
  // The helper may begin as many pieces as there are slots, or those that we have packed.
  if (!theirs.open(*this, helper_packs_ ? std::min(kSlots, count_) : 0)) return false;
  for (uint32_t piece = 0; piece < count_; ++piece) {
    if (helper_packs_) {
      await(piece);
      do_copiers_part(piece);
      theirs.allow(std::min(piece + 1 + kSlots, count_));
    } else {
      if (piece >= kSlots) await(piece - kSlots);
      do_copiers_part(piece);
      theirs.allow(piece + 1);
    }
  }
  if (!helper_packs_)
    for (uint32_t piece = count_ - std::min(kSlots, count_); piece < count_; ++piece)
      await(piece);
  theirs.close();
  return true;
}

}  // namespace mpc::msg
