#pragma once
// One-way collectives: blocking ones without messages in which members do not all meet.
//
// Role:      bcast, scatter, gather, reduce, scan, exscan and neighbourhood exchanges of small data
//            between members of any place. A member shows its data in its post, and waits only for
//            the posts that it needs. So a root of a bcast or a leaf of a gather leaves early, and
//            may be up to kPosts calls ahead.
// Users:     mpi/coll/direct_one_way.cpp, which decides when to use it.
// Threads:   any execution of a member; one collective of a team at a time per member.
// See also:  docs/design/0007-direct-collectives.md, "One way"; nbc/direct/team.h (posts).
//
// Why a post may be overwritten although no member says that it was read: after each kTellEvery-th
// collective each member tells that it is done with all up to that one. The writer of post e has
// seen that all are done with e - kPosts (Lane::claim). In an exchange all members meet, which
// tells the same.
//
// Why no wake-up is lost, and the data are there: the writer stores round (seq_cst) after the data,
// then loads the sleepers of the readers; a reader arms its sleeper, then loads round, both
// seq_cst: one of the two sees the other. ThreadSanitizer sees the same: all data of a post lie
// between the acquire of its round and the acquire of what its readers tell, a turn of the ring
// later.

#include <span>

#include "nbc/direct/direct.h"

namespace mpc::nbc::direct {

// All members call it, after the same number of earlier calls on the team. Needs: fits_one_way().
// Switches: yes. A user's operation runs on the caller. Ownership: as run().
Outcome run_one_way(Team& team, int member, job::Rank& self, const OneWayCall& call,
                    const sched::WaitReason& why);

// A root deals with each of its readers, which a tree of messages would divide among places. So where
// members share places, there must be few of the one or of the other. The same for all members.
bool can_go_one_way(const Team& team) noexcept;
inline constexpr int kMostSharing = 64;  // members
inline constexpr int kFewPlaces = 4;
// Members of a scan, if they share places: each reads from all before it.
inline constexpr int kMostScanning = 128;

// `bytes` of one block. The same for all members.
bool fits_one_way(const Team& team, Coll coll, size_t bytes) noexcept;

// Arguments of a neighbourhood exchange. Negative neighbours: there is none.
struct NeighbourCall {
  Coll coll = Coll::kNeighborAllgather;
  Block send, recv;  // the first block of each side
  std::span<const int> sources, destinations;
};

// An allgather, or an alltoall over a Cartesian grid (where the data sent in one direction of a
// dimension arrive from the other one). Data of any size: if they do not fit in a post the
// receivers read them from the sender's buffer, and the sender waits. Otherwise as run_one_way().
// Needs: can_go_one_way().
Outcome run_with_neighbours(Team& team, int member, job::Rank& self,
                            const NeighbourCall& call, const sched::WaitReason& why);

}  // namespace mpc::nbc::direct
