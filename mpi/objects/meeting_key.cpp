#include "mpi/objects/meeting_key.h"

#include <algorithm>
#include <functional>

namespace mpc::mpi {
namespace {

bool are_the_same(const GroupRef& a, const GroupRef& b) noexcept {
  if (a == b) return true;
  return a && b && std::ranges::equal(a->world_ranks(), b->world_ranks());
}

}  // namespace

bool operator==(const MeetingKey& a, const MeetingKey& b) noexcept {
  return a.kind == b.kind && a.place == b.place && a.sequence == b.sequence &&
         a.label == b.label && are_the_same(a.members, b.members);
}

MeetingKey key_of_members(MeetingKind kind, GroupRef members, uint32_t context,
                          uint32_t tag) {
  const uint64_t hash = members->hash();
  return {
      kind, hash, static_cast<uint64_t>(context) << 32 | tag, {}, std::move(members)};
}

size_t MeetingKeyHash::operator()(const MeetingKey& key) const noexcept {
  uint64_t h = (key.place * 0x9e3779b97f4a7c15u) ^ (key.sequence << 8) ^
               static_cast<uint64_t>(key.kind);
  if (!key.label.empty()) h ^= std::hash<std::string>{}(key.label);
  return static_cast<size_t>(h ^ (h >> 31));
}

}  // namespace mpc::mpi
