#pragma once
// Lookup: from the ABI's handles to objects.
//
// Role:      predefined handles are looked up in the rank (WORLD, SELF) or in the process's
//            constant tables (types, operations); any other is an Object that is checked.
// Users:     mpi: generated entry points (checks), chapters, views of arrays of handles.
// Threads:   any execution of the rank.
// See also:  mpi/objects/handles.h.

#include "mpi.h"
#include "mpi/objects/error.h"
#include "mpi/objects/handles.h"

namespace mpc::dt {
class Datatype;
}

namespace mpc::mpi {

class Comm;
class Group;
class DatatypeObject;  // handle object around a dt::Datatype (name, attributes)
class Op;
class Request;
class Message;
class Info;
class Errhandler;
class Win;
class File;
class Session;

// Each writes *out only on success. Errors: the class of the kind (MPI_ERR_COMM ...), with a
// message that says null, freed, of another kind, or of another rank.
Err lookup(MPI_Comm handle, Comm** out);
Err lookup(MPI_Group handle, Group** out);
Err lookup(MPI_Datatype handle, const dt::Datatype** out);  // for communication
Err lookup(MPI_Datatype handle, DatatypeObject** out);      // for names, attributes
Err lookup(MPI_Op handle, Op** out);
Err lookup(MPI_Request handle, Request** out);  // MPI_REQUEST_NULL: error
Err lookup(MPI_Message handle, Message** out);
Err lookup(MPI_Info handle, Info** out);  // MPI_INFO_NULL: null
Err lookup(MPI_Errhandler handle, Errhandler** out);
Err lookup(MPI_Win handle, Win** out);
Err lookup(MPI_File handle, File** out);
Err lookup(MPI_Session handle, Session** out);

}  // namespace mpc::mpi
