#pragma once
// One-way collectives: blocking ones without messages in which members do not all meet.
//
// Role:      bcast, scatter, gather, reduce, scan, exscan and neighbourhood exchanges of small data
//            between members that each have a place of their own. A member shows what it has in its
//            post, and waits for the posts that it needs, for no others: a root of a bcast, a leaf
//            of a gather leave early.
// Users:     mpi/coll/direct_one_way.cpp, which decides when it is taken.
// Threads:   any execution of a member; one collective of a team at a time per member.
// See also:  docs/design/0007-direct-collectives.md, "One way"; nbc/direct/team.h (posts).
//
// Why a post may be written again though nobody says that it was read: in all collectives of a team
// that are not one-way, and in a one-way one if it is the last for which the own posts suffice
// (may_reuse()), every member waits for a post of each other. All members count alike, so all of them
// meet in the same one. Whoever has shown its post there is done with all collectives before.
//
// Why no wake-up is lost, and the data are there: the writer stores round (seq_cst) after the data,
// then looks at the sleepers of those that read; a reader arms its sleeper, then looks at round, both
// seq_cst: one of the two sees the other. ThreadSanitizer sees the same: all data of a post lie
// between the acquire of its round and, one turn later, the acquire of the rounds of its readers.

#include <span>

#include "nbc/direct/direct.h"

namespace mpc::nbc::direct {

// What one member brings.
struct OneWayCall {
  Coll coll = Coll::kBcast;
  uint8_t op_code = 0;  // dt::abi::Op; 0: the user's, or none
  int root = 0;
  // One block: of a gather's or scatter's root the first one, the others follow in steps of its
  // extent. No type: the member gives or takes nothing, or its own part is in place already. A
  // reduction in place: both name the same memory.
  Block send, recv;
  Operation op;
};

// All members call it, with the same number of earlier calls on the team. Needs: fits_one_way().
// Switches: yes. A user's operation runs on the caller. Ownership: as run().
Outcome run_one_way(Team& team, int member, job::Rank& self, const OneWayCall& call,
                    const sched::WaitReason& why);

// `bytes` of one block. All members know it alike.
bool fits_one_way(const Team& team, Coll coll, size_t bytes) noexcept;

// Of a neighbourhood exchange. Negative neighbours: there is none.
struct NeighbourCall {
  Coll coll = Coll::kNeighborAllgather;
  Block send, recv;  // the first block of each side
  std::span<const int> sources, destinations;
};

// An allgather, or an alltoall over a Cartesian grid (in which what goes in the one direction of a
// dimension comes from the other). Data of any size: those that do not fit in a post are read
// where they are, and their sender waits. Otherwise as run_one_way(). Needs: a spread team.
Outcome run_with_neighbours(Team& team, int member, job::Rank& self,
                            const NeighbourCall& call, const sched::WaitReason& why);

}  // namespace mpc::nbc::direct
