#pragma once
// Go direct: may the members of a communicator do without messages?
//
// Role:      the setting nbc.direct, the one place for a decision that all members must make
//            alike, and the errors of such collectives.
// Users:     mpi/coll, mpi/objects/split_direct.cpp.
// Threads:   any execution of the rank.
// See also:  docs/design/0007-direct-collectives.md.

#include <atomic>
#include <cstdint>

#include "mpi/objects/comm.h"
#include "mpi/objects/error.h"
#include "nbc/direct/direct.h"

namespace mpc::mpi {

namespace detail {
// is_direct_on(), which is constant once there are communicators: a collective asks for one number. -1: no one has
// asked yet.
extern std::atomic<int8_t> g_is_on_for_ranks;
bool ask_for_ranks() noexcept;
}  // namespace detail

// The setting; with mpi.check=full false.
bool is_direct_on() noexcept;

// All members get the same answer, which depends on the setting and on where they live. Members of
// several processes use schedules, whose messages can leave a process.
inline bool may_go_direct(const Comm& comm) noexcept {
  if (!comm.has_team()) return false;
  const int8_t known = detail::g_is_on_for_ranks.load(std::memory_order_relaxed);
  return known >= 0 ? known != 0 : detail::ask_for_ranks();
}

[[gnu::cold]] Err make_error_of_outcome(const nbc::direct::Outcome& outcome,
                                        const char* name);
inline Err error_of_outcome(const nbc::direct::Outcome& outcome, const char* name) {
  if (outcome.mismatch == nullptr && outcome.truncated_by < 0 && outcome.short_from < 0)
      [[likely]]
    return kSuccess;
  return make_error_of_outcome(outcome, name);
}

}  // namespace mpc::mpi
