#pragma once
// Later: small collectives that do not block, of members that share places: the last one to come acts for all.
//
// Role:      members arrive with their calls and data, and go on; the last one writes what all receive, and tells
//            those that wait. No member has to do anything for another one later.
// Users:     nbc/direct/pending.cpp; a Team makes one at the first need.
// Threads:   any execution of a member; one at a time arrives for a member.
// See also:  nbc/direct/settle.h (what the last one does), docs/design/0050-small-nonblocking.md.
//
// Each member numbers its meetings itself, from 1 on; it may be any number of meetings ahead of
// another one. It arrives at number k before k + 1, so a place has all its members for k first. Whoever finds that
// all places have the next meeting complete settles it below a common lock, so meetings end in the order of their
// numbers.
//
// Why the data are there: a member writes its call, and copies what it sends, before it leaves its place's lock; the
// last one has taken that lock after it. What the last one writes comes before the store of over_ (release).
//
// Why no wake-up is lost: the last one stores over_, then loads the watchers; a member adds itself to them, then loads
// over_; all seq_cst. One of the two sees the other.

#include <atomic>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "base/mutex.h"
#include "nbc/direct/settle.h"
#include "runtime/job/rank.h"

namespace mpc::nbc::direct {

struct Pending;

class Later {
 public:
  // The place of each member, numbered from 0 on without a gap.
  explicit Later(std::span<const int> place_of_member);
  Later(const Later&) = delete;

  // The member arrives at its next meeting, with a call that stays where it is until that one is_over(). Returns
  // the meeting's number. Order: once is_over(), all members see what the others did before they arrived.
  // Switches: no. Cost: one lock, and a copy of what it sends; for the last member settle(), and a look at each
  // other one. Errors: 0 if there is no memory; then nothing has changed.
  uint64_t arrive(Pending& call) noexcept;
  bool is_over(uint64_t number) const noexcept {
    // seq_cst: see watch(). Acquire pairs with the store in arrive().
    return over_.load(std::memory_order_seq_cst) >= number;
  }
  // From watch() to unwatch() the member's rank is notified when a meeting is over. Caller: has arrived.
  void watch(int member) noexcept {
    guest(member).watchers.fetch_add(1, std::memory_order_seq_cst);
  }
  void unwatch(int member) noexcept {
    guest(member).watchers.fetch_sub(1, std::memory_order_relaxed);
  }
  // A member that has not arrived; -1: all have. For reports, may be stale.
  int missing(uint64_t number) const noexcept;

 private:
  struct alignas(64) Guest {
    std::atomic<uint64_t> number{0};    // written by the member
    std::atomic<uint32_t> watchers{0};  // how many executions of the rank wait
    std::atomic<job::Rank*> rank{nullptr};
    int place = 0, seat = 0;
  };
  // One meeting at one place: the calls of those that have come, by seat, and what they send.
  struct Round {
    std::vector<Pending*> calls;
    std::vector<size_t> places_in_room;
    std::vector<unsigned char> room;
    int come = 0;
  };
  struct alignas(64) Place {
    Mutex mutex;
    std::deque<Round> rounds MPC_GUARDED_BY(mutex);  // those that are not settled
    std::vector<Round> spare MPC_GUARDED_BY(mutex);
    uint64_t settled MPC_GUARDED_BY(mutex) = 0;
    // Meetings to which all its members have come; guarded by mutex_.
    uint64_t complete = 0;
    std::vector<int> members;
    // The round of that number, which is made if it must be. Errors: std::bad_alloc.
    Round& round(uint64_t number) MPC_REQUIRES(mutex);
  };
  Guest& guest(int member) noexcept { return guests_[static_cast<size_t>(member)]; }
  bool enter(Guest& me, Place& place, Pending& call, uint64_t number);
  void settle_next() noexcept MPC_REQUIRES(mutex_);
  void tell_watchers() noexcept;

  std::vector<Guest> guests_;
  std::vector<Place> places_;
  alignas(64) Mutex mutex_;
  // Places that are complete for the next meeting.
  size_t ready_ MPC_GUARDED_BY(mutex_) = 0;
  std::vector<Given> given_ MPC_GUARDED_BY(mutex_);         // to one meeting, by member
  std::vector<Round> taken_ MPC_GUARDED_BY(mutex_);         // the same, by place
  std::vector<unsigned char> room_ MPC_GUARDED_BY(mutex_);  // for settle()
  std::atomic<size_t> room_bytes_{0};
  alignas(64) std::atomic<uint64_t> over_{0};
};

}  // namespace mpc::nbc::direct
