#pragma once
// Handles: from the ABI's handles to objects.
//
// Role:      h < 1024 is a predefined handle, looked up in the rank (WORLD, SELF) or in the
//            process's constant tables (types, ops); any other is a pointer to an Object, whose
//            magic word, kind and owner are checked.
// Users:     generated entry points (checks), bodies (making handles).
// Threads:   any execution of the rank.
// See also:  MPI 5.0 ABI chapter; mpi/object.h.

#include <cstdint>
#include <vector>

#include "mpi.h"
#include "mpi/error.h"
#include "mpi/object.h"

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

inline constexpr uintptr_t kPredefinedEnd = 1024;
template <class Handle>
inline bool is_predefined(Handle handle) noexcept {
  return reinterpret_cast<uintptr_t>(handle) < kPredefinedEnd;
}

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

// --- integers for handles: MPI_*_toint, c2f -------------------------------------------------
// Predefined handles are their code; others get an index from 1024 on, per rank and kind.
struct HandleTables {
  std::vector<Object*> by_index[kKindCount];
  std::vector<int> unused[kKindCount];
};
// `handle` is any of the ABI's handle types, passed as a pointer; null and wild ones give 0.
int handle_to_int(void* handle, Kind kind) noexcept;
void* int_to_handle(int value,
                    Kind kind) noexcept;  // null (never valid) if there is none
// Frees the object's index; every owner calls it before deleting the object.
void forget_handle(Object& object) noexcept;

// Address of an object as the ABI's handle, and back, without any check.
inline Object* object_of(void* handle) noexcept { return static_cast<Object*>(handle); }

}  // namespace mpc::mpi
