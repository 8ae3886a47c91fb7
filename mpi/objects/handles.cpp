#include "mpi/objects/handles.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/mpi_constants.h"
#include "base/mpi_handle_names.h"
#include "mpi/objects/rank_state.h"

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
    case Kind::kUserBuilder:
      return "schedule builder";
    case Kind::kUserSchedule:
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
    case Kind::kUserBuilder:
    case Kind::kUserSchedule:
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
    case Kind::kUserBuilder:
    case Kind::kUserSchedule:
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

}  // namespace

Err bad_handle(const void* handle, Kind kind) {
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

Err bad_object(const Object& object, Kind kind) {
  const char* what = kind_name(kind);
  if (!object.is_alive())
    return fail(class_of(kind), fmt::format("the {} is freed, or never was one", what));
  if (object.kind() != kind)
    return fail(class_of(kind), fmt::format("a {} was given where a {} is needed",
                                            kind_name(object.kind()), what));
  return fail(class_of(kind),
              fmt::format("the {} belongs to rank {}", what, object.owner()));
}

constinit uintptr_t g_lowest_object = kHighHeap;

namespace {

constexpr uintptr_t kLowHeap = 64 << 10;

__attribute__((constructor)) void find_heap() {
  void* volatile block = std::malloc(sizeof(Object));
  if (reinterpret_cast<uintptr_t>(block) < kHighHeap) g_lowest_object = kLowHeap;
  std::free(block);
}

}  // namespace

// --- integers -------------------------------------------------------------------------------

int handle_to_int(void* handle, Kind kind) noexcept {
  if (is_predefined(handle))
    return static_cast<int>(reinterpret_cast<uintptr_t>(handle));
  Object* object = object_of(handle);
  if (!object->is_alive() || object->kind() != kind) return 0;
  RankState& state = this_rank();
  const std::lock_guard lock(state.mutex);
  if (object->fortran_index >= 0) return object->fortran_index;
  if (!state.handles) state.handles = std::make_shared<HandleTables>();
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
