#pragma once
// Process: what the ranks of one process have in common for creating communicators.
//
// Role:      its rooms, its context ids, its way to the other processes. An address space has one
//            Process, or one for each virtual process, and a rank uses only its own.
// Users:     mpi/objects/meeting.cpp, and code that draws context ids; mpi/objects/rank_life.cpp.
// Threads:   any.
// See also:  runtime/job/process_map.h, docs/design/0006-meetings.md.

#include <array>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "mpi/objects/context_ids.h"
#include "mpi/objects/meeting_key.h"
#include "mpi/objects/net_exchange.h"
#include "mpi/objects/process_list.h"
#include "runtime/job/process_map.h"
#include "runtime/job/rank.h"

namespace mpc::mpi {

struct Room;

// The rooms of a process, by their keys.
class Hall {
 public:
  struct Entry {
    std::shared_ptr<Room> room;
    std::vector<int> processes;  // that take part, in a job that goes on when one dies
  };
  struct Shard {
    std::mutex mutex;
    std::unordered_map<MeetingKey, Entry, MeetingKeyHash> rooms;
  };
  std::array<Shard, 16>& shards() noexcept { return shards_; }
  Shard& shard_of(const MeetingKey& key) noexcept {
    return shards_[MeetingKeyHash{}(key) % shards_.size()];
  }

 private:
  std::array<Shard, 16> shards_;
};

struct Process {
  Process(int its_index, int processes);
  // Selects the constructor of the Process that other jobs see. Caller: there are neighbours.
  struct Abroad {};
  explicit Process(Abroad);

  const int index;
  ContextIds ids;
  Hall hall;
  const std::unique_ptr<NetExchange> exchange;  // null: there is no other process

  // The Process for meetings with members of several jobs. It differs from the job's own in its
  // number, in its way to other processes, and in its context ids, which no other job gives out.
  // Its rooms are not used. Caller: there are neighbours.
  static Process& abroad() noexcept;
  Process& for_meeting_of(const ProcessList& list) noexcept {
    return list.spans_jobs() ? abroad() : *this;
  }

  // The Process in which the rank lives. Never destroyed: ranks may still meet while main()'s
  // statics are destroyed.
  static Process& of(const job::Rank& rank);
  // Handles messages of other processes, of meetings and of windows, each for the process that it is addressed to. Caller:
  // once, before the network of a job of several processes is opened. The map must outlive the
  // network.
  static void listen(const job::ProcessMap& map) noexcept;
};

// Meetings of this process's ranks with members in a process that has died end without a conclusion, also those to
// which not all ranks here have come. Needs: it is marked as lost (runtime/job/losses.h). Caller: the thread that handles
// losses.
void break_meetings(Process& process, int lost);

}  // namespace mpc::mpi
