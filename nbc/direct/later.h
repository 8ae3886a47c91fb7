#pragma once
// Later: a barrier without messages that does not block: MPI_Ibarrier if many members share places.
//
// Role:      members arrive and go on; the last one to arrive ends the meeting, and wakes all
//            others.
// Users:     mpi/coll/direct_later.cpp; a Team makes one at the first need.
// Threads:   any execution of a member; one at a time arrives for a member.
// See also:  nbc/direct/team.h (members, places), docs/design/0007-direct-collectives.md, "Later".
//
// Each member numbers its meetings itself, from 1 on; it may be any number of meetings ahead of
// another one. It arrives at number k before k + 1, so a place has all its members for k first. The
// member that ends k may be overtaken by the one that ends k + 1; even so meetings end in the order
// of their numbers.

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
  // The place of each member, numbered from 0 on without a gap.
  explicit Later(std::span<const int> place_of_member);
  Later(const Later&) = delete;

  // The member arrives at its next meeting. Returns that one's number. Order: once is_over(), all
  // members see what the others did before they arrived. Switches: no. Cost: one lock; for the last
  // member of a meeting also one notify() for each other one.
  uint64_t arrive(int member, job::Rank& self);
  bool is_over(uint64_t number) const noexcept {
    // acquire pairs with the release in arrive().
    return over_.load(std::memory_order_acquire) >= number;
  }
  // How many members have arrived; for reports, may be stale.
  int arrived(uint64_t number) const noexcept;
  int size() const noexcept { return static_cast<int>(members_.size()); }

 private:
  // Written by the member only; the last one to arrive at its meeting reads `rank`.
  struct alignas(64) Guest {
    std::atomic<uint64_t> number{0};
    job::Rank* rank = nullptr;
    int place = 0;
  };
  // Counts the arrivals at meetings that are not complete here.
  struct alignas(64) Door {
    Mutex mutex;
    std::deque<int> come MPC_GUARDED_BY(mutex);  // for the meetings after `complete`
    uint64_t complete MPC_GUARDED_BY(mutex) =
        0;  // the last one at which all have arrived
    int expected = 0;
    // Returns the last meeting that is complete now; 0: none has become complete.
    uint64_t enter(uint64_t number);
  };
  void tell_all(const job::Rank& self) const;

  std::vector<Guest> members_;
  std::vector<Door> places_;
  Door all_;  // counts places
  alignas(64) std::atomic<uint64_t> over_{0};
};

}  // namespace mpc::nbc::direct
