#pragma once
// Steps: what the acting members do with the data.
//
// Role:      the parts of each collective before and after the places show their posts.
// Users:     nbc/direct/direct.cpp.
// Threads:   the acting member of each place; all other members stand still.
// See also:  nbc/direct/team.h (Actor).

#include "nbc/direct/team.h"

namespace mpc::nbc::direct {

// Reductions of so little that each place reduces everything for itself.
bool is_small(const Call& call) noexcept;
// Allreduce. Reduces what the place's members have, and shows the result in Actor::mine().
void contribute(Actor& actor);
// From all places' contributions to every member's receive buffer. May meet() again.
void conclude(Actor& actor);

// Reduce_scatter, before the posts and after. Small: as an allreduce, of which each member takes its
// part. Else every member's part from all send buffers; meets again.
void contribute_parts(Actor& actor);
void scatter_reduced(Actor& actor);
// Small exchanges, where all members' data fit in the places' rooms; before the posts, after.
bool is_packed(const Team& team, const Call& call) noexcept;
void pack_blocks(Actor& actor);
void unpack_blocks(Actor& actor);
// Exchanges with blocks of different sizes, before the posts and after: small ones as above. The
// others as below, all places alike, as the posts say who has a large one.
void pack_uneven(Actor& actor);
void move_uneven(Actor& actor);
// Other exchanges, after the posts: every member's blocks from all send buffers. Meets again.
void copy_blocks(Actor& actor);

}  // namespace mpc::nbc::direct
