#include "mpi/objects/meeting_key.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "runtime/job/neighbours.h"
#include "runtime/message/abroad.h"

namespace mpc::mpi {

bool are_the_same(const GroupRef& a, const GroupRef& b) noexcept {
  return a == b || (a && b && std::ranges::equal(a->world_ranks(), b->world_ranks()));
}

MeetingKey key_of_members(MeetingKind kind, GroupRef members, uint32_t context,
                          uint32_t tag) {
  const uint64_t hash = members->hash();
  return {kind, hash, static_cast<uint64_t>(context) << 32 | tag, std::move(members)};
}

// Ranks travel between jobs as names; within a job the names are the numbers.
void put_group(ByteWriter& out, const GroupRef& group) {
  out.put(group != nullptr);
  if (!group) return;
  if (!job::neighbours::any()) return out.put_all(group->world_ranks());
  std::vector<int> names;
  for (const int rank : group->world_ranks())
    names.push_back(job::neighbours::name_of(rank));
  out.put_all(std::span<const int>(names));
}

GroupRef get_group(ByteReader& in) {
  if (!in.get<bool>()) return nullptr;
  std::vector<int> ranks = in.get_all<int>();
  if (job::neighbours::any())
    for (int& rank : ranks) rank = msg::abroad::rank_of(rank);
  return GroupTable::make(std::move(ranks));
}

void put_key(ByteWriter& out, const MeetingKey& key) {
  out.put(key.kind);
  out.put(key.place);
  out.put(key.sequence);
  put_group(out, key.members);
}

MeetingKey get_key(ByteReader& in) {
  MeetingKey key;
  key.kind = in.get<MeetingKind>();
  key.place = in.get<uint64_t>();
  key.sequence = in.get<uint64_t>();
  key.members = get_group(in);
  return key;
}

}  // namespace mpc::mpi
