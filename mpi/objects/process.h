#pragma once
// Process: what the ranks of one process have in common for making communicators.
//
// Role:      its rooms, its context ids, its way to the other processes. An address space has one,
//            or one for each virtual process, and no rank reaches into another one than its own.
// Users:     mpi/objects/meeting.cpp, and who draws context ids; mpi/objects/rank_life.cpp.
// Threads:   any.
// See also:  runtime/job/process_map.h, docs/design/0006-meetings.md.

#include <array>
#include <memory>
#include <mutex>
#include <unordered_map>

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
  struct Shard {
    std::mutex mutex;
    std::unordered_map<MeetingKey, std::shared_ptr<Room>, MeetingKeyHash> rooms;
  };
  Shard& shard_of(const MeetingKey& key) noexcept {
    return shards_[MeetingKeyHash{}(key) % shards_.size()];
  }

 private:
  std::array<Shard, 16> shards_;
};

struct Process {
  Process(int its_index, int processes);
  // Of one that has neighbours: what it is for other jobs.
  struct Abroad {};
  explicit Process(Abroad);

  const int index;
  ContextIds ids;
  Hall hall;
  const std::unique_ptr<NetExchange> exchange;  // null: there are no others

  // The same for who meets members of several jobs: it has another number, another way to other processes, and
  // context ids that no other job gives out. Its rooms are not used. Caller: there are neighbours.
  static Process& abroad() noexcept;
  Process& for_meeting_of(const ProcessList& list) noexcept {
    return list.spans_jobs() ? abroad() : *this;
  }

  // Where the rank lives. Never destroyed: ranks may still meet while main()'s statics go.
  static Process& of(const job::Rank& rank);
  // Once, before the network of a job of several processes is opened: what other processes tell
  // goes to the one that it is for. The map must outlive the network.
  static void listen(const job::ProcessMap& map) noexcept;
};

}  // namespace mpc::mpi
