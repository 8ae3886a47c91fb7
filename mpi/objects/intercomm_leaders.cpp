#include "mpi/objects/intercomm_leaders.h"

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "mpi/objects/process.h"
#include "mpi/objects/several_jobs.h"
#include "runtime/job/job.h"
#include "runtime/job/neighbours.h"

namespace mpc::mpi {
namespace {

bool overlap(const GroupTable& a, const GroupTable& b) noexcept {
  for (const int rank : a.world_ranks())
    if (b.index_of(rank) >= 0) return true;
  return false;
}

// Has the same result on both sides. Ranks of one job are compared by number, since its processes
// may have no slots.
bool comes_before(int rank, int other, bool are_of_several_jobs) {
  return are_of_several_jobs
             ? job::neighbours::name_of(rank) < job::neighbours::name_of(other)
             : rank < other;
}

// The processes of the two leaders: one, or two.
ProcessList processes_of(const job::ProcessMap& map, int leader, int other) {
  return {map, {std::span<const int>(&leader, 1), std::span<const int>(&other, 1)}};
}

// Decides which group is the low one, with the same result on both sides: the one with the smaller
// first rank.
bool is_low(const GroupTable& mine, const GroupTable& other) {
  return comes_before(mine.world_rank(0), other.world_rank(0),
                      mine.has_far_members() || other.has_far_members());
}

// Opens all processes of a group of this job to other jobs. Returns the problem of one that cannot
// be opened; empty: there is none.
std::string open_together(job::Rank& self, const MeetingKey& key, const GroupRef& group,
                          const std::string& place, const char* what) {
  std::string problem = open_process(*self.job, place).problem;
  auto room = meet<OpenRoom>(
      self, {MeetingKind::kOpen, key.place, key.sequence, key.members},
      members_of(self, *group),
      [&](OpenRoom& r) {
        if (r.problem.empty()) r.problem = std::move(problem);
      },
      what);
  return room->problem;
}

// The leader's part in open_together(); the other members do theirs in learn_from_leader().
std::string open_group(job::Rank& self, const MeetingKey& key, const GroupRef& group,
                       const char* what) {
  const ProcessList& list = group->processes(self.job->processes());
  if (list.spans_jobs()) return {};  // they are open
  const Opened own = open_process(*self.job, {});
  if (list.is_one_process() || !own.problem.empty()) return own.problem;
  meet<LocalRoom>(
      self, key, members_of(self, *group),
      [&](LocalRoom& r) {
        r.learnt.has_to_open = true;
        r.learnt.message = own.place;
        r.is_learnt = true;
      },
      what);
  return open_together(self, key, group, own.place, what);
}

}  // namespace

void meet_other_leader(job::Rank& self, const MeetingKey& key, const GroupRef& group,
                       int other, const LeadersPlace& at, Learnt* out) {
  const int me = self.world_rank;
  if (me == other) {
    out->error = MPI_ERR_RANK;
    out->message = "the remote leader is the caller itself";
    return;
  }
  const job::ProcessMap& map = self.job->processes();
  const bool are_far = job::neighbours::slot_of(other) != 0;
  const int mine = comes_before(me, other, are_far) ? 0 : 1;
  LeadersRoom::Side side{group, 0, group->has_far_members(), {}, {}};
  const auto meet_other = [&](MeetingKind kind) {
    const ProcessList list = processes_of(map, me, other);
    const Members members =
        list.is_one_process() ? Members{2, nullptr} : Members{1, &list};
    return meet<LeadersRoom>(
        self, {kind, at.place, at.sequence, {}}, members,
        [&](LeadersRoom& r) {
          r.is_reserved = job::neighbours::has_others(map);
          r.sides[mine] = side;
        },
        at.what);
  };
  std::shared_ptr<LeadersRoom> room;
  if (!are_far) {
    out->local_context = side.local_context = Process::of(self).ids.take(1).first;
    room = meet_other(MeetingKind::kInterCreate);
  }
  if (are_far || room->sides[0].has_far_members || room->sides[1].has_far_members) {
    // Opened first: other jobs are only told of ranks that they can reach. Context ids come from a
    // range that no other job uses.
    side.problem = open_group(self, key, group, at.what);
    if (side.problem.empty()) {
      ContextIds& ids = Process::abroad().ids;
      out->local_context = side.local_context = ids.take(1).first;
      if (!are_far) side.ids = ids.take(room->pairs_wanted());
    } else {
      side.group = nullptr;
    }
    room = meet_other(are_far ? MeetingKind::kInterCreate : MeetingKind::kOpen);
  }
  for (const LeadersRoom::Side& each : room->sides) {
    if (each.problem.empty()) continue;
    out->error = MPI_ERR_PORT;
    out->message = each.problem;
    return;
  }
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
  const auto learn = [&] {
    return meet<LocalRoom>(
        self, key, members_of(self, *group),
        [&](LocalRoom& r) {
          if (mine == nullptr) return;
          r.learnt = *mine;
          r.is_learnt = true;
        },
        what);
  };
  auto room = learn();
  // True if the leader has called open_group(), where it does the same.
  while (room->learnt.has_to_open) {
    (void)open_together(self, key, group, room->learnt.message, what);
    room = learn();
  }
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
