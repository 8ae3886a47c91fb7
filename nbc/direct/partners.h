#pragma once
// Partners: whom a member waits for in a collective in which not all members need to meet, and who waits for it.
//
// Role:      rooted collectives and scans, for those that block and those that do not.
// Users:     nbc/direct/one_way.cpp, pending.cpp.
// Threads:   pure.
// See also:  docs/design/0007-direct-collectives.md, 0050-small-nonblocking.md.

#include "nbc/schedule/coll.h"

namespace mpc::nbc::direct {

// Members [first, last).
struct Range {
  int first = 0, last = 0;
  bool is_empty() const noexcept { return first >= last; }
};

inline constexpr Range kNobody{};

// The members whose posts a member waits for, not counting itself if it is among them.
inline Range sources_of(Coll coll, int root, int member, int size) noexcept {
  switch (coll) {
    case Coll::kBcast:
    case Coll::kScatter:
      return member == root ? kNobody : Range{root, root + 1};
    case Coll::kGather:
    case Coll::kReduce:
      return member == root ? Range{0, size} : kNobody;
    default:  // scans
      return {0, member};
  }
}
// Likewise those that wait for its post.
inline Range readers_of(Coll coll, int root, int member, int size) noexcept {
  switch (coll) {
    case Coll::kBcast:
    case Coll::kScatter:
      return member == root ? Range{0, size} : kNobody;
    case Coll::kGather:
    case Coll::kReduce:
      return member == root ? kNobody : Range{root, root + 1};
    default:
      return {member + 1, size};
  }
}

}  // namespace mpc::nbc::direct
