#include "nbc/direct/later.h"

#include <algorithm>
#include <cstddef>
#include <new>
#include <utility>

#include "nbc/direct/pending_state.h"
#include "runtime/message/message.h"

namespace mpc::nbc::direct {

Later::Later(std::span<const int> place_of_member)
    : guests_(place_of_member.size()),
      places_(static_cast<size_t>(
          *std::max_element(place_of_member.begin(), place_of_member.end()) + 1)),
      given_(place_of_member.size()),
      taken_(places_.size()) {
  for (size_t m = 0; m < guests_.size(); ++m) {
    Place& place = places_[static_cast<size_t>(place_of_member[m])];
    guests_[m].place = place_of_member[m];
    guests_[m].seat = static_cast<int>(place.members.size());
    place.members.push_back(static_cast<int>(m));
  }
}

Later::Round& Later::Place::round(uint64_t number) {
  const auto at = static_cast<size_t>(number - settled - 1);
  while (rounds.size() <= at) {
    Round made;
    if (!spare.empty()) {
      made = std::move(spare.back());
      spare.pop_back();
    }
    made.calls.resize(members.size());
    made.places_in_room.resize(members.size());
    // Also for one that is being settled: settle_next() needs no memory.
    spare.reserve(rounds.size() + spare.size() + 2);
    rounds.push_back(std::move(made));
  }
  return rounds[at];
}

// True: all members of the place have come.
bool Later::enter(Guest& me, Place& place, Pending& call, uint64_t number) {
  constexpr size_t kAlignment = alignof(std::max_align_t);
  const size_t bytes = bytes_sent(call);
  const auto seat = static_cast<size_t>(me.seat);
  const Locked lock(place.mutex);
  Round& round = place.round(number);
  const size_t at = (round.room.size() + kAlignment - 1) / kAlignment * kAlignment;
  round.room.resize(at + bytes);
  pack_sent(call, round.room.data() + at);
  round.places_in_room[seat] = at;
  round.calls[seat] = &call;
  me.number.store(number, std::memory_order_relaxed);
  return ++round.come == static_cast<int>(place.members.size());
}

// The next meeting, which all places have complete.
void Later::settle_next() noexcept {
  for (size_t p = 0; p < places_.size(); ++p) {
    Place& place = places_[p];
    const Locked lock(place.mutex);
    taken_[p] = std::move(place.rounds.front());
    place.rounds.pop_front();
    ++place.settled;
    const Round& round = taken_[p];
    for (size_t seat = 0; seat < place.members.size(); ++seat)
      given_[static_cast<size_t>(place.members[seat])] = {
          round.calls[seat], round.room.data() + round.places_in_room[seat]};
  }
  settle(given_, room_.data());
  for (size_t p = 0; p < places_.size(); ++p) {
    Place& place = places_[p];
    const Locked lock(place.mutex);
    taken_[p].come = 0;
    taken_[p].room.clear();
    place.spare.push_back(std::move(taken_[p]));
  }
}

uint64_t Later::arrive(Pending& call) noexcept {
  Guest& me = guest(call.member);
  if (me.rank.load(std::memory_order_relaxed) != call.self)
    me.rank.store(call.self, std::memory_order_relaxed);  // before watch()
  const uint64_t number = me.number.load(std::memory_order_relaxed) + 1;
  Place& place = places_[static_cast<size_t>(me.place)];
  try {
    // Relaxed: the settler holds the lock.
    if (const size_t room = room_for(call, guests_.size());
        room > room_bytes_.load(std::memory_order_relaxed)) [[unlikely]] {
      const Locked lock(mutex_);
      if (room_.size() < room) room_.resize(room);
      room_bytes_.store(room_.size(), std::memory_order_relaxed);
    }
    if (!enter(me, place, call, number)) return number;
  } catch (const std::bad_alloc&) {
    return 0;
  }
  {
    const Locked lock(mutex_);
    uint64_t over = over_.load(std::memory_order_relaxed);
    // Those that complete two meetings of a place may come here in any order.
    if (++place.complete == over + 1) ++ready_;
    if (ready_ != places_.size()) return number;
    do {
      settle_next();
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
