#pragma once
// Pending: a small collective that does not block: begun in one call, completed in a later one.
//
// Role:      non-blocking barriers, broadcasts, reductions and exchanges of little data. By posts: a start shows what a
//            member gives, which fits in one post, and completion looks at the posts that the member needs, and takes
//            their data. By a meeting, if members share places and all need what all give: nbc/direct/later.h. A start
//            waits for nothing. No schedule, no message.
// Users:     mpi/coll/direct_later.cpp begins, mpi/objects/request.cpp completes.
// Threads:   one execution at a time for each Pending; those of one member are begun one after the other
//            (MPI's rule for collectives), and may be completed by other threads in any order.
// See also:  docs/design/0050-small-nonblocking.md, nbc/direct/trail.h.
//
// A number of its own (epoch) tells the team's collectives of this kind apart, so they do not depend on the
// blocking ones in between.
//
// Why a post may be written again: a member tells `done` when it no longer reads anything up to that epoch,
// whatever the order in which its collectives end. The writer of post e has seen (acquire) that all have told
// e - size. If they have not, the ring grows and the old one stays as it is: a reader finds each post either
// in the ring that it has looked up, or in the newer one at its next look. So a start never waits.
//
// Why rings stay small: the request of a member that only gives is complete when all others have begun
// what it began kMostAhead earlier. (MPI lets a collective wait for the others' starts, not for their ends.)
//
// Why no wake-up is lost: the writer stores the post's flag, then loads `watchers` of the readers; a reader
// adds itself to `watchers`, then loads ring and flag; all seq_cst. One of the two sees the other.

#include "nbc/direct/one_way.h"
#include "nbc/direct/pending_state.h"

namespace mpc::nbc::direct {

inline constexpr uint64_t kMostAhead = 32;

// The same for all members. `bytes` of one block.
bool fits_pending(const Team& team, Coll coll, size_t bytes) noexcept;
// How it goes: by a meeting, else by posts. Likewise.
bool by_meeting(const Team& team, Coll coll) noexcept;

// All members call it, after the same number of earlier calls on the team. Needs: fits_pending(). `send` of the
// call is read here, `recv` is written until the collective is over. is_shared: several threads of the
// rank make calls. Switches: no. Errors: false if there is no memory.
bool begin(Pending& pending, Team& team, int member, job::Rank& self,
           const OneWayCall& call, bool is_shared) noexcept;
// Takes what has come. Once true, the buffers are as the collective leaves them. Switches: no.
bool advance(Pending& pending) noexcept;
// Waits until it is over. Switches: yes.
void wait(Pending& pending, const sched::WaitReason& why);
// From watch() to unwatch() the rank is notified when a post is shown that it may need.
void watch(const Pending& pending) noexcept;
void unwatch(const Pending& pending) noexcept;
// The member whose post is missing; -1: none. For reports, may be stale.
int missing_member(const Pending& pending) noexcept;

inline bool is_right(const Pending& pending) noexcept {
  return pending.wrong_member < 0 && pending.truncated_by < 0 && pending.short_from < 0;
}
// `text` is where Outcome::mismatch points to.
Outcome outcome_of(const Pending& pending, std::string& text);

}  // namespace mpc::nbc::direct
