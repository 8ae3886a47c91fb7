#pragma once
// Window hints: the info keys that a window knows.
//
// Role:      defaults, and which of the user's hints are stored.
// Users:     mpi/rma.
// Threads:   the owner rank.
// See also:  MPI-4.1 section 12.2; docs/windows.md, "Info keys".

#include <string_view>

#include "mpi/objects/info.h"
#include "mpi/objects/win.h"

namespace mpc::mpi {

bool is_true(const InfoHints& hints, std::string_view key);
void set_default_hints(Win& win);
// Keys that MPI defines for windows, with values that it knows; others are ignored.
void keep_hints(Win& win, const InfoHints& given);

}  // namespace mpc::mpi
