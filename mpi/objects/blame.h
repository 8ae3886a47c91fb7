#pragma once
// Blame: which error handler an error goes to.
//
// Role:      finds the handler for the error of a call: that of its communicator, or of the
//            communicator that the call's requests or messages belong to.
// Users:     mpi, its generated entry points.
// Threads:   any execution of the rank; what is noted belongs to the calling execution.
// See also:  mpi/objects/errhandler.h (what the handler does); MPI-4.1 sections 9.1, 9.3.

#include "mpi/objects/error.h"

namespace mpc::mpi {

class Comm;
class File;
class Session;
class Win;

// These return the code that the MPI function returns, if the handler returns. `function` is
// the MPI name. Cold.
[[gnu::cold]] int handle_error(Err error, Comm& comm, const char* function);
[[gnu::cold]] int handle_error(Err error, Win& win, const char* function);
[[gnu::cold]] int handle_error(Err error, Session& session, const char* function);
// Null: the handler of MPI_FILE_NULL.
[[gnu::cold]] int handle_error(Err error, File* file, const char* function);
// Errors of calls without an object, or whose object is unknown, go to MPI_COMM_SELF's handler
// (MPI-4.1 section 9.3); before MPI_Init and after MPI_Finalize to the initial one, which is fatal.
[[gnu::cold]] int handle_error(Err error, const char* function);

// Calls that name requests or messages instead of a communicator (MPI_Wait) choose with these the
// communicator whose handler gets the error. blame(): right after the error was created; null: no
// communicator. blame_same(): `error` replaces the previous one. Both return `error`.
[[gnu::cold]] Err blame(Err error, Comm* comm);
[[gnu::cold]] Err blame(Err error, File& file);
[[gnu::cold]] Err blame_same(Err error, unsigned replaced_number);

}  // namespace mpc::mpi
