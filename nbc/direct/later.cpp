#include "nbc/direct/later.h"

#include <algorithm>
#include <new>
#include <utility>

#include "nbc/direct/pending.h"
#include "nbc/direct/settle.h"
#include "runtime/message/message.h"

namespace mpc::nbc::direct {

Later::Later(std::span<const int> place_of_member)
    : guests_(place_of_member.size()),
      places_(static_cast<size_t>(
          *std::max_element(place_of_member.begin(), place_of_member.end()) + 1)),
      calls_(place_of_member.size()) {
  for (size_t m = 0; m < guests_.size(); ++m) {
    Place& place = places_[static_cast<size_t>(place_of_member[m])];
    guests_[m].place = place_of_member[m];
    guests_[m].seat = static_cast<int>(place.members.size());
    place.members.push_back(static_cast<int>(m));
  }
}

Later::Round* Later::Place::round(uint64_t number) noexcept {
  const auto at = static_cast<size_t>(number - settled - 1);
  try {
    while (rounds.size() <= at) {
      Round made;
      if (!spare.empty()) {
        made = std::move(spare.back());
        spare.pop_back();
      }
      made.calls.resize(members.size());
      spare.reserve(rounds.size() + spare.size() + 1);  // so that collect() needs none
      rounds.push_back(std::move(made));
    }
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  return &rounds[at];
}

// Takes the calls of the meeting that is the next one to be settled.
void Later::collect() noexcept {
  for (Place& place : places_) {
    const Locked lock(place.mutex);
    Round round = std::move(place.rounds.front());
    place.rounds.pop_front();
    ++place.settled;
    for (size_t seat = 0; seat < place.members.size(); ++seat)
      calls_[static_cast<size_t>(place.members[seat])] = round.calls[seat];
    round.come = 0;
    place.spare.push_back(std::move(round));
  }
}

uint64_t Later::arrive(Pending& call) noexcept {
  Guest& me = guest(call.member);
  if (me.rank.load(std::memory_order_relaxed) != call.self)
    me.rank.store(call.self, std::memory_order_relaxed);  // before watch()
  const uint64_t number = me.number.load(std::memory_order_relaxed) + 1;
  Place& place = places_[static_cast<size_t>(me.place)];
  {
    const Locked lock(place.mutex);
    Round* const round = place.round(number);
    if (round == nullptr) return 0;
    me.number.store(number, std::memory_order_relaxed);
    round->calls[static_cast<size_t>(me.seat)] = &call;
    if (++round->come != static_cast<int>(place.members.size())) return number;
  }
  {
    const Locked lock(mutex_);
    uint64_t over = over_.load(std::memory_order_relaxed);
    // Those that complete two meetings of a place may come here in any order.
    if (++place.complete == over + 1) ++ready_;
    if (ready_ != places_.size()) return number;
    do {
      collect();
      settle(calls_, room_);
      ++over;
      ready_ = static_cast<size_t>(std::ranges::count_if(
          places_, [over](const Place& p) { return p.complete > over; }));
    } while (ready_ == places_.size());
    over_.store(over, std::memory_order_seq_cst);  // and release
  }
  tell_watchers();
  return number;
}

void Later::tell_watchers() noexcept {
  for (const Guest& guest : guests_)
    if (guest.watchers.load(std::memory_order_seq_cst) != 0)
      msg::notify(*guest.rank.load(std::memory_order_relaxed));
}

int Later::missing(uint64_t number) const noexcept {
  for (size_t m = 0; m < guests_.size(); ++m)
    if (guests_[m].number.load(std::memory_order_relaxed) < number)
      return static_cast<int>(m);
  return -1;
}

}  // namespace mpc::nbc::direct
