#pragma once
// Direct choice: whether a blocking collective works without messages, and in which way.
//
// Role:      the only place that decides, from facts that all members know alike. Caller: after
//            may_go_direct().
// Users:     mpi/coll/direct.cpp and mpi/coll/direct_one_way.cpp, mpi/coll/info.cpp to show it.
// Threads:   pure.
// See also:  docs/collectives.md, section "Without messages".

#include "nbc/direct/direct.h"
#include "nbc/direct/one_way.h"
#include "nbc/direct/pending.h"

namespace mpc::mpi {

enum class Way : uint8_t {
  kMessages,    // a schedule
  kMeeting,     // all members meet
  kOneWay,      // receivers wait for senders, through rings of posts
  kNeighbours,  // the same along the edges of a neighbourhood
};

struct DirectAsk {
  nbc::Coll coll;
  size_t bytes = 0;  // reductions: the vector of each member; else one block
  bool is_in_place = false;
  const dt::Datatype* type = nullptr;  // of reductions
  bool is_commutative = true;          // likewise
  bool is_grid = true;                 // of neighbourhoods
};

// Always inline: callers know the collective at compile time.
[[gnu::always_inline]] inline Way direct_way(const nbc::direct::Team& team,
                                             const DirectAsk& ask) noexcept {
  using enum nbc::Coll;
  switch (ask.coll) {
    case kBarrier:
    case kAllgather:
    case kAllgatherv:
      return Way::kMeeting;
    case kAlltoall:
    case kAlltoallv:
      // In place, arriving data would overwrite what others still have to read; likewise below.
      return ask.is_in_place ? Way::kMessages : Way::kMeeting;
    case kReduceScatterBlock:
    case kReduceScatter:
      if (ask.is_in_place) return Way::kMessages;
      [[fallthrough]];
    case kAllreduce:
      return ask.bytes != 0 &&
                     nbc::direct::can_reduce(team, *ask.type, ask.is_commutative)
                 ? Way::kMeeting
                 : Way::kMessages;
    case kBcast:
    case kGather:
    case kScatter:
      return nbc::direct::fits_one_way(team, ask.coll, ask.bytes) ? Way::kOneWay
                                                                  : Way::kMessages;
    case kReduce:
    case kScan:
    case kExscan:
      // Values are combined in rank order, whether the operation commutes or not.
      return nbc::direct::fits_one_way(team, ask.coll, ask.bytes) &&
                     nbc::direct::can_reduce(team, *ask.type, true)
                 ? Way::kOneWay
                 : Way::kMessages;
    case kNeighborAlltoall:
      // Without a grid only the source knows which of its blocks a member gets.
      if (!ask.is_grid) return Way::kMessages;
      [[fallthrough]];
    case kNeighborAllgather:
      return nbc::direct::can_go_one_way(team) ? Way::kNeighbours : Way::kMessages;
    default:
      return Way::kMessages;
  }
}

// The same for non-blocking collectives.
inline Way later_way(const nbc::direct::Team& team, const DirectAsk& ask) noexcept {
  if (!nbc::direct::fits_pending(team, ask.coll, ask.bytes)) return Way::kMessages;
  // Values are combined in rank order, whether the operation commutes or not.
  if (nbc::traits_of(ask.coll).is_reduction && ask.type != nullptr &&
      !nbc::direct::can_reduce(team, *ask.type, true))
    return Way::kMessages;
  return nbc::direct::by_meeting(team, ask.coll) ? Way::kMeeting : Way::kOneWay;
}

}  // namespace mpc::mpi
