#include "mpi/handles.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/mpi_constants.h"
#include "base/mpi_handle_names.h"
#include "mpi/comm.h"
#include "mpi/errhandler.h"
#include "mpi/group.h"
#include "mpi/info.h"
#include "mpi/op.h"
#include "mpi/rank_state.h"
#include "mpi/type_object.h"

namespace mpc::mpi {
namespace {

const char* kind_name(Kind kind) noexcept {
  switch (kind) {
    case Kind::kComm:
      return "communicator";
    case Kind::kGroup:
      return "group";
    case Kind::kDatatype:
      return "datatype";
    case Kind::kOp:
      return "operation";
    case Kind::kRequest:
      return "request";
    case Kind::kMessage:
      return "message";
    case Kind::kInfo:
      return "info";
    case Kind::kErrhandler:
      return "error handler";
    case Kind::kWin:
      return "window";
    case Kind::kFile:
      return "file";
    case Kind::kSession:
      return "session";
    case Kind::kOwnBuilder:
      return "schedule builder";
    case Kind::kOwnSchedule:
      return "schedule";
  }
  return "object";
}

int class_of(Kind kind) noexcept {
  switch (kind) {
    case Kind::kComm:
      return MPI_ERR_COMM;
    case Kind::kGroup:
      return MPI_ERR_GROUP;
    case Kind::kDatatype:
      return MPI_ERR_TYPE;
    case Kind::kOp:
      return MPI_ERR_OP;
    case Kind::kRequest:
    case Kind::kMessage:
      return MPI_ERR_REQUEST;
    case Kind::kInfo:
      return MPI_ERR_INFO;
    case Kind::kErrhandler:
      return MPI_ERR_ERRHANDLER;
    case Kind::kWin:
      return MPI_ERR_WIN;
    case Kind::kFile:
      return MPI_ERR_FILE;
    case Kind::kSession:
      return MPI_ERR_SESSION;
    case Kind::kOwnBuilder:
    case Kind::kOwnSchedule:
      return MPI_ERR_ARG;
  }
  return MPI_ERR_ARG;
}

// The codes of the null handles, by kind.
uintptr_t null_code(Kind kind) noexcept {
  switch (kind) {
    case Kind::kComm:
      return abi::kCommNull;
    case Kind::kGroup:
      return abi::kGroupNull;
    case Kind::kDatatype:
      return abi::kDatatypeNull;
    case Kind::kOp:
      return abi::kOpNull;
    case Kind::kRequest:
      return abi::kRequestNull;
    case Kind::kMessage:
      return abi::kMessageNull;
    case Kind::kInfo:
      return abi::kInfoNull;
    case Kind::kErrhandler:
      return abi::kErrhandlerNull;
    case Kind::kWin:
      return abi::kWinNull;
    case Kind::kFile:
      return abi::kFileNull;
    case Kind::kSession:
      return abi::kSessionNull;
    case Kind::kOwnBuilder:
    case Kind::kOwnSchedule:
      return 0;
  }
  return 0;
}

// "MPI_INT", or the number where the ABI has no such handle.
[[gnu::cold]] std::string name_of_constant(uintptr_t code) {
  if (const char* name = abi::handle_name(static_cast<uint32_t>(code)); name != nullptr)
    return name;
  return fmt::format("{:#x}", code);
}

[[gnu::cold]] Err bad_handle(const void* handle, Kind kind) {
  const auto code = reinterpret_cast<uintptr_t>(handle);
  const char* what = kind_name(kind);
  if (code == null_code(kind))
    return fail(class_of(kind), fmt::format("the {} is the null handle", what));
  if (code == 0)
    return fail(class_of(kind), fmt::format("the {} was never set (it is 0)", what));
  if (const char* name = abi::handle_name(code))
    return fail(class_of(kind),
                fmt::format("{} was given where a {} is needed", name, what));
  if (code < kPredefinedEnd)
    return fail(class_of(kind),
                fmt::format("{} is no predefined {}", name_of_constant(code), what));
  return fail(class_of(kind), fmt::format("{} is no {} handle", handle, what));
}

[[gnu::cold]] Err bad_object(const Object& object, Kind kind) {
  const char* what = kind_name(kind);
  if (!object.is_alive())
    return fail(class_of(kind), fmt::format("the {} is freed, or never was one", what));
  if (object.kind() != kind)
    return fail(class_of(kind), fmt::format("a {} was given where a {} is needed",
                                            kind_name(object.kind()), what));
  return fail(class_of(kind),
              fmt::format("the {} belongs to rank {}", what, object.owner()));
}

// Where the heap can be on x86-64: above what fits in an int (programs and runtime are
// position-independent, so their data lie high), below the kernel. A handle that a program has
// kept in an int points lower. Valgrind and some allocators have heaps there, too.
constexpr uintptr_t kHighHeap = uintptr_t{1} << 32, kHighestObject = uintptr_t{1} << 47;
constexpr uintptr_t kLowHeap = 64 << 10;
constinit uintptr_t g_lowest_object = kHighHeap;

__attribute__((constructor)) void find_heap() {
  void* volatile block = std::malloc(sizeof(Object));
  if (reinterpret_cast<uintptr_t>(block) < kHighHeap) g_lowest_object = kLowHeap;
  std::free(block);
}

// Of a handle that is no predefined one.
inline Err check(void* handle, Kind kind, Object** out) {
  const auto address = reinterpret_cast<uintptr_t>(handle);
  if (address % alignof(Object) != 0 ||
      address - g_lowest_object >= kHighestObject - g_lowest_object) {
    return bad_handle(handle, kind);
  }
  Object* object = object_of(handle);
  if (!object->is_alive() || object->kind() != kind ||
      (object->owner() != -1 && object->owner() != this_world_rank()))
    return bad_object(*object, kind);
  *out = object;
  return kSuccess;
}

template <class T, class Handle>
Err lookup_dynamic(Handle handle, Kind kind, T** out) {
  if (is_predefined(handle)) return bad_handle(handle, kind);
  Object* object = nullptr;
  if (Err e = check(handle, kind, &object)) return e;
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
  *out = &object->type();
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
  if (is_predefined(handle)) return bad_handle(handle, kind);
  Object* object = nullptr;
  if (Err e = check(handle, kind, &object)) return e;
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

// --- integers -------------------------------------------------------------------------------

int handle_to_int(void* handle, Kind kind) noexcept {
  if (is_predefined(handle))
    return static_cast<int>(reinterpret_cast<uintptr_t>(handle));
  Object* object = object_of(handle);
  if (!object->is_alive() || object->kind() != kind) return 0;
  RankState& state = this_rank();
  const std::lock_guard lock(state.mutex);
  if (object->fortran_index >= 0) return object->fortran_index;
  if (!state.handles) state.handles = std::make_unique<HandleTables>();
  auto& table = state.handles->by_index[static_cast<int>(kind)];
  auto& unused = state.handles->unused[static_cast<int>(kind)];
  int index;
  if (unused.empty()) {
    index = static_cast<int>(table.size());
    table.push_back(object);
  } else {
    index = unused.back();
    unused.pop_back();
    table[static_cast<size_t>(index)] = object;
  }
  return object->fortran_index = index + static_cast<int>(kPredefinedEnd);
}

void* int_to_handle(int value, Kind kind) noexcept {
  if (value < 0) return nullptr;
  if (value < static_cast<int>(kPredefinedEnd))
    return reinterpret_cast<void*>(static_cast<uintptr_t>(value));
  RankState& state = this_rank();
  const std::lock_guard lock(state.mutex);
  if (!state.handles) return nullptr;
  const auto& table = state.handles->by_index[static_cast<int>(kind)];
  const size_t index = static_cast<size_t>(value) - kPredefinedEnd;
  return index < table.size() ? table[index] : nullptr;
}

void forget_handle(Object& object) noexcept {
  if (object.fortran_index < 0) return;
  // The owner's table: the last reference may be dropped by another rank's execution.
  RankState* state = rank_state_of(object.owner());
  if (state == nullptr || !state->handles) return;
  const std::lock_guard lock(state->mutex);
  const int index = object.fortran_index - static_cast<int>(kPredefinedEnd);
  const int kind = static_cast<int>(object.kind());
  state->handles->by_index[kind][static_cast<size_t>(index)] = nullptr;
  state->handles->unused[kind].push_back(index);
  object.fortran_index = -1;
}

}  // namespace mpc::mpi
