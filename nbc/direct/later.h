#pragma once
// Later: a barrier without messages in which nobody waits at once: MPI_Ibarrier of many members that share places.
//
// Role:      members arrive and go on; the last one to arrive says that it is over, and tells all of them to look.
// Users:     mpi/coll/direct_later.cpp; a Team makes one at the first need.
// Threads:   any execution of a member; a member arrives by one at a time.
// See also:  nbc/direct/team.h (members, places), docs/design/0007-direct-collectives.md, "Later".
//
// Meetings are numbered by each member for itself, from 1 on; a member may be any number of meetings ahead of another one.
// It comes to number k before it comes to k + 1, so a place has all its members for k first. Who says so for k may be overtaken by who
// says so for k + 1; meetings end in the order of their numbers all the same.

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "base/mutex.h"
#include "runtime/job/rank.h"

namespace mpc::nbc::direct {

class Later {
 public:
  // Of each member its place, numbered from 0 on without a gap.
  explicit Later(std::span<const int> place_of_member);
  Later(const Later&) = delete;

  // The member comes to its next meeting. Returns its number. Order: what members did before they came, all see once
  // is_over(). Switches: no. Cost: one lock; of the last member of a meeting one notify() for each other.
  uint64_t arrive(int member, job::Rank& self);
  bool is_over(uint64_t number) const noexcept {
    // acquire pairs with the release in arrive().
    return over_.load(std::memory_order_acquire) >= number;
  }
  // How many members have come; for reports, may be stale.
  int arrived(uint64_t number) const noexcept;
  int size() const noexcept { return static_cast<int>(members_.size()); }

 private:
  // Written by the member only; `rank` is read by the last one that comes to the meeting after it.
  struct alignas(64) Guest {
    std::atomic<uint64_t> number{0};
    job::Rank* rank = nullptr;
    int place = 0;
  };
  // Counts those that have come to meetings that are not complete here.
  struct alignas(64) Door {
    Mutex mutex;
    std::deque<int> come MPC_GUARDED_BY(mutex);  // of the meetings after `complete`
    uint64_t complete MPC_GUARDED_BY(mutex) =
        0;  // the last one for which all have come
    int expected = 0;
    // Returns the last meeting for which all have come now; 0: as before.
    uint64_t enter(uint64_t number);
  };
  void tell_all(const job::Rank& self) const;

  std::vector<Guest> members_;
  std::vector<Door> places_;
  Door all_;  // counts places
  alignas(64) std::atomic<uint64_t> over_{0};
};

}  // namespace mpc::nbc::direct
