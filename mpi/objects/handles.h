#pragma once
// Handles: what the ABI's handles are, and integers for them.
//
// Role:      h < 1024 is a predefined handle; any other is a pointer to an Object, whose magic
//            word, kind and owner are checked.
// Users:     mpi: lookup() of the kinds, entry points (checks), chapters (making handles).
// Threads:   any execution of the rank.
// See also:  MPI 5.0 ABI chapter; mpi/objects/object.h, mpi/objects/lookup.h.

#include <cstdint>
#include <string>
#include <vector>

#include "mpi.h"
#include "mpi/objects/error.h"
#include "mpi/objects/object.h"
#include "mpi/objects/rank_state.h"

namespace mpc::mpi {

inline constexpr uintptr_t kPredefinedEnd = 1024;
template <class Handle>
inline bool is_predefined(Handle handle) noexcept {
  return reinterpret_cast<uintptr_t>(handle) < kPredefinedEnd;
}

// Both make the error for something that is no handle of `kind`: null, freed, of another kind, of
// another rank. Its class is that of the kind (MPI_ERR_COMM ...).
[[gnu::cold]] Err bad_handle(const void* handle, Kind kind);
[[gnu::cold]] Err bad_object(const Object& object, Kind kind);
// "1 group", "3 info objects".
std::string count_of(int count, Kind kind);

// Where the heap can be on x86-64: above what fits in an int (programs and runtime are
// position-independent, so their data lie high), below the kernel. A handle that a program has
// stored in an int points lower. Valgrind and some allocators have heaps there, too.
inline constexpr uintptr_t kHighHeap = uintptr_t{1} << 32,
                           kHighestObject = uintptr_t{1} << 47;
extern constinit uintptr_t g_lowest_object;  // set before main()

// Address of an object as the ABI's handle, and back, without any check.
inline Object* object_of(void* handle) noexcept { return static_cast<Object*>(handle); }

// The handle is an object of this kind and owner.
inline bool is_object(void* handle, Kind kind, int owner) noexcept {
  const auto address = reinterpret_cast<uintptr_t>(handle);
  if (address % alignof(Object) != 0 ||
      address - g_lowest_object >= kHighestObject - g_lowest_object)
    return false;
  const Object* const object = object_of(handle);
  return object->is_alive() && object->kind() == kind && object->owner() == owner;
}

// The object of a dynamic handle of the calling rank. Errors: bad_handle(), bad_object(); *out is
// written only on success.
inline Err find_object(void* handle, Kind kind, Object** out) {
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
// Frees the object's index. Caller: each owner, before it deletes the object.
void forget_handle(Object& object) noexcept;

}  // namespace mpc::mpi
