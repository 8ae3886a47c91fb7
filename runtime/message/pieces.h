#pragma once
// Pieces: a message whose bytes pass packed between two cores, each of which walks its own layout.
//
// Role:      the copier's side, and what the other end does for each piece. The packed pieces lie
//            in a few slots, or in the copier's buffer if that is contiguous.
// Users:     runtime/message (scattered_copy.cpp; shared_copy.cpp for the helper's part).
// Threads:   run() the copier; do_helpers_part() the thread that has claimed that piece.
// See also:  docs/design/0036-scattered-layouts.md (why this is safe), runtime/message/shared_copy.h.
//
//   the sender packs       slot 0 | slot 1 | ... | slot 7       the receiver unpacks
//                          piece 8, 16 ...: when the receiver has emptied the slot
//
// Either end may be the copier. The other one does its part as the helper of a SharedCopy; if it
// does not begin a piece in time, the copier makes that piece alone.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "runtime/datatype/datatype.h"
#include "runtime/message/shared_copy.h"

namespace mpc::msg {

class Pieces final : public HelpedPieces {
 public:
  // Short ones, so that both ends begin soon; long ones cost fewer hand-overs.
  static constexpr size_t kLeastPiece = 2 << 10, kMostPiece = 8 << 10;
  static constexpr uint32_t kSlots = 8;

  struct End {
    void* buffer;  // only read if it is the sender's
    const dt::Datatype* type;
    dt::Count count;
  };
  // `slots`: kSlots * kMostPiece bytes; unused if the copier's type is contiguous.
  Pieces(const End& copier, const End& helper, bool helper_packs, size_t bytes,
         char* slots) noexcept
      : copier_(copier),
        helper_(helper),
        helper_packs_(helper_packs),
        is_direct_(copier.type->is_contiguous()),
        bytes_(bytes),
        step_(piece_of(bytes)),
        count_(static_cast<uint32_t>((bytes + step_ - 1) / step_)),
        slots_(slots) {}
  Pieces(const Pieces&) = delete;
  Pieces& operator=(const Pieces&) = delete;

  // `theirs` is where the helper looks; `own` is where others offer copies to the copier's rank,
  // which they may do at the same time: it helps them while it waits. `patience`: how many checks a
  // piece may take to be begun. False: nothing was done, because another copy is offered there.
  // Switches: no; waits for pieces that are begun.
  bool run(SharedCopy& theirs, SharedCopy& own, int patience) noexcept;

  // The size of pieces for a message of so many bytes.
  static constexpr size_t piece_of(size_t bytes) noexcept {
    constexpr size_t kPieces = 16;
    const size_t piece = std::clamp(bytes / kPieces, kLeastPiece, kMostPiece);
    return piece / 64 * 64;  // whole lines
  }
  void do_helpers_part(uint32_t piece) noexcept override;

 private:
  void do_copiers_part(uint32_t piece) noexcept;
  char* slot(uint32_t piece) const noexcept {
    return is_direct_ ? static_cast<char*>(copier_.buffer) + piece * step_
                      : slots_ + piece % kSlots * step_;
  }
  void walk(const End& end, bool packs, uint32_t piece) noexcept;
  void await(uint32_t piece) noexcept;

  const End copier_, helper_;
  const bool helper_packs_, is_direct_;
  const size_t bytes_, step_;
  const uint32_t count_;
  char* const slots_;
  SharedCopy* theirs_ = nullptr;
  SharedCopy* own_ = nullptr;
  int full_patience_ = 0, patience_ = 0;
  // The helper's part of piece p is done: p + 1, in the word of its slot.
  alignas(64) std::atomic<uint32_t> done_[kSlots] = {};
};

}  // namespace mpc::msg
