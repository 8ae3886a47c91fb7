#include "mpi/objects/meeting.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/mutex.h"
#include "mpi/objects/process.h"
#include "runtime/job/job.h"
#include "runtime/job/losses.h"
#include "runtime/job/neighbours.h"
#include "runtime/message/abroad.h"
#include "runtime/message/control.h"
#include "runtime/message/message.h"

namespace mpc::mpi {
namespace {

class MeetingReason final : public sched::WaitReason {
 public:
  MeetingReason(const Room& room, const char* what) : room_(room), what_(what) {}
  std::string text() const override {
    // Read without the lock: a report may be made while a member holds it.
    if (room_.has_asked.load(std::memory_order_relaxed))
      return fmt::format("{}: waits for members in other processes", what_);
    return fmt::format("{}: waits for the other members ({} needed)", what_,
                       room_.expected);
  }

 private:
  const Room& room_;
  const char* what_;
};

bool is_ready(const Room& room) noexcept {
  return room.is_over.load(std::memory_order_acquire) ||
         room.is_told.load(std::memory_order_acquire);
}

// The bytes of all processes are there; or there are none and never will be. Runs on any thread,
// perhaps one of another process. A waiting rank concludes, not this thread, which may come from a
// network and have more to deliver.
void deliver(Room& room, std::vector<Bytes> told) {
  room.note_told();
  const std::lock_guard inside(room.mutex);
  room.is_broken = told.empty();
  room.told = std::move(told);
  // Pairs with the acquire in is_ready().
  room.is_told.store(true, std::memory_order_release);
  // Under the room's lock: see finish().
  for (job::Rank* rank : room.waiting) msg::notify(*rank);
}

// The last member of this process has come: only this thread uses the contents of the room until
// the bytes of all processes are there.
[[gnu::cold]] void tell(Process& process, const std::shared_ptr<Room>& room,
                        const MeetingKey& key, const ProcessList& list) {
  // Whoever is told of members can be reached, and is before anything is sent: see docs/design/0042.
  if (list.spans_jobs()) msg::abroad::reach_all(list.processes());
  ByteWriter out(list.spans_jobs());
  room->index = list.index_of(process.index);
  if (room->index == 0 && room->pairs_wanted() > 0)
    out.put(process.ids.take(room->pairs_wanted()));
  room->pack(out);
  room->has_asked.store(true, std::memory_order_relaxed);
  process.exchange->allgather(
      key, list.processes(), room->index, out.take(),
      [room](std::vector<Bytes> told) { deliver(*room, std::move(told)); });
}

// Under the room's mutex.
void merge_and_conclude(Room& room) {
  ContextGrant grant;
  for (size_t i = 0; i < room.told.size(); ++i) {
    ByteReader in(room.told[i]);
    if (i == 0 && room.pairs_wanted() > 0) grant = in.get<ContextGrant>();
    if (static_cast<int>(i) == room.index) continue;
    room.merge(in);
    CHECK(in.is_at_end() && !in.has_failed(),
          "a process of the job has told something else in a meeting");
  }
  room.told.clear();
  Ids ids(grant);
  room.conclude(ids);
}

// Needs: the room is_ready().
void finish(Room& room) {
  // A rank that polls may see the end before it is notified. It must not end itself, as after
  // MPI_Finalize, while the last member still notifies it.
  const PatientGuard inside(room.mutex);
  if (room.is_over.load(std::memory_order_relaxed)) return;  // under the mutex
  if (!room.is_broken) merge_and_conclude(room);
  room.is_over.store(true, std::memory_order_release);
}

bool has_lost(const ProcessList& list) {
  return job::losses::any() &&
         std::ranges::any_of(list.processes(), job::losses::is_lost);
}

// In no table: nobody else comes.
[[gnu::cold]] std::shared_ptr<Room> broken_room(const Process& process,
                                                std::shared_ptr<Room> (*make)()) {
  std::shared_ptr<Room> room = make();
  room->home = process.index;
  deliver(*room, {});
  return room;
}

// The caller of the meeting cannot go on without its conclusion.
[[gnu::cold]] void end_without(const char* what) {
  const job::Rank& self = *job::current_rank();
  const std::string gone = msg::abroad::last_gone();
  self.job->abort(
      1, fmt::format("mpc: rank {}: {}: a process {} that takes part in it, and this "
                     "call cannot do without{}{}; the job is ended",
                     self.world_rank, what, gone.empty() ? "has died" : "has ended",
                     gone.empty() ? "" : ": ", gone));
}

}  // namespace

Members members_of(const job::Rank& self, const GroupTable& group) {
  const job::ProcessMap& map = self.job->processes();
  if (!job::neighbours::has_others(map)) [[likely]]
    return {group.size(), nullptr};
  const ProcessList& list = group.processes(map);
  if (list.is_one_process()) return {group.size(), nullptr};
  return {list.members_in(list.number_of(map.process_of(self.world_rank))), &list};
}

void break_meetings(Process& process, int lost) {
  std::vector<std::shared_ptr<Room>> broken;
  for (Hall::Shard& shard : process.hall.shards()) {
    const std::lock_guard table(shard.mutex);
    for (auto entry = shard.rooms.begin(); entry != shard.rooms.end();) {
      const auto current = entry++;
      const Hall::Entry& meeting = current->second;
      if (std::ranges::find(meeting.processes, lost) == meeting.processes.end())
        continue;
      broken.push_back(meeting.room);
      shard.rooms.erase(current);
    }
  }
  for (const auto& room : broken) deliver(*room, {});
}

namespace detail {

std::shared_ptr<Room> enter(job::Rank& self, const MeetingKey& key, Members members,
                            MakeRoom make, bool will_wait,
                            const std::function<void(Room&, bool)>& visit) {
  Process& process = Process::of(self);
  Hall::Shard& shard = process.hall.shard_of(key);
  std::shared_ptr<Room> room;
  bool is_last = false;
  {
    lock_patiently(shard.mutex);
    std::unique_lock table(shard.mutex, std::adopt_lock);
    // Either the loss was marked before this check, or break_meetings() finds the room.
    if (members.processes != nullptr && has_lost(*members.processes)) [[unlikely]]
      return broken_room(process, make);
    auto entry = shard.rooms.find(key);
    if (entry == shard.rooms.end()) {
      entry = shard.rooms.emplace(key, Hall::Entry{make(), {}}).first;
      entry->second.room->expected = members.here;
      entry->second.room->has_others = members.processes != nullptr;
      entry->second.room->home = process.index;
      if (members.processes != nullptr && job::losses::are_survived()) [[unlikely]]
        entry->second.processes.assign(members.processes->processes().begin(),
                                       members.processes->processes().end());
    }
    room = entry->second.room;
    const PatientGuard inside(room->mutex);
    const bool is_first = room->arrived == 0;
    is_last = ++room->arrived == room->expected;
    if (is_last) shard.rooms.erase(entry);
    table.unlock();
    visit(*room, is_first);
    if (is_last && members.processes == nullptr) {
      Ids ids(process.ids);
      room->conclude(ids);
      // Pairs with the acquire in is_ready(): the conclusion is visible to all.
      room->is_over.store(true, std::memory_order_release);
      // Under the room's lock: see finish().
      for (job::Rank* rank : room->waiting) msg::notify(*rank);
      room->waiting.clear();
    } else if (will_wait) {
      room->waiting.push_back(&self);
    }
  }
  if (is_last && members.processes != nullptr) [[unlikely]]
    tell(process.for_meeting_of(*members.processes), room, key, *members.processes);
  return room;
}

bool is_over(Room& room) {
  if (!is_ready(room)) return false;
  finish(room);
  if (room.is_broken) [[unlikely]]
    end_without("a call that makes a communicator");
  return true;
}

void wait_for_any_end(job::Rank& self, Room& room, const char* what) {
  DCHECK(room.home == Process::of(self).index, "a rank waits in another process");
  auto ready = [](void* argument) { return is_ready(*static_cast<Room*>(argument)); };
  if (!ready(&room)) {
    const MeetingReason reason(room, what);
    if (room.has_others)
      msg::wait_for_control(self, ready, &room, reason);
    else
      msg::wait_until(self, nullptr, 0, ready, &room, reason);
  }
  finish(room);
}

void wait_for_end(job::Rank& self, Room& room, const char* what) {
  wait_for_any_end(self, room, what);
  if (room.is_broken) [[unlikely]]
    end_without(what);
}

}  // namespace detail
}  // namespace mpc::mpi
