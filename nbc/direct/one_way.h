#pragma once
// One-way collectives: blocking ones without messages in which members do not all meet.
//
// Role:      bcast, scatter, gather, reduce, scan, exscan and neighbourhood exchanges of small data
//            between members wherever they live. A member shows what it has in its post, and waits
//            for the posts that it needs, for no others: a root of a bcast, a leaf of a gather leave
//            early, and may be up to kPosts calls ahead.
// Users:     mpi/coll/direct_one_way.cpp, which decides when it is taken.
// Threads:   any execution of a member; one collective of a team at a time per member.
// See also:  docs/design/0007-direct-collectives.md, "One way"; nbc/direct/team.h (posts).
//
// Why a post may be written again though nobody says that it was read: each member tells after each
// kTellEvery-th collective that it is done with all up to that one, and who writes post e has seen that
// all are done with e - kPosts (Lane::claim). In an exchange all members meet, which tells the same.
//
// Why no wake-up is lost, and the data are there: the writer stores round (seq_cst) after the data,
// then looks at the sleepers of those that read; a reader arms its sleeper, then looks at round, both
// seq_cst: one of the two sees the other. ThreadSanitizer sees the same: all data of a post lie
// between the acquire of its round and, a turn of the ring later, the acquire of what its readers tell.

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

// Members that share places are not too many. All members know it alike.
bool can_go_one_way(const Team& team) noexcept;
// Of members that share places, so many: a root looks after each of them, a scan reads from all before it.
inline constexpr int kMostSharing = 64;

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
// where they are, and their sender waits. Otherwise as run_one_way(). Needs: can_go_one_way().
Outcome run_with_neighbours(Team& team, int member, job::Rank& self,
                            const NeighbourCall& call, const sched::WaitReason& why);

}  // namespace mpc::nbc::direct
