#pragma once
// Try to meet: a meeting that may be broken by the death of a process that was to come.
//
// Role:      for calls that return an error then. All others end the job (mpi/objects/meeting.cpp): they
//            cannot go on without the conclusion.
// Users:     making of communicators.
// Threads:   as meet().
// See also:  mpi/objects/meeting.h, docs/design/0040-losses.md.

#include <memory>
#include <utility>

#include "mpi/objects/meeting.h"

namespace mpc::mpi {

// As meet(); the room may be broken, and has no conclusion then. Switches: yes.
template <class R, class Visit>
std::shared_ptr<R> try_to_meet(job::Rank& self, const MeetingKey& key, Members members,
                               Visit&& visit, const char* what) {
  auto room = start_to_meet<R>(self, key, members, std::forward<Visit>(visit));
  detail::wait_for_any_end(self, *room, what);
  return room;
}

}  // namespace mpc::mpi
