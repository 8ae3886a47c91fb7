#include "mpi/objects/intercomm_leaders.h"

#include <initializer_list>
#include <span>

#include "mpi/objects/process.h"
#include "runtime/job/job.h"
#include "runtime/job/neighbours.h"

namespace mpc::mpi {
namespace {

bool overlap(const GroupTable& a, const GroupTable& b) noexcept {
  for (const int rank : a.world_ranks())
    if (b.index_of(rank) >= 0) return true;
  return false;
}

// Both sides get the same answer, even if they belong to different jobs.
bool comes_before(int rank, int other) noexcept {
  return job::neighbours::name_of(rank) < job::neighbours::name_of(other);
}

// The two leaders, which may live in two processes.
ProcessList processes_of(const job::ProcessMap& map, int leader, int other) {
  return {map, {std::span<const int>(&leader, 1), std::span<const int>(&other, 1)}};
}

// Decides which group is the low one, with the same result on both sides: the one with the smaller
// first rank.
bool is_low(const GroupTable& mine, const GroupTable& other) noexcept {
  return comes_before(mine.world_rank(0), other.world_rank(0));
}

}  // namespace

void meet_other_leader(job::Rank& self, const GroupRef& group, int other,
                       uint64_t place, uint64_t sequence, const char* what,
                       Learnt* out) {
  const int me = self.world_rank;
  if (me == other) {
    out->error = MPI_ERR_RANK;
    out->message = "the remote leader is the caller itself";
    return;
  }
  const job::ProcessMap& map = self.job->processes();
  const ProcessList list = processes_of(map, me, other);
  const Members members =
      list.is_one_process() ? Members{2, nullptr} : Members{1, &list};
  const int mine = comes_before(me, other) ? 0 : 1;
  out->local_context = Process::of(self).outward().ids.take(1).first;
  auto room = meet<LeadersRoom>(
      self, {MeetingKind::kInterCreate, place, sequence, {}}, members,
      [&](LeadersRoom& r) {
        r.is_reserved = job::neighbours::has_others(map);
        r.sides[mine] = {group, out->local_context};
      },
      what);
  const LeadersRoom::Side& theirs = room->sides[1 - mine];
  if (overlap(*group, *theirs.group)) {
    out->error = MPI_ERR_COMM;
    out->message = "the two groups have members in common";
    return;
  }
  out->remote = theirs.group;
  out->ids = room->ids;
}

Err learn_from_leader(job::Rank& self, const MeetingKey& key, const GroupRef& group,
                      const Learnt* mine, const char* what, Comm::Spec* out) {
  auto room = meet<LocalRoom>(
      self, key, members_of(self, *group),
      [&](LocalRoom& r) {
        if (mine == nullptr) return;
        r.learnt = *mine;
        r.is_learnt = true;
      },
      what);
  const Learnt& common = room->learnt;
  if (common.error != MPI_SUCCESS) return fail(common.error, common.message);
  out->group = group;
  out->remote = common.remote;
  out->rank = group->index_of(self.world_rank);
  out->context = common.ids.first;
  out->local_context = common.local_context;
  out->reserve = common.ids.after(1);
  out->is_low_group = is_low(*group, *common.remote);
  return kSuccess;
}

}  // namespace mpc::mpi
