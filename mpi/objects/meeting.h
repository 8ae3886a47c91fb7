#pragma once
// Meeting: how the members of a group agree on something: a split, a context id, the end.
//
// Role:      a room for each (kind, place, sequence) in which the members leave what they bring;
//            the last one to come concludes for all. Costs one lock and one wake-up a member,
//            no messages, where all members live in one process. Otherwise each process has a
//            room for its own members. The rooms tell each other what they hold, as bytes, and each
//            concludes for itself. All have the same data and so reach the same result.
// Users:     creation of communicators, topologies, windows; MPI_Init, MPI_Finalize.
// Threads:   any execution of the member ranks.
// See also:  docs/design/0006-meetings.md (why not messages; the second level), exchange.h.
//
//   struct SplitRoom : Room { std::vector<Choice> choices; ... void conclude(Ids&) override; };
//   auto room = meet<SplitRoom>(self, key, comm.members(),
//                               [&](SplitRoom& r) { r.choices[me] = mine; },   // each member
//                               "MPI_Comm_split on MPI_COMM_WORLD");
//
// If the first member can decide alone, agree() does not wait.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "mpi/objects/byte_stream.h"
#include "mpi/objects/context_ids.h"
#include "mpi/objects/meeting_key.h"
#include "mpi/objects/process_list.h"
#include "runtime/job/rank.h"

namespace mpc::mpi {

// The members that come to a meeting.
struct Members {
  int here = 0;                            // so many in the caller's process
  const ProcessList* processes = nullptr;  // null: all of them are in it
};
Members members_of(const job::Rank& self, const GroupTable& group);

// The context ids for the communicators that a meeting creates.
class Ids {
 public:
  // All members are in one process: ids are drawn as they are needed.
  explicit Ids(ContextIds& source) noexcept : source_(&source) {}
  // Members of several processes: the ids that the first process has drawn for the meeting.
  explicit Ids(ContextGrant agreed) noexcept : agreed_(agreed) {}

  // At least `pairs` pairs. With several processes it is always the same grant, of
  // Room::pairs_wanted() pairs: use it only for communicators without a common member.
  ContextGrant draw(int pairs) noexcept {
    return source_ != nullptr ? source_->take(pairs) : agreed_;
  }

 private:
  ContextIds* source_ = nullptr;
  ContextGrant agreed_;
};

struct Room {
  virtual ~Room() = default;

  // Packs what the members of this process have left, for the rooms of the other processes; called
  // when the last of them has come. merge() receives what another room has packed; it is called
  // for all others in the order of processes. The result must not depend on which room is ours.
  virtual void pack(ByteWriter&) const {}
  virtual void merge(ByteReader&) {}
  // Context ids that the conclusion of a meeting of several processes needs.
  virtual int pairs_wanted() const { return 0; }
  // All have come, and what they brought is here. The data are the same in the rooms of all
  // processes.
  virtual void conclude(Ids&) {}
  // For meetings of several processes: called once, before the members see it, when all have come, or never will. Caller:
  // the thread that has been told, without locks; any, perhaps one of another process.
  virtual void note_told() {}

  std::mutex mutex;
  int expected = 0;
  bool has_others = false;  // ranks of other processes take part
  int arrived = 0;          // under the mutex
  // release by the thread that concludes, acquire by the others
  std::atomic<bool> is_over{false};
  std::vector<job::Rank*> waiting;  // under the mutex

  // For meetings of several processes; set under the mutex.
  std::vector<Bytes> told;             // by process
  int index = 0;                       // of this process in it
  bool is_broken = false;              // an awaited process has died: no conclusion
  std::atomic<bool> is_told{false};    // all have come, in all processes; as is_over
  std::atomic<bool> has_asked{false};  // the other processes; for reports only
  int home = 0;                        // the process whose room it is
};

namespace detail {
using MakeRoom = std::shared_ptr<Room> (*)();
// Enters: finds or creates the room and calls `visit` under its lock; the argument says whether the
// caller is the first one there. The last one closes the room, so that the key is free again. It
// concludes, or tells the other processes, without waiting for them.
std::shared_ptr<Room> enter(job::Rank& self, const MeetingKey& key, Members members,
                            MakeRoom make, bool will_wait,
                            const std::function<void(Room&, bool)>& visit);
// True when the meeting is over; with several processes the first rank that asks concludes. The
// caller has entered with `will_wait`, and may end once this has returned true.
bool is_over(Room& room);
// Switches: yes.
void wait_for_end(job::Rank& self, Room& room, const char* what);
// The same for a room that may be broken: wait_for_end() would end the job then.
void wait_for_any_end(job::Rank& self, Room& room, const char* what);
}  // namespace detail

// Comes and does not wait for the others. When all have come detail::is_over() is true, and the
// rank is notified. Switches: no.
template <class R, class Visit>
std::shared_ptr<R> start_to_meet(job::Rank& self, const MeetingKey& key,
                                 Members members, Visit&& visit) {
  return std::static_pointer_cast<R>(detail::enter(
      self, key, members,
      []() -> std::shared_ptr<Room> { return std::make_shared<R>(); }, true,
      [&](Room& r, bool) { visit(static_cast<R&>(r)); }));
}

// Comes, and is not told when the others have; Room::note_told() is. Switches: no.
template <class R, class Visit>
void pass_by(job::Rank& self, const MeetingKey& key, Members members, Visit&& visit) {
  detail::enter(
      self, key, members,
      []() -> std::shared_ptr<Room> { return std::make_shared<R>(); }, false,
      [&](Room& r, bool) { visit(static_cast<R&>(r)); });
}

// All members must come, each once. Switches: yes.
template <class R, class Visit>
std::shared_ptr<R> meet(job::Rank& self, const MeetingKey& key, Members members,
                        Visit&& visit, const char* what) {
  auto room = start_to_meet<R>(self, key, members, std::forward<Visit>(visit));
  detail::wait_for_end(self, *room, what);
  return room;
}

// The first member of the caller's process decides; no member waits. `here` members come.
// Switches: no.
template <class R, class Decide>
std::shared_ptr<R> agree(job::Rank& self, const MeetingKey& key, int here,
                         Decide&& decide) {
  return std::static_pointer_cast<R>(detail::enter(
      self, key, {here, nullptr},
      []() -> std::shared_ptr<Room> { return std::make_shared<R>(); }, false,
      [&](Room& r, bool first) {
        if (first) decide(static_cast<R&>(r));
      }));
}

}  // namespace mpc::mpi
