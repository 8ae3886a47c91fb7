#include "mpi/objects/comm.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "base/traffic.h"
#include "mpi/objects/errhandler.h"
#include "mpi/objects/handles.h"
#include "mpi/objects/info.h"
#include "mpi/objects/job_uses.h"
#include "mpi/objects/process.h"
#include "nbc/direct/team.h"
#include "nbc/overlap/tree_split.h"
#include "runtime/job/job.h"
#include "runtime/job/neighbours.h"
#include "runtime/job/report.h"
#include "runtime/message/losses.h"
#include "runtime/message/outside.h"
#include "scheduler/scheduler.h"
#include "topology/machine.h"

namespace mpc::mpi {

namespace {

// The communicator has senders in other processes, and its ids are known.
bool has_senders(const Comm& comm) noexcept {
  return !comm.is_in_one_process() && (comm.context() != 0 || comm.is_predefined());
}

// Registers which ranks take part in the communicator, for jobs that survive the death of a
// process. Both groups take part in collectives of an intercommunicator.
[[gnu::cold]] void name_members(const Comm& comm) {
  const std::span<const int> peers = comm.peers(), own = comm.world_ranks();
  const int self = comm.self().world_rank;
  msg::add_members(self, comm.context(), peers, {});
  msg::add_members(self, comm.partitioned_context(), peers, {});
  msg::add_members(self, comm.collective_context(), peers, own);
  msg::add_members(self, comm.local_context(), own, peers);
}

// Tells the rank which receives another process may fill, for a communicator of several processes.
// Receives
// of collectives of an intercommunicator come from both groups, each in a context of its own.
void name_senders(const Comm& comm) {
  if (!has_senders(comm)) return;
  msg::add_senders(comm.self(), comm.context(), comm.peers().data());
  msg::add_senders(comm.self(), comm.collective_context(), comm.peers().data());
  msg::add_senders(comm.self(), comm.partitioned_context(), comm.peers().data());
  msg::add_senders(comm.self(), comm.local_context(), comm.world_ranks().data());
  if (job::losses::may_come()) [[unlikely]]
    name_members(comm);
}

// For the counting of messages, which covers all of them and knows world ranks only.
[[gnu::cold]] void name_counted_senders(const Comm& comm) {
  if (comm.context() == 0 && !comm.is_predefined())
    return;                       // its ids are not known yet
  if (comm.spans_jobs()) return;  // ranks of another job have no place in the tables
  const int self = comm.self().world_rank;
  const auto name = [self](msg::ContextId context, std::span<const int> members) {
    traffic::add_senders(self, context, members.data(),
                         static_cast<int>(members.size()));
  };
  for (const msg::ContextId context :
       {comm.context(), comm.collective_context(), comm.partitioned_context()})
    name(context, comm.peers());
  name(comm.local_context(), comm.world_ranks());
}

[[gnu::cold]] void forget_counted_senders(const Comm& comm) noexcept {
  for (const msg::ContextId context :
       {comm.context(), comm.collective_context(), comm.partitioned_context(),
        comm.local_context()})
    traffic::remove_senders(comm.self().world_rank, context);
}

void forget_senders(const Comm& comm) noexcept {
  if (!has_senders(comm)) return;
  msg::remove_senders(comm.self(), comm.context());
  msg::remove_senders(comm.self(), comm.collective_context());
  msg::remove_senders(comm.self(), comm.partitioned_context());
  msg::remove_senders(comm.self(), comm.local_context());
  if (job::losses::may_come()) [[unlikely]]
    for (const msg::ContextId context :
         {comm.context(), comm.partitioned_context(), comm.collective_context(),
          comm.local_context()})
      msg::remove_members(comm.self().world_rank, context);
}

}  // namespace

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
      errhandler_(Errhandler::fatal()) {
  const job::ProcessMap& map = owner.job->processes();
  if (job::neighbours::has_others(map)) [[unlikely]]
    find_processes(map, spec.reserve);
  has_team_ = !is_inter_ && is_in_one_process() && size_ > 1;
  if (traffic::is_watched()) name_counted_senders(*this);
}

void Comm::find_processes(const job::ProcessMap& map, ContextGrant reserve) {
  std::unique_ptr<const ProcessList> both;
  const ProcessList* all = nullptr;
  if (is_inter_) {
    both = std::make_unique<const ProcessList>(
        map, std::initializer_list<std::span<const int>>{group_->world_ranks(),
                                                         remote_->world_ranks()});
    all = both.get();
  } else {
    all = &group_->processes(map);
  }
  if (!all->is_one_process())
    spanning_.reset(
        new Spanning{std::move(both), ContextReserve(reserve), all->spans_jobs()});
  if (all->spans_jobs()) count_on_jobs(this, all->processes());
  name_senders(*this);
}

Members Comm::everyone() const {
  if (is_in_one_process()) return {is_inter_ ? size_ + remote_size_ : size_, nullptr};
  if (!is_inter_) return members();
  const ProcessList& both = *spanning_->both_groups;
  const int process = self_->job->processes().process_of(self_->world_rank);
  return {both.members_in(both.number_of(process)), &both};
}

const nbc::Homes* Comm::homes() const {
  return is_in_one_process() || is_inter_ ? nullptr
                                          : group_->homes(self_->job->processes());
}

const nbc::Homes* Comm::workers() const {
  return is_in_one_process() && !is_inter_ ? group_->workers() : nullptr;
}

ContextSlot Comm::next_slot() {
  ContextReserve& reserve = spanning_->reserve;
  if (reserve.is_empty())
    reserve.refill(start_to_meet<ReserveRoom>(
        *self_, meeting_key_of_everyone(MeetingKind::kReserve, *this), everyone(),
        [](ReserveRoom&) {}));
  return reserve.take();
}

void Comm::set_contexts(msg::ContextId context, msg::ContextId local_context) noexcept {
  context_ = context;
  local_context_ = (is_inter_ ? local_context : context) + 1;
  name_senders(*this);
  if (traffic::is_watched()) name_counted_senders(*this);
}

Comm::~Comm() {
  forget_senders(*this);
  if (spanning_ != nullptr) forget_jobs(this);
  if (traffic::is_watched()) forget_counted_senders(*this);
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

// The object that `slot` points to; the first thread of the rank that comes creates it.
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

// For each rank the part of the machine in which its worker's core shares a cache with others: those of
// one L3 cache, or of one NUMA node on a machine without such caches. Empty: not known.
std::vector<int> domains_of(std::span<const int> world_ranks) {
  job::Job* job = job::Job::existing();
  if (job == nullptr || job->machine() == nullptr || job->scheduler() == nullptr)
    return {};
  const topo::Machine& machine = *job->machine();
  std::vector<int> cores;
  for (const int rank : world_ranks)
    cores.push_back(job->scheduler()->core_of_worker(job->worker_of(rank)));
  const auto share = [&](int a, int b, topo::Level level) {
    return a == b || machine.shared_level(a, b) <= level;
  };
  const bool has_caches = std::ranges::any_of(cores, [&](int core) {
    return core != cores[0] && machine.shared_level(core, cores[0]) == topo::Level::kL3;
  });
  const topo::Level level = has_caches ? topo::Level::kL3 : topo::Level::kNuma;
  std::vector<int> firsts, domains;  // a core of each domain
  for (const int core : cores) {
    const auto found = std::ranges::find_if(
        firsts, [&](int first) { return share(core, first, level); });
    domains.push_back(static_cast<int>(found - firsts.begin()));
    if (found == firsts.end()) firsts.push_back(core);
  }
  return domains;
}

}  // namespace

void Comm::join_team() {
  DCHECK(is_in_one_process(), "collectives without messages need one memory");
  const MeetingKey key{
      MeetingKind::kTeam, place_of(local_context_, group_->world_rank(0)), 0, {}};
  team_ = agree<TeamRoom>(*self_, key, size_, [&](TeamRoom& room) {
            // Without a scheduler all members are in one place.
            const std::span<const int> known = places();
            const std::vector<int> nowhere(static_cast<size_t>(size_), 0);
            room.team = std::make_shared<nbc::direct::Team>(
                known.empty() ? nowhere : known,
                known.empty() ? std::vector<int>() : domains_of(group_->world_ranks()));
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

namespace {

// The number by which all members of the meeting know the group's first member.
int first_of(const GroupTable& group, bool is_of_several_jobs) {
  const int first = group.world_rank(0);
  return is_of_several_jobs ? job::neighbours::name_of(first) : first;
}

}  // namespace

MeetingKey meeting_key(MeetingKind kind, Comm& comm) {
  // A group of one job meets by itself, whatever the other group of an intercommunicator is.
  const GroupTable& group = *comm.group();
  const bool is_of_several = comm.spans_jobs() && group.has_far_members();
  return {kind,
          place_of(comm.local_context(), first_of(group, is_of_several)),
          comm.next_meeting(),
          {}};
}

MeetingKey meeting_key_of_everyone(MeetingKind kind, Comm& comm) {
  if (!comm.is_inter()) return meeting_key(kind, comm);
  const GroupTable& low = comm.is_low_group() ? *comm.group() : *comm.remote_group();
  return {kind,
          place_of(comm.context(), first_of(low, comm.spans_jobs())),
          comm.next_meeting(),
          {}};
}

msg::ContextId new_context(const job::Rank& self) {
  return Process::of(self).ids.take(1).first;
}

Comm* create_comm(const Comm& parent, const Comm::Spec& spec) {
  Comm* comm = new Comm(parent.self(), spec);
  comm->set_errhandler(parent.errhandler());
  comm->set_session_buffer(parent.session_buffer());
  return comm;
}

}  // namespace mpc::mpi
