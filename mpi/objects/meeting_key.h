#pragma once
// MeetingKey: the name of one meeting, which each member can compute alone.
//
// Role:      members of a process find their room by it, and processes find each other's
//            contributions. It contains values only, no addresses: all processes read it alike.
// Users:     mpi/objects/meeting.h, mpi/objects/exchange.h.
// Threads:   values.
// See also:  docs/design/0006-meetings.md.

#include <cstdint>

#include "mpi/objects/byte_stream.h"
#include "mpi/objects/group_table.h"

namespace mpc::mpi {

enum class MeetingKind : uint8_t {
  kInit,
  kFinalize,
  kBarrier,
  kDup,
  kSplit,
  kCreate,
  kCreateGroup,
  kFromGroup,
  kTopology,
  kMerge,
  kInterCreate,
  kReserve,
  kWindow,
  kFile,
  kTeam,
  kVerify,
  kCheck,
  kOpen,
  kBridge,
};

struct MeetingKey {
  MeetingKind kind = MeetingKind::kBarrier;
  // Context id and first member of a communicator (place_of), because communicators without a
  // common member may have the same id; or the hash of `members`.
  uint64_t place = 0;
  // Comm::next_meeting(), a tag ...
  uint64_t sequence = 0;
  // The members that meet, if no communicator consists of exactly them; null: the other fields
  // suffice. Compared by content, so that two groups of the same hash never share a room.
  GroupRef members;
};

bool are_the_same(const GroupRef& a, const GroupRef& b) noexcept;  // by content
inline bool operator==(const MeetingKey& a, const MeetingKey& b) noexcept {
  return a.place == b.place && a.sequence == b.sequence && a.kind == b.kind &&
         (a.members == b.members || are_the_same(a.members, b.members));
}

// The key with which these members meet in a communicator with this context id.
MeetingKey key_of_members(MeetingKind kind, GroupRef members, uint32_t context,
                          uint32_t tag);
// The place of the communicator with this context id whose first member is `first_world_rank`.
inline uint64_t place_of(uint32_t context, int first_world_rank) noexcept {
  return static_cast<uint64_t>(static_cast<uint32_t>(first_world_rank)) << 32 | context;
}

// Encodes a group for other processes. It may be null. One of several jobs can be encoded also if
// this process is not open to others (msg::abroad).
void put_group(ByteWriter& out, const GroupRef& group);
GroupRef get_group(ByteReader& in);
void put_key(ByteWriter& out, const MeetingKey& key);
MeetingKey get_key(ByteReader& in);

struct MeetingKeyHash {
  size_t operator()(const MeetingKey& key) const noexcept {
    const uint64_t h = (key.place * 0x9e3779b97f4a7c15u) ^ (key.sequence << 8) ^
                       static_cast<uint64_t>(key.kind);
    return static_cast<size_t>(h ^ (h >> 31));
  }
};

}  // namespace mpc::mpi
