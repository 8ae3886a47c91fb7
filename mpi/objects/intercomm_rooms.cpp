#include "mpi/objects/intercomm_rooms.h"

#include <span>
#include <utility>

namespace mpc::mpi {

void LeadersRoom::pack(ByteWriter& out) const {
  for (const Side& side : sides) {
    out.put(side.has_far_members);
    put_group(out, side.group);
    out.put(side.local_context);
    out.put(side.ids);
    out.put_text(side.problem);
  }
}

void LeadersRoom::merge(ByteReader& in) {
  for (Side& side : sides) {
    const bool has_far_members = in.get<bool>();
    GroupRef group = get_group(in);
    const auto local_context = in.get<msg::ContextId>();
    const auto grant = in.get<ContextGrant>();
    std::string problem = in.get_text();
    if (group || has_far_members || !problem.empty())
      side = {std::move(group), local_context, has_far_members, std::move(problem),
              grant};
  }
}

// Ids that a leader brings are used first: those drawn here have no meaning in other jobs.
void LeadersRoom::conclude(Ids& from) {
  for (const Side& side : sides) {
    if (side.ids.pairs == 0) continue;
    ids = side.ids;
    return;
  }
  ids = from.draw(is_reserved ? pairs_wanted() : 1);
}

void Learnt::put_to(ByteWriter& out) const {
  put_group(out, remote);
  out.put(ids);
  out.put(local_context);
  out.put(error);
  out.put_text(message);
  out.put(has_to_open);
}

Learnt Learnt::get_from(ByteReader& in) {
  Learnt learnt;
  learnt.remote = get_group(in);
  learnt.ids = in.get<ContextGrant>();
  learnt.local_context = in.get<msg::ContextId>();
  learnt.error = in.get<int>();
  learnt.message = in.get_text();
  learnt.has_to_open = in.get<bool>();
  return learnt;
}

void LocalRoom::pack(ByteWriter& out) const {
  out.put(is_learnt);
  if (is_learnt) learnt.put_to(out);
}

void LocalRoom::merge(ByteReader& in) {
  if (!in.get<bool>()) return;
  learnt = Learnt::get_from(in);
  is_learnt = true;
}

void OpenRoom::merge(ByteReader& in) {
  std::string theirs = in.get_text();
  if (problem.empty()) problem = std::move(theirs);
}

void MergeRoom::pack(ByteWriter& out) const {
  for (const bool is_high : high) out.put(is_high);
}

void MergeRoom::merge(ByteReader& in) {
  // All members of a group give the same flag; a process without members of a group says false.
  for (bool& is_high : high) is_high |= in.get<bool>();
}

void MergeRoom::conclude(Ids& from) {
  // Equal flags: the order is arbitrary (MPI-4.1 section 7.6.2); the low group is first.
  const int first = high[0] && !high[1] ? 1 : 0;
  std::vector<int> ranks;
  for (const int side : {first, 1 - first})
    for (const int rank : groups[side]->world_ranks()) ranks.push_back(rank);
  merged = GroupTable::make(std::move(ranks));
  ids = from.draw(1);
}

}  // namespace mpc::mpi
