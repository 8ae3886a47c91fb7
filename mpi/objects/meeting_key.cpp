#include "mpi/objects/meeting_key.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "runtime/job/neighbours.h"

namespace mpc::mpi {

bool are_the_same(const GroupRef& a, const GroupRef& b) noexcept {
  return a == b || (a && b && std::ranges::equal(a->world_ranks(), b->world_ranks()));
}

MeetingKey key_of_members(MeetingKind kind, GroupRef members, uint32_t context,
                          uint32_t tag) {
  const uint64_t hash = members->hash();
  return {kind, hash, static_cast<uint64_t>(context) << 32 | tag, std::move(members)};
}

// A rank of another job is identified by its name, one of this job by its number unless other jobs
// read it.
void put_group(ByteWriter& out, const GroupRef& group) {
  out.put(group != nullptr);
  if (!group) return;
  if (!job::neighbours::any()) return out.put_all(group->world_ranks());
  std::vector<int> ranks;
  for (const int rank : group->world_ranks()) {
    const bool is_named =
        out.is_for_other_jobs() || job::neighbours::slot_of(rank) != 0;
    ranks.push_back(is_named ? job::neighbours::name_of(rank) : rank);
    CHECK(ranks.back() >= 0, "another job is told of a rank that it cannot reach");
  }
  out.put_all(std::span<const int>(ranks));
}

// Connects to no process: the caller may be the connections' thread.
GroupRef get_group(ByteReader& in) {
  if (!in.get<bool>()) return nullptr;
  std::vector<int> ranks = in.get_all<int>();
  for (int& rank : ranks) {
    if (!job::neighbours::is_name(rank)) continue;
    if (!job::neighbours::any()) return nullptr;
    rank = job::neighbours::rank_of(rank);
    CHECK(rank >= 0, "there are no numbers left for ranks of other jobs");
  }
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
