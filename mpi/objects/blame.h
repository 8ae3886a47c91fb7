#pragma once
// Blame: which error handler an error goes to.
//
// Role:      from the error of a call to the handler of its communicator, or of the one that the
//            call's requests or messages belong to.
// Users:     mpi, its generated entry points.
// Threads:   any execution of the rank; what is noted belongs to the calling execution.
// See also:  mpi/objects/errhandler.h (what the handler does); MPI-4.1 sections 9.1, 9.3.

#include "mpi/objects/error.h"

namespace mpc::mpi {

class Comm;
class File;
class Session;
class Win;

// They return the code that the MPI function returns, if the handler comes back. `function` is
// the MPI name. Cold.
[[gnu::cold]] int handle_error(Err error, Comm& comm, const char* function);
[[gnu::cold]] int handle_error(Err error, Win& win, const char* function);
[[gnu::cold]] int handle_error(Err error, Session& session, const char* function);
// Null: the handler of MPI_FILE_NULL.
[[gnu::cold]] int handle_error(Err error, File* file, const char* function);
// Errors of calls without an object, or whose object is unknown: MPI_COMM_SELF's handler
// (MPI-4.1 section 9.3); before MPI_Init and after MPI_Finalize the initial one: fatal.
[[gnu::cold]] int handle_error(Err error, const char* function);

// Calls that name requests or messages instead of a communicator (MPI_Wait) say with these
// whose handler is for the error: blame() right after the error was made, null: nobody's;
// blame_same() if `error` replaces the one before. Both return `error`.
[[gnu::cold]] Err blame(Err error, Comm* comm);
[[gnu::cold]] Err blame(Err error, File& file);
[[gnu::cold]] Err blame_same(Err error, unsigned replaced_number);

}  // namespace mpc::mpi
