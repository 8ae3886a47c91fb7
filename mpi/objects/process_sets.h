#pragma once
// Process sets: the named groups of ranks that a session offers.
//
// Role:      names and members: MPI's own two sets, and the parts of the machine to which the
//            calling rank belongs. All ranks of such a part see the same members.
// Users:     mpi/session, mpi/comm.
// Threads:   any execution of a rank.
// See also:  docs/sessions.md; MPI-4.1 section 11.3.2.

#include <array>
#include <optional>
#include <string_view>

#include "mpi/objects/group_table.h"
#include "runtime/job/rank.h"

namespace mpc::mpi {

inline constexpr std::array<std::string_view, 5> kProcessSets = {
    "mpi://WORLD", "mpi://SELF", "mpc://host", "mpc://process", "mpc://numa"};

// The members in the order of their ranks in the world; null: there is no such set.
GroupRef members_of_set(const job::Rank& self, std::string_view name);

}  // namespace mpc::mpi
