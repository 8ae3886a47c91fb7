#pragma once
// ContextReserve: context ids that the members of a communicator have agreed on in advance.
//
// Role:      the members of a communicator of several processes take ids from it in the order of
//            their calls, which MPI requires to be the same at all members. So they create
//            communicators without a message. When the reserve is empty, the next call agrees on a
//            new one.
// Users:     mpi/objects: communicators have one, comm_make.cpp takes from it.
// Threads:   those of one rank, one at a time: two threads may not create communicators from the
//            same one at once (MPI-4.1 section 11.6.2: the user orders collective calls).
// See also:  mpi/objects/context_ids.h, docs/design/0006-meetings.md.

#include <memory>
#include <utility>

#include "mpi/objects/meeting.h"

namespace mpc::mpi {

// The members agree on a new reserve.
struct ReserveRoom final : Room {
  ContextGrant grant;
  int pairs_wanted() const override { return kReservePairs; }
  void conclude(Ids& ids) override { grant = ids.draw(kReservePairs); }
};

// One context id, taken from a reserve, which may not be agreed on yet.
class ContextSlot {
 public:
  ContextSlot() = default;
  ContextSlot(ContextGrant grant, std::shared_ptr<ReserveRoom> room, int pair) noexcept
      : grant_(grant), room_(std::move(room)), pair_(pair) {}

  // Concludes the agreement if all members have come. Switches: no.
  bool is_known() { return room_ == nullptr || detail::is_over(*room_); }
  void wait(job::Rank& self, const char* what) {
    if (room_ != nullptr) detail::wait_for_end(self, *room_, what);
  }
  // Needs: it is known.
  msg::ContextId id() const noexcept {
    return (room_ == nullptr ? grant_ : room_->grant).id(pair_);
  }

 private:
  ContextGrant grant_;
  std::shared_ptr<ReserveRoom> room_;  // null: `grant_` is what it is
  int pair_ = 0;
};

class ContextReserve {
 public:
  explicit ContextReserve(ContextGrant grant) noexcept
      : grant_(grant), left_(grant.pairs) {}

  bool is_empty() const noexcept { return left_ == 0; }
  // `room`: where the members agree, or have agreed, on more. Needs: the reserve is empty.
  void refill(std::shared_ptr<ReserveRoom> room) noexcept {
    room_ = std::move(room);
    grant_.pairs = left_ = kReservePairs;
  }
  // Needs: the reserve is not empty.
  ContextSlot take() noexcept { return {grant_, room_, grant_.pairs - left_--}; }

 private:
  ContextGrant grant_;  // with a room only their number counts
  int left_;
  std::shared_ptr<ReserveRoom> room_;
};

}  // namespace mpc::mpi
