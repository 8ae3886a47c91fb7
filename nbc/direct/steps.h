#pragma once
// Steps: what the acting members do with the data of a collective.
//
// Role:      the parts of each collective before and after the places show their posts.
// Users:     nbc/direct/direct.cpp.
// Threads:   the acting member of each place, while all other members wait.
// See also:  nbc/direct/team.h (Actor).

#include "nbc/direct/team.h"

namespace mpc::nbc::direct {

// True for reductions of so few bytes that each place reduces everything for itself.
bool is_small(const Call& call) noexcept;
// Allreduce. Reduces the values of the place's members, and shows the result in Actor::mine().
void contribute(Actor& actor);
// Reduces all places' contributions into every member's receive buffer. May meet() again.
void conclude(Actor& actor);

// In a team that meets in stages: whether the collective's data go along; after stage `s`: reduces
// what its posts show into the post of the next one, or after the last one gives the result to all
// members.
bool goes_in_stages(const Call& call) noexcept;
void combine_stage(Actor& actor, size_t s);

// Reduce_scatter, before the posts and after. Small: as an allreduce, of which each member gets its
// part. Otherwise reduces every member's part from all send buffers, and meets again.
void contribute_parts(Actor& actor);
void scatter_reduced(Actor& actor);
// Small exchanges, in which all members' data fit in the places' rooms; before the posts, after.
bool is_packed(const Team& team, const Call& call) noexcept;
void pack_blocks(Actor& actor);
void unpack_blocks(Actor& actor);
// Of a block in a place's room, with blocks of different sizes.
using BlockLength = uint16_t;
static_assert(kScratchBytes <= UINT16_MAX);
// How many blocks each member sends there.
inline int sent_blocks(const Team& team, const Call& call) noexcept {
  return call.coll == Coll::kAllgatherv ? 1 : team.size();
}
// Exchanges with blocks of different sizes, before the posts and after. Small ones as above. If the
// post of any place says that it has a large one, all places do as below.
void pack_uneven(Actor& actor);
void move_uneven(Actor& actor);
// Other exchanges, after the posts: copies every member's blocks from all send buffers. Meets
// again.
void copy_blocks(Actor& actor);

}  // namespace mpc::nbc::direct
