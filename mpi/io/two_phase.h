#pragma once
// Two phases: a collective access of members in several processes.
//
// Role:      the processes tell each other what they have. If their pieces interleave finely, each
//            process gets a part of the file, its domain, and receives the pieces that lie there.
// Users:     mpi/io/collective_access.cpp.
// Threads:   any execution of the rank; collective.
// See also:  runtime/io/domains.h (the domains), runtime/io/shipment.h (what is sent);
//            docs/design/0028-files.md.

#include "mpi/io/pending.h"

namespace mpc::mpi {

// All members call it, each with a prepared access. True: the data have been moved, and the access
// has its outcome. False, at all members: each process has to move its own data. Switches: yes.
bool exchange_and_access(const char* call, File& file, Access& access);

}  // namespace mpc::mpi
