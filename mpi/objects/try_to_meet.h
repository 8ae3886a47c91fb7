#pragma once
// Try to meet: a meeting that is broken if a process that is expected dies.
//
// Role:      for calls that return an error in that case. All others end the job
//            (mpi/objects/meeting.cpp), because they cannot go on without the conclusion.
// Users:     creation of communicators.
// Threads:   as meet().
// See also:  mpi/objects/meeting.h, docs/design/0040-losses.md.

#include <memory>
#include <utility>

#include "mpi/objects/meeting.h"

namespace mpc::mpi {

// Like meet(), but the room may be broken, and then has no conclusion. Switches: yes.
template <class R, class Visit>
std::shared_ptr<R> try_to_meet(job::Rank& self, const MeetingKey& key, Members members,
                               Visit&& visit, const char* what) {
  auto room = start_to_meet<R>(self, key, members, std::forward<Visit>(visit));
  detail::wait_for_any_end(self, *room, what);
  return room;
}

}  // namespace mpc::mpi
