#include "mpi/objects/lookup.h"

#include "mpi/objects/comm.h"
#include "mpi/objects/errhandler.h"
#include "mpi/objects/group.h"
#include "mpi/objects/info.h"
#include "mpi/objects/op.h"
#include "mpi/objects/rank_state.h"
#include "mpi/objects/type_object.h"

namespace mpc::mpi {
namespace {

template <class T, class Handle>
Err lookup_dynamic(Handle handle, Kind kind, T** out) {
  Object* object = nullptr;
  MPC_MPI_TRY(find_object(handle, kind, &object));
  *out = static_cast<T*>(object);
  return kSuccess;
}

}  // namespace

Err lookup(MPI_Comm handle, Comm** out) {
  if (is_predefined(handle)) {
    RankState& state = this_rank();
    if (handle == MPI_COMM_WORLD && state.world != nullptr)
      *out = state.world;
    else if (handle == MPI_COMM_SELF && state.self != nullptr)
      *out = state.self;
    else
      return bad_handle(handle, Kind::kComm);
    return kSuccess;
  }
  return lookup_dynamic(handle, Kind::kComm, out);
}

Err lookup(MPI_Group handle, Group** out) {
  if (handle == MPI_GROUP_EMPTY) {
    RankState& state = this_rank();
    const std::lock_guard lock(state.mutex);
    if (state.empty_group == nullptr) {
      state.empty_group = new Group(this_world_rank(), GroupTable::empty());
      state.empty_group->is_empty_constant = true;
      state.empty_group->exempt();
    }
    *out = state.empty_group;
    return kSuccess;
  }
  return lookup_dynamic(handle, Kind::kGroup, out);
}

Err lookup(MPI_Datatype handle, const dt::Datatype** out) {
  if (is_predefined(handle)) {
    const auto code = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(handle));
    const dt::Datatype* type = dt::predefined(code);
    if (type == nullptr || handle == MPI_DATATYPE_NULL)
      return bad_handle(handle, Kind::kDatatype);
    *out = type;
    return kSuccess;
  }
  DatatypeObject* object = nullptr;
  MPC_MPI_TRY(lookup_dynamic(handle, Kind::kDatatype, &object));
  *out = &object->type();  // NOLINT(clang-analyzer-core.CallAndMessage): found
  return kSuccess;
}

Err lookup(MPI_Datatype handle, DatatypeObject** out) {
  if (is_predefined(handle)) {
    *out = predefined_type_object(handle);
    return *out != nullptr ? kSuccess : bad_handle(handle, Kind::kDatatype);
  }
  return lookup_dynamic(handle, Kind::kDatatype, out);
}

Err lookup(MPI_Op handle, Op** out) {
  if (is_predefined(handle)) {
    Op* op = predefined_op(handle);
    if (op == nullptr) return bad_handle(handle, Kind::kOp);
    *out = op;
    return kSuccess;
  }
  return lookup_dynamic(handle, Kind::kOp, out);
}

Err lookup(MPI_Info handle, Info** out) {
  if (handle == MPI_INFO_NULL) {
    *out = nullptr;
    return kSuccess;
  }
  if (handle == MPI_INFO_ENV) {
    *out = &info_env();
    return kSuccess;
  }
  return lookup_dynamic(handle, Kind::kInfo, out);
}

Err lookup(MPI_Errhandler handle, Errhandler** out) {
  if (handle == MPI_ERRORS_ARE_FATAL)
    *out = Errhandler::fatal();
  else if (handle == MPI_ERRORS_ABORT)
    *out = Errhandler::abort();
  else if (handle == MPI_ERRORS_RETURN)
    *out = Errhandler::returning();
  else
    return lookup_dynamic(handle, Kind::kErrhandler, out);
  return kSuccess;
}

// The objects of these kinds derive from Object first and only; their classes live elsewhere.
template <class T, class Handle>
static Err lookup_opaque(Handle handle, Kind kind, T** out) {
  Object* object = nullptr;
  MPC_MPI_TRY(find_object(handle, kind, &object));
  *out = reinterpret_cast<T*>(object);
  return kSuccess;
}
Err lookup(MPI_Request handle, Request** out) {
  return lookup_opaque(handle, Kind::kRequest, out);
}
Err lookup(MPI_Message handle, Message** out) {
  return lookup_opaque(handle, Kind::kMessage, out);
}
Err lookup(MPI_Win handle, Win** out) { return lookup_opaque(handle, Kind::kWin, out); }
Err lookup(MPI_File handle, File** out) {
  return lookup_opaque(handle, Kind::kFile, out);
}
Err lookup(MPI_Session handle, Session** out) {
  return lookup_opaque(handle, Kind::kSession, out);
}

}  // namespace mpc::mpi
