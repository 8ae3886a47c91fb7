#include "mpi/objects/comm.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "mpi/objects/errhandler.h"
#include "mpi/objects/handles.h"
#include "mpi/objects/info.h"
#include "nbc/direct/team.h"
#include "nbc/overlap/tree_split.h"
#include "runtime/job/report.h"

namespace mpc::mpi {

struct CommDeleter {
  static void destroy(Comm* comm) noexcept { delete comm; }
};

Comm::Comm(job::Rank& owner, const Spec& spec)
    : Object(Kind::kComm, owner.world_rank),
      self_(&owner),
      rank_(spec.rank),
      size_(spec.group->size()),
      remote_size_(spec.remote ? spec.remote->size() : spec.group->size()),
      is_inter_(spec.remote != nullptr),
      is_low_group_(spec.is_low_group),
      context_(spec.context),
      local_context_(spec.remote ? spec.local_context + 1 : spec.context + 1),
      peers_(spec.remote ? spec.remote->world_ranks().data()
                         : spec.group->world_ranks().data()),
      group_(spec.group),
      remote_(spec.remote),
      predefined_(spec.predefined),
      errhandler_(Errhandler::fatal()) {}

Comm::~Comm() {
  // The last reference is ours.
  delete schedules_.load(std::memory_order_relaxed);
  delete tree_splitter_.load(std::memory_order_relaxed);
  errhandler_->drop();
}

void Comm::drop() noexcept {
  if (!release()) return;
  forget_handle(*this);
  CommDeleter::destroy(this);
}

namespace {

// What `slot` points to; made by whichever thread of the rank comes first.
template <class T>
T& made_once(std::atomic<T*>& slot) {
  // Pairs with the release of the exchange below.
  T* present = slot.load(std::memory_order_acquire);
  if (present != nullptr) return *present;
  auto made = std::make_unique<T>();
  if (slot.compare_exchange_strong(present, made.get(), std::memory_order_acq_rel))
    return *made.release();
  return *present;
}

struct TeamRoom final : Room {
  std::shared_ptr<nbc::direct::Team> team;
};

}  // namespace

void Comm::join_team() {
  const MeetingKey key{MeetingKind::kTeam, local_context_, 0, {}};
  team_ = agree<TeamRoom>(*self_, key, size_, [&](TeamRoom& room) {
            // Without a scheduler all members are in one place.
            const std::span<const int> known = places();
            const std::vector<int> nowhere(static_cast<size_t>(size_), 0);
            room.team =
                std::make_shared<nbc::direct::Team>(known.empty() ? nowhere : known);
          })->team;
}

nbc::ScheduleCache& Comm::schedules() { return made_once(schedules_); }
nbc::TreeSplitter& Comm::tree_splitter() { return made_once(tree_splitter_); }

std::string Comm::display_name() const {
  if (!name.empty()) return name;
  if (context_ == kWorldContext) return "MPI_COMM_WORLD";
  if (context_ == kSelfContext) return "MPI_COMM_SELF";
  if (is_inter()) return fmt::format("communicator {}", context_);
  std::vector<int> ranks(peers().begin(), peers().end());
  std::sort(ranks.begin(), ranks.end());
  return fmt::format("communicator {} (ranks {})", context_, job::format_ranks(ranks));
}

void Comm::set_errhandler(Errhandler& handler) noexcept {
  handler.retain();
  std::exchange(errhandler_, &handler)->drop();
}

MeetingKey meeting_key(MeetingKind kind, Comm& comm) {
  return {kind, comm.local_context(), comm.next_meeting(), {}};
}

msg::ContextId new_context() {
  // Ids below 4 are those of WORLD and SELF; the counter of the message layer may start at 0.
  for (;;) {
    const msg::ContextId id = msg::new_context_ids(2);
    if (id > kSelfContext + 1 && id % 2 == 0) return id;
    if (id > kSelfContext + 1) msg::new_context_ids(1);  // back to even ids
  }
}

Comm* create_comm(const Comm& parent, const Comm::Spec& spec) {
  Comm* comm = new Comm(parent.self(), spec);
  comm->set_errhandler(parent.errhandler());
  return comm;
}

}  // namespace mpc::mpi
