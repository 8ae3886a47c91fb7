#include "nbc/direct/later.h"

#include <algorithm>

#include "runtime/message/message.h"

namespace mpc::nbc::direct {

Later::Later(std::span<const int> place_of_member)
    : members_(place_of_member.size()),
      places_(static_cast<size_t>(
          *std::max_element(place_of_member.begin(), place_of_member.end()) + 1)) {
  for (size_t m = 0; m < members_.size(); ++m) {
    members_[m].place = place_of_member[m];
    ++places_[static_cast<size_t>(place_of_member[m])].expected;
  }
  all_.expected = static_cast<int>(places_.size());
}

uint64_t Later::Door::enter(uint64_t number) {
  const Locked lock(mutex);
  const auto at = static_cast<size_t>(number - complete - 1);
  if (come.size() <= at) come.resize(at + 1);
  ++come[at];
  const uint64_t before = complete;
  for (; !come.empty() && come.front() == expected; ++complete) come.pop_front();
  return complete != before ? complete : 0;
}

uint64_t Later::arrive(int member, job::Rank& self) {
  Guest& me = members_[static_cast<size_t>(member)];
  if (me.rank != &self) me.rank = &self;  // once; the last one to arrive reads it
  const uint64_t number = me.number.load(std::memory_order_relaxed) + 1;
  me.number.store(number, std::memory_order_relaxed);
  // The locks order what members did before they arrived, also the store of `rank`, before what the
  // last one to arrive does.
  if (places_[static_cast<size_t>(me.place)].enter(number) == 0) return number;
  const uint64_t complete = all_.enter(number);
  if (complete == 0) return number;
  // release pairs with is_over(). Another execution may end the next meeting at the same time, so
  // this must not go back.
  uint64_t before = over_.load(std::memory_order_relaxed);
  while (before < complete &&
         !over_.compare_exchange_weak(before, complete, std::memory_order_acq_rel,
                                      std::memory_order_relaxed)) {
  }
  tell_all(self);
  return number;
}

// Wakes all members: those that wait for the meeting check it.
void Later::tell_all(const job::Rank& self) const {
  for (const Guest& guest : members_)
    if (guest.rank != &self) msg::notify(*guest.rank);
}

int Later::arrived(uint64_t number) const noexcept {
  return static_cast<int>(
      std::count_if(members_.begin(), members_.end(), [&](const Guest& guest) {
        return guest.number.load(std::memory_order_relaxed) >= number;
      }));
}

}  // namespace mpc::nbc::direct
