// Bodies of MPI-5.0 section 20.3 and MPI-4.1 section 19.3: handles as integers, statuses of
// other languages.

#include <cstring>

#include "mpi/impl/abi.h"
#include "mpi/impl/fortran_interop.h"
#include "mpi/objects/handles.h"
#include "mpi/objects/status.h"

namespace mpc::mpi::impl {

// One pair per kind of handle. Predefined handles are their ABI codes.
#define MPC_INTEGER_HANDLES(prefix, Handle, kind)                           \
  int prefix##_toint(Handle handle) { return handle_to_int(handle, kind); } \
  Handle prefix##_fromint(int value) {                                      \
    return static_cast<Handle>(int_to_handle(value, kind));                 \
  }
MPC_INTEGER_HANDLES(comm, MPI_Comm, Kind::kComm)
MPC_INTEGER_HANDLES(errhandler, MPI_Errhandler, Kind::kErrhandler)
MPC_INTEGER_HANDLES(file, MPI_File, Kind::kFile)
MPC_INTEGER_HANDLES(group, MPI_Group, Kind::kGroup)
MPC_INTEGER_HANDLES(info, MPI_Info, Kind::kInfo)
MPC_INTEGER_HANDLES(message, MPI_Message, Kind::kMessage)
MPC_INTEGER_HANDLES(op, MPI_Op, Kind::kOp)
MPC_INTEGER_HANDLES(request, MPI_Request, Kind::kRequest)
MPC_INTEGER_HANDLES(session, MPI_Session, Kind::kSession)
MPC_INTEGER_HANDLES(type, MPI_Datatype, Kind::kDatatype)
MPC_INTEGER_HANDLES(win, MPI_Win, Kind::kWin)
#undef MPC_INTEGER_HANDLES

// All three forms of a status are the same eight integers.
static_assert(sizeof(MPI_Status) == MPI_F_STATUS_SIZE * sizeof(MPI_Fint));
static_assert(sizeof(MPI_F08_status) == sizeof(MPI_Status));

namespace {
Err convert(const void* from, void* to) {
  if (from == nullptr || to == nullptr || from == MPI_F_STATUS_IGNORE ||
      to == MPI_F_STATUS_IGNORE)  // the address of MPI_F08_STATUS_IGNORE as well
    return fail(MPI_ERR_ARG, "a status to be ignored cannot be converted");
  std::memcpy(to, from, sizeof(MPI_Status));
  return kSuccess;
}
}  // namespace

Err status_c2f(const MPI_Status* from, MPI_Fint* to) { return convert(from, to); }
Err status_c2f08(const MPI_Status* from, MPI_F08_status* to) {
  return convert(from, to);
}
Err status_f082c(const MPI_F08_status* from, MPI_Status* to) {
  return convert(from, to);
}
Err status_f082f(const MPI_F08_status* from, MPI_Fint* to) { return convert(from, to); }
Err status_f2c(const MPI_Fint* from, MPI_Status* to) { return convert(from, to); }
Err status_f2f08(const MPI_Fint* from, MPI_F08_status* to) { return convert(from, to); }

}  // namespace mpc::mpi::impl
