#pragma once
// File hints: the info keys that a file knows.
//
// Role:      default hints; which of the user's hints are stored, and what they change.
// Users:     mpi/io.
// Threads:   the owner rank.
// See also:  docs/files.md, "Info keys"; MPI-4.1 section 14.2.8.

#include "mpi/objects/file.h"

namespace mpc::mpi {

void set_default_hints(File& file);
// Stores keys of MPI and of ROMIO for files, if they have a valid value; ignores others.
void keep_hints(File& file, const InfoHints& given);
// The permissions of a file that is created: file_perm, or what the umask leaves of 666.
unsigned permissions_of(const Info* info);

}  // namespace mpc::mpi
