#pragma once
// Direct choice: does a blocking collective go without messages, and how?
//
// Role:      the one answer, from what all members know alike; may_go_direct() comes before.
// Users:     mpi/coll/direct.cpp and mpi/coll/direct_one_way.cpp do it, mpi/coll/info.cpp shows it.
// Threads:   pure.
// See also:  docs/collectives.md, section "Without messages".

#include "nbc/direct/direct.h"
#include "nbc/direct/one_way.h"

namespace mpc::mpi {

enum class Way : uint8_t {
  kMessages,    // a schedule
  kMeeting,     // all members meet
  kOneWay,      // who takes waits for who gives, through rings of posts
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

// Always inline: the collective is known where it is asked.
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
      // In place, what comes would be written over what others still have to read; so below.
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
      // Values are taken in the order of ranks, whether the operation commutes or not.
      return nbc::direct::fits_one_way(team, ask.coll, ask.bytes) &&
                     nbc::direct::can_reduce(team, *ask.type, true)
                 ? Way::kOneWay
                 : Way::kMessages;
    case kNeighborAlltoall:
      // Which block of its source a member gets, elsewhere only the source knows.
      if (!ask.is_grid) return Way::kMessages;
      [[fallthrough]];
    case kNeighborAllgather:
      return nbc::direct::can_go_one_way(team) ? Way::kNeighbours : Way::kMessages;
    default:
      return Way::kMessages;
  }
}

// The same of non-blocking ones.
inline Way later_way(const nbc::direct::Team& team, nbc::Coll coll) noexcept {
  // Messages to one rank of each worker and back: with few ranks they cost less than to tell everybody.
  return coll == nbc::Coll::kBarrier && !team.is_spread() &&
                 team.size() > nbc::direct::kMostSharing
             ? Way::kMeeting
             : Way::kMessages;
}

}  // namespace mpc::mpi
