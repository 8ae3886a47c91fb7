#pragma once
// File hints: the info keys that a file knows.
//
// Role:      defaults, what is kept of what the user gives, what it changes.
// Users:     mpi/io.
// Threads:   the owner rank.
// See also:  docs/files.md, "Info keys"; MPI-4.1 section 14.2.8.

#include "mpi/objects/file.h"

namespace mpc::mpi {

void set_default_hints(File& file);
// Keys of MPI and of ROMIO for files, with values that they can have; others are ignored.
void keep_hints(File& file, const InfoHints& given);
// Of a file that is created; file_perm, or what the umask leaves of 666.
unsigned permissions_of(const Info* info);

}  // namespace mpc::mpi
