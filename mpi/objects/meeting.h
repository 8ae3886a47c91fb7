#pragma once
// Meeting: how the members of a group agree on something: a split, a context id, the end.
//
// Role:      a room for each (kind, place, sequence) in which the members leave what they bring;
//            the last one to come concludes for all. Costs one lock and one wake-up a member,
//            no messages: all members live in this process.
// Users:     creation of communicators, topologies, windows; MPI_Init, MPI_Finalize.
// Threads:   any execution of the member ranks.
// See also:  docs/design/0006-meetings.md (why not messages; what several processes need).
//
//   struct SplitRoom : Room { std::vector<Choice> choices; ... };
//   auto room = meet<SplitRoom>(self, key, n,
//                               [&](SplitRoom& r) { r.choices[me] = mine; },   // each member
//                               [](SplitRoom& r) { ... results ... },         // the last one
//                               "MPI_Comm_split on MPI_COMM_WORLD");
//
// When only something that the first member can decide alone is needed (a context id), agree()
// does not wait at all.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/job/rank.h"

namespace mpc::mpi {

enum class MeetingKind : uint8_t {
  kInit,
  kFinalize,
  kBarrier,
  kDup,
  kSplit,
  kCreate,
  kCreateGroup,
  kFromGroup,
  kTopology,
  kMerge,
  kInterCreate,
  kWindow,
  kFile,
  kTeam,
  kVerify,
  kCheck,
};

struct MeetingKey {
  MeetingKind kind = MeetingKind::kBarrier;
  uint64_t place = 0;     // context id, or a table's address: the same at all members
  uint64_t sequence = 0;  // Comm::next_meeting(), a tag ...
  std::string label;      // MPI_Comm_create_from_group's string
  bool operator==(const MeetingKey&) const = default;
};

struct Room {
  virtual ~Room() = default;
  std::mutex mutex;
  int expected = 0;
  int arrived = 0;  // under the mutex
  std::atomic<bool> is_over{
      false};                       // release by the last member, acquire by the others
  std::vector<job::Rank*> waiting;  // under the mutex
};

namespace detail {
using MakeRoom = std::shared_ptr<Room> (*)();
// Enters: finds or makes the room and calls `visit` under its lock with whether the caller is
// the first and the last one there. The last one closes the room: the key is free again.
std::shared_ptr<Room> enter(job::Rank& self, const MeetingKey& key, int expected,
                            MakeRoom make, bool will_wait,
                            const std::function<void(Room&, bool, bool)>& visit);
void wait_for_end(job::Rank& self, Room& room, const char* what);
}  // namespace detail

// Switches: yes. `expected` members must come, each once.
template <class R, class Visit, class Conclude>
std::shared_ptr<R> meet(job::Rank& self, const MeetingKey& key, int expected,
                        Visit&& visit, Conclude&& conclude, const char* what) {
  auto room = std::static_pointer_cast<R>(detail::enter(
      self, key, expected,
      []() -> std::shared_ptr<Room> { return std::make_shared<R>(); }, true,
      [&](Room& r, bool, bool last) {
        visit(static_cast<R&>(r));
        if (last) conclude(static_cast<R&>(r));
      }));
  detail::wait_for_end(self, *room, what);
  return room;
}

// The first member decides; nobody waits. Switches: no.
template <class R, class Decide>
std::shared_ptr<R> agree(job::Rank& self, const MeetingKey& key, int expected,
                         Decide&& decide) {
  return std::static_pointer_cast<R>(detail::enter(
      self, key, expected,
      []() -> std::shared_ptr<Room> { return std::make_shared<R>(); }, false,
      [&](Room& r, bool first, bool) {
        if (first) decide(static_cast<R&>(r));
      }));
}

}  // namespace mpc::mpi
