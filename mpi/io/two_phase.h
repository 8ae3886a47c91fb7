#pragma once
// Two phases: a collective access of members in several processes.
//
// Role:      the processes tell each other what they have; where their pieces interleave finely, each
//            gets a part of the file, its domain, and the pieces go to the process that accesses theirs.
// Users:     mpi/io/collective_access.cpp.
// Threads:   any execution of the rank; collective.
// See also:  runtime/io/domains.h (whose is what), runtime/io/shipment.h (what is sent);
//            docs/design/0028-files.md.

#include "mpi/io/pending.h"

namespace mpc::mpi {

// All members come, each with an access that is prepared. True: the data have moved, and the access has
// its outcome; false, at all of them: each process is to move its own. Switches: yes.
bool exchange_and_access(const char* call, File& file, Access& access);

}  // namespace mpc::mpi
