#pragma once
// Comm: a communicator as one rank sees it.
//
// Role:      context ids, the group (communicator rank -> world rank), the rank's own number,
//            error handler, attributes, name, hints, topology, sequence of collectives, cached
//            schedules.
// Users:     bodies of mpi/; point-to-point and collectives read it on the hot path.
// Threads:   any execution of the owner rank; hot fields are constant after creation.
// See also:  mpi/objects/group_table.h, mpi/objects/meeting.h (how the members agree), mpi/objects/handles.h.

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "mpi.h"
#include "mpi/objects/attributes.h"
#include "mpi/objects/buffered.h"
#include "mpi/objects/context_reserve.h"
#include "mpi/objects/error.h"
#include "mpi/objects/group_table.h"
#include "mpi/objects/meeting.h"
#include "mpi/objects/object.h"
#include "nbc/algorithms/cache.h"
#include "runtime/job/rank.h"
#include "runtime/message/message.h"

namespace mpc::nbc {
class TreeSplitter;
namespace direct {
class Team;
}
}  // namespace mpc::nbc

namespace mpc::mpi {

class Errhandler;
class SendBuffer;
class InfoHints;
struct Topology;
struct Bridge;

class Comm final : public Object {
 public:
  struct Spec {
    MPI_Comm predefined = nullptr;  // WORLD or SELF, else null
    GroupRef group;                 // local group
    int rank = 0;                   // of this process in it
    msg::ContextId context = 0;     // even; the next one is that of collectives
    GroupRef remote;                // intercommunicators only
    bool is_low_group =
        false;                // intercommunicators: comes first in MPI_Intercomm_merge
    GroupRef local_of_inter;  // = group
    msg::ContextId local_context =
        0;                 // intercommunicators: for traffic inside the local group
    ContextGrant reserve;  // of a communicator of several processes; may be empty
  };
  Comm(job::Rank& owner, const Spec& spec);

  // --- hot path ------------------------------------------------------------------------------
  job::Rank& self() const noexcept { return *self_; }
  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }                // of the local group
  int remote_size() const noexcept { return remote_size_; }  // intra: = size()
  bool is_inter() const noexcept { return is_inter_; }
  // Point-to-point addresses ranks of the remote group; intra: of the only one.
  int peer_count() const noexcept { return remote_size_; }
  int peer_world_rank(int peer) const noexcept { return peers_[peer]; }
  std::span<const int> peers() const noexcept {
    return {peers_, static_cast<size_t>(remote_size_)};
  }
  // The worker of each member of the local group; see GroupTable::places.
  std::span<const int> places() const { return group_->places(); }
  // Where the members live, if they are one group that lives in several processes and shares some
  // of them; else null.
  const nbc::Homes* homes() const;
  // Which workers they share, if they are one group of one process and share some; else null.
  const nbc::Homes* workers() const;
  std::span<const int> world_ranks() const noexcept { return group_->world_ranks(); }
  msg::ContextId context() const noexcept { return context_; }  // point-to-point
  msg::ContextId collective_context() const noexcept { return context_ + 1; }
  msg::ContextId partitioned_context() const noexcept {
    return collective_context() | kPartitionedBit;
  }
  // Inside the local group of an intercommunicator; intra: collective_context().
  msg::ContextId local_context() const noexcept { return local_context_; }

  // Numbers the collectives of this communicator, equally at all members (nbc::tag_base).
  uint32_t next_collective() noexcept {
    return collectives_.fetch_add(1,
                                  std::memory_order_relaxed);  // one rank's count only
  }
  uint32_t next_persistent() noexcept {
    return persistents_.fetch_add(1,
                                  std::memory_order_relaxed);  // one rank's count only
  }
  // Takes consecutive numbers for partitions that this rank sends, and returns the first. Each
  // call, from whatever thread, gets numbers that no other call gets until 2^32 of them have been
  // taken.
  uint32_t take_partition_numbers(int partitions) noexcept {
    return partitions_.fetch_add(static_cast<uint32_t>(partitions),
                                 std::memory_order_relaxed);
  }
  // Numbers the meetings (creation of communicators, windows, files).
  uint64_t next_meeting() noexcept {
    return meetings_.fetch_add(1, std::memory_order_relaxed);  // one rank's count only
  }
  // The ranks that come to a meeting: the local group; both groups of an intercommunicator.
  Members members() const { return members_of(*self_, *group_); }
  Members everyone() const;
  bool is_in_one_process() const noexcept { return spanning_ == nullptr; }
  // Members, of either group, are of several jobs.
  bool spans_jobs() const noexcept {
    return spanning_ != nullptr && spanning_->spans_jobs;
  }
  // A context id from the reserve of a communicator of several processes. If the reserve is empty,
  // the members begin to agree on more. Caller: all members alike, both groups of an
  // intercommunicator. Switches: no.
  ContextSlot next_slot();
  // Sets the ids of a communicator that was created before they were known.
  void set_contexts(msg::ContextId context, msg::ContextId local_context) noexcept;

  // Made at the first use.
  nbc::ScheduleCache& schedules();
  // True if the members can do collectives without messages: there are several, of one group and
  // in one process. All members get the same answer.
  bool has_team() const noexcept { return has_team_; }
  // The team that they share for that; found or created at the first use.
  // Caller: in a blocking collective, of which a rank has one at a time.
  nbc::direct::Team& team() {
    if (team_ == nullptr) [[unlikely]]
      join_team();
    return *team_;
  }
  // The same, for what outlives the communicator.
  const std::shared_ptr<nbc::direct::Team>& shared_team() {
    team();
    return team_;
  }
  nbc::TreeSplitter& tree_splitter();

  // --- the rest ------------------------------------------------------------------------------
  MPI_Comm handle() noexcept {
    return predefined_ != nullptr ? predefined_ : reinterpret_cast<MPI_Comm>(this);
  }
  bool is_predefined() const noexcept { return predefined_ != nullptr; }
  const GroupRef& group() const noexcept { return group_; }
  const GroupRef& remote_group() const noexcept { return is_inter_ ? remote_ : group_; }
  bool is_low_group() const noexcept { return is_low_group_; }
  // "MPI_COMM_WORLD", the user's name, or "communicator 12".
  std::string display_name() const;

  Errhandler& errhandler() const noexcept { return *errhandler_; }
  void set_errhandler(Errhandler& handler) noexcept;  // takes a reference

  AttributeSet attributes;
  std::string name;
  std::unique_ptr<InfoHints> hints;          // null: none set
  std::shared_ptr<const Topology> topology;  // null: none
  std::shared_ptr<Bridge> bridge;            // null: mpi/coll/bridged.cpp makes it
  // Buffered mode (MPI-4.1 MPI_Comm_attach_buffer): owned by the point-to-point bodies.
  std::shared_ptr<SendBuffer> send_buffer;

  // The buffer of the session that the communicator comes from; null: it is of the world model.
  const SessionBufferRef& session_buffer() const noexcept { return session_buffer_; }
  void set_session_buffer(SessionBufferRef buffer) noexcept {
    session_buffer_ = std::move(buffer);
  }

  // A pending operation holds a reference; the last one deletes.
  void drop() noexcept;

 private:
  friend struct CommDeleter;
  ~Comm();
  void join_team();
  void find_processes(const job::ProcessMap& map, ContextGrant reserve);

  job::Rank* self_;
  int rank_, size_, remote_size_;
  bool is_inter_ = false, is_low_group_ = false;
  bool has_team_ = false;
  msg::ContextId context_, local_context_;
  const int* peers_;
  std::atomic<uint32_t> collectives_{0}, persistents_{0};
  std::atomic<uint64_t> meetings_{0};
  std::atomic<nbc::ScheduleCache*> schedules_{nullptr};
  std::shared_ptr<nbc::direct::Team> team_;
  std::atomic<nbc::TreeSplitter*> tree_splitter_{nullptr};
  GroupRef group_, remote_;
  MPI_Comm predefined_;
  Errhandler* errhandler_;
  // Data that only a communicator of several processes has.
  struct Spanning {
    std::unique_ptr<const ProcessList> both_groups;  // of an intercommunicator
    ContextReserve reserve;
    bool spans_jobs = false;
  };
  std::unique_ptr<Spanning> spanning_;  // null: all members live in one process
  std::atomic<uint32_t> partitions_{0};
  SessionBufferRef session_buffer_;
};

// The key of a meeting of its members, or of both groups of an intercommunicator; draws the next
// number.
MeetingKey meeting_key(MeetingKind kind, Comm& comm);
MeetingKey meeting_key_of_everyone(MeetingKind kind, Comm& comm);

// An id of the process's own, for a communicator whose members are all in it.
msg::ContextId new_context(const job::Rank& self);

// `self` must be a member. Only the error handler and the session come from `parent` (MPI-4.1
// 9.3.1).
Comm* create_comm(const Comm& parent, const Comm::Spec& spec);

}  // namespace mpc::mpi
