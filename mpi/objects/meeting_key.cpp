#include "mpi/objects/meeting_key.h"

#include <algorithm>
#include <span>
#include <utility>

namespace mpc::mpi {

bool are_the_same(const GroupRef& a, const GroupRef& b) noexcept {
  return a == b || (a && b && std::ranges::equal(a->world_ranks(), b->world_ranks()));
}

MeetingKey key_of_members(MeetingKind kind, GroupRef members, uint32_t context,
                          uint32_t tag) {
  const uint64_t hash = members->hash();
  return {kind, hash, static_cast<uint64_t>(context) << 32 | tag, std::move(members)};
}

void put_group(ByteWriter& out, const GroupRef& group) {
  out.put(group != nullptr);
  if (group) out.put_all(group->world_ranks());
}

GroupRef get_group(ByteReader& in) {
  return in.get<bool>() ? GroupTable::make(in.get_all<int>()) : nullptr;
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
