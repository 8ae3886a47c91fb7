#include "mpi/objects/handles.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/mpi_constants.h"
#include "base/mpi_handle_names.h"
#include "mpi/objects/rank_state.h"

namespace mpc::mpi {
namespace {

struct KindFacts {
  Kind kind;
  const char* name;
  const char* many;
  int error_class;      // for something that is no handle of the kind
  uintptr_t null_code;  // of the ABI's null handle; 0: there is none
};
// clang-format off
constexpr KindFacts kFacts[kKindCount] = {
    {Kind{}, "object", "objects", MPI_ERR_ARG, 0},
    {Kind::kComm, "communicator", "communicators", MPI_ERR_COMM, abi::kCommNull},
    {Kind::kGroup, "group", "groups", MPI_ERR_GROUP, abi::kGroupNull},
    {Kind::kDatatype, "datatype", "datatypes", MPI_ERR_TYPE, abi::kDatatypeNull},
    {Kind::kOp, "operation", "operations", MPI_ERR_OP, abi::kOpNull},
    {Kind::kRequest, "request", "requests", MPI_ERR_REQUEST, abi::kRequestNull},
    {Kind::kMessage, "message", "messages of MPI_Mprobe", MPI_ERR_REQUEST, abi::kMessageNull},
    {Kind::kInfo, "info object", "info objects", MPI_ERR_INFO, abi::kInfoNull},
    {Kind::kErrhandler, "error handler", "error handlers", MPI_ERR_ERRHANDLER, abi::kErrhandlerNull},
    {Kind::kWin, "window", "windows", MPI_ERR_WIN, abi::kWinNull},
    {Kind::kFile, "file", "files", MPI_ERR_FILE, abi::kFileNull},
    {Kind::kSession, "session", "sessions", MPI_ERR_SESSION, abi::kSessionNull},
    {Kind::kUserBuilder, "schedule builder", "schedule builders", MPI_ERR_ARG, 0},
    {Kind::kUserSchedule, "schedule", "schedules", MPI_ERR_ARG, 0},
};
// clang-format on

constexpr bool is_in_order() {
  for (int i = 0; i < kKindCount; ++i)
    if (static_cast<int>(kFacts[i].kind) != i) return false;
  return true;
}
static_assert(is_in_order());

// Checks the index: an object that was overwritten may contain any kind.
const KindFacts& facts_of(Kind kind) noexcept {
  const auto index = static_cast<size_t>(kind);
  return kFacts[index < kKindCount ? index : 0];
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
  const auto& [same_kind, what, many, error_class, null_code] = facts_of(kind);
  if (code == null_code)
    return fail(error_class, fmt::format("the {} is the null handle", what));
  if (code == 0)
    return fail(error_class, fmt::format("the {} was never set (it is 0)", what));
  if (const char* name = abi::handle_name(code))
    return fail(error_class,
                fmt::format("{} was given where a {} is needed", name, what));
  if (code < kPredefinedEnd)
    return fail(error_class,
                fmt::format("{} is no predefined {}", name_of_constant(code), what));
  return fail(error_class, fmt::format("{} is no {} handle", handle, what));
}

Err bad_object(const Object& object, Kind kind) {
  const KindFacts& wanted = facts_of(kind);
  if (!object.is_alive())
    return fail(wanted.error_class,
                fmt::format("the {} is freed, or never was one", wanted.name));
  if (object.kind() != kind)
    return fail(wanted.error_class,
                fmt::format("a {} was given where a {} is needed",
                            facts_of(object.kind()).name, wanted.name));
  return fail(wanted.error_class,
              fmt::format("the {} belongs to rank {}", wanted.name, object.owner()));
}

std::string count_of(int count, Kind kind) {
  const KindFacts& facts = facts_of(kind);
  return fmt::format("{} {}", count, count == 1 ? facts.name : facts.many);
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
  // In the owner's table, because an execution of another rank may drop the last reference.
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
