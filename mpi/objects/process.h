#pragma once
// Process: what the ranks of one process have in common for making communicators.
//
// Role:      its rooms, its context ids, its way to the other processes. A job has one, or one for
//            each virtual process, and no rank reaches into another one than its own.
// Users:     mpi/objects/meeting.cpp, and who draws context ids.
// Threads:   any.
// See also:  runtime/job/process_map.h, docs/design/0006-meetings.md.

#include <array>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "mpi/objects/context_ids.h"
#include "mpi/objects/exchange.h"
#include "mpi/objects/meeting_key.h"
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
  Process(int its_index, int processes, Exchange* to_others)
      : index(its_index), ids(its_index, processes), exchange(to_others) {}

  const int index;
  ContextIds ids;
  Hall hall;
  Exchange* const exchange;  // null: there are no others

  // Where the rank lives. Never destroyed: ranks may still meet while main()'s statics go.
  static Process& of(const job::Rank& rank);
  // Where ranks of all processes meet, for what cannot be told in bytes (meeting.h); possible
  // only as long as all processes are virtual ones of one address space.
  static Process& of_all(const job::Rank& rank);
};

}  // namespace mpc::mpi
