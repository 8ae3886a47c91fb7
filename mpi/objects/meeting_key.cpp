#include "mpi/objects/meeting_key.h"

#include <algorithm>

namespace mpc::mpi {

bool are_the_same(const GroupRef& a, const GroupRef& b) noexcept {
  return a == b || (a && b && std::ranges::equal(a->world_ranks(), b->world_ranks()));
}

MeetingKey key_of_members(MeetingKind kind, GroupRef members, uint32_t context,
                          uint32_t tag) {
  const uint64_t hash = members->hash();
  return {kind, hash, static_cast<uint64_t>(context) << 32 | tag, std::move(members)};
}

}  // namespace mpc::mpi
