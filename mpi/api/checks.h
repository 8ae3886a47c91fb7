#pragma once
// Checks of arguments, which every generated entry point makes before its body.
//
// Role:      one check for each kind of argument; results are objects for the body, and errors
//            with a message.
// Users:     generated entry points (mpi/api), mpi/ext, mpi/fortran.
// Threads:   any execution of the rank.
// See also:  mpi/api/kinds.json (which kind is checked how), docs/mpi-api.md.
//
// The checks of the hot path are inline and end in one compare each; code that makes a message
// is cold and out of line.

#include <climits>
#include <cstddef>
#include <span>

#include "mpi.h"
#include "mpi/objects/comm.h"
#include "mpi/objects/error.h"
#include "mpi/objects/handles.h"
#include "mpi/objects/lookup.h"
#include "mpi/objects/op.h"
#include "mpi/objects/rank_state.h"
#include "mpi/objects/views.h"
#include "runtime/datatype/predefined.h"

namespace mpc::mpi {

// Widened results go back to the user's variable. A value that does not fit becomes
// MPI_UNDEFINED, as MPI-4.1 says for MPI_Get_count, MPI_Type_size and the like.
inline void store(Count value, int* out) noexcept {
  *out = value > INT_MAX || value < INT_MIN ? MPI_UNDEFINED : static_cast<int>(value);
}
inline void store(Count value, MPI_Count* out) noexcept { *out = value; }
inline void store(Request* request, MPI_Request* out) noexcept {
  *out = request != nullptr ? reinterpret_cast<MPI_Request>(request)  // its handle()
                            : MPI_REQUEST_NULL;
}

namespace check {

// These make the messages.
[[gnu::cold]] Err bad_null(const char* name);
[[gnu::cold]] Err bad_count(Count value, const char* name);
[[gnu::cold]] Err bad_count_at(Count value, Count index, const char* name);
[[gnu::cold]] Err bad_rank(int value, const Comm& comm, const char* what);
[[gnu::cold]] Err bad_root(int value, const Comm& comm);
[[gnu::cold]] Err bad_tag(int value);
[[gnu::cold]] Err bad_buffer(const void* address, Count count);
[[gnu::cold]] Err aliased(const void* address);
[[gnu::cold]] Err near_buffers(const void* send, const void* recv, Count n,
                               const dt::Datatype& type);
[[gnu::cold]] Err in_place_between_groups();
[[gnu::cold]] Err not_committed();
[[gnu::cold]] Err bad_type_at(Err error, Count index);

inline Err not_null(const void* pointer, const char* name) {
  return pointer != nullptr ? kSuccess : bad_null(name);
}
template <class T>
inline Err not_null(T* function, const char* name) {
  return function != nullptr ? kSuccess : bad_null(name);
}

// --- handles ---------------------------------------------------------------------------------
// The common cases of lookup() without a call; all others, errors too, go to lookup().
template <class T>
inline bool is_mine(const Object* object, Kind kind, int rank, T** out) noexcept {
  if (!object->is_alive() || object->kind() != kind || object->owner() != rank)
    return false;
  *out = static_cast<T*>(const_cast<Object*>(object));
  return true;
}
// lookup() without the address of the caller's variable, which thus may be in a register.
template <class Handle, class T>
inline Err find(Handle handle, T** out) {
  T* found = *out;
  const Err error = lookup(handle, &found);
  *out = found;
  return error;
}
inline bool may_be_object(const void* handle) noexcept {
  const auto address = reinterpret_cast<uintptr_t>(handle);
  return address >= kPredefinedEnd && address % alignof(Object) == 0;
}
// `state`: of the caller's rank; null: not known.
inline Err comm(MPI_Comm handle, Comm** out, const RankState* state = nullptr) {
  if (state == nullptr) state = rank_state();
  if (state != nullptr) [[likely]] {
    if (handle == MPI_COMM_WORLD && state->world != nullptr) [[likely]] {
      *out = state->world;
      return kSuccess;
    }
    if (may_be_object(handle) &&
        is_mine(object_of(handle), Kind::kComm, state->rank->world_rank, out))
      return kSuccess;
  }
  return find(handle, out);
}
inline Err type(MPI_Datatype handle, const dt::Datatype** out) {
  const dt::Datatype* found = dt::predefined_at(reinterpret_cast<uintptr_t>(handle));
  if (found == nullptr) return find(handle, out);  // the user's, or wrong
  *out = found;
  return kSuccess;
}
inline Err op(MPI_Op handle, Op** out) {
  Op* const found = quick_predefined_op(handle);
  if (found == nullptr) [[unlikely]]
    return find(handle, out);
  *out = found;
  return kSuccess;
}
Err intracomm(MPI_Comm handle, Comm** out);
Err intercomm(MPI_Comm handle, Comm** out);
Err info_object(MPI_Info handle, Info** out);  // not MPI_INFO_NULL
[[gnu::cold]] Err type_of_nothing(Err error, MPI_Datatype handle,
                                  const dt::Datatype** out);
// `n`: number of elements of the type; -1: unknown. A null handle is no error where it stands for
// no data, as in MPI_Send(NULL, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, ...), on which programs rely.
inline Err committed(MPI_Datatype handle, const dt::Datatype** out, Count n = -1) {
  // These are committed. Here, and not in type(), so that nothing more is asked of them.
  const dt::Datatype* const found_at_once =
      dt::predefined_at(reinterpret_cast<uintptr_t>(handle));
  if (found_at_once != nullptr) [[likely]] {
    *out = found_at_once;
    return kSuccess;
  }
  if (Err error = find(handle, out)) [[unlikely]] {
    if (n != 0) return error;
    const dt::Datatype* found = *out;  // see find()
    const Err failed = type_of_nothing(error, handle, &found);
    *out = found;
    return failed;
  }
  return (*out)->is_committed() ? kSuccess : not_committed();
}
// Null handles have names, too (MPI-4.1 section 7.8): *out stays null.
inline Err or_null(MPI_Comm handle, Comm** out) {
  return handle == MPI_COMM_NULL ? kSuccess : comm(handle, out);
}
inline Err or_null(MPI_Win handle, Win** out) {
  return handle == MPI_WIN_NULL ? kSuccess : lookup(handle, out);
}
inline Err or_null(MPI_Datatype handle, DatatypeObject** out) {
  return handle == MPI_DATATYPE_NULL ? kSuccess : lookup(handle, out);
}
// A handle that the call may change.
template <class T, class Handle>
inline Err handle_inout(Handle* handle, const char* name, HandleRef<T, Handle>* out) {
  if (handle == nullptr) [[unlikely]]
    return bad_null(name);
  return lookup(*handle, &out->object);
}
Err handle_inout(MPI_Info* handle, const char* name, HandleRef<Info, MPI_Info>* out);
Err types(const MPI_Datatype* types, Count n);
Err committed_types(const MPI_Datatype* types, Count n);

// --- numbers ---------------------------------------------------------------------------------
inline Err count(Count value, const char* name) {
  return value >= 0 ? kSuccess : bad_count(value, name);
}
inline Err length(int value, const char* name) {
  return value >= 0 ? kSuccess : bad_count(value, name);
}
inline bool is_inside(int value, int end) noexcept {
  return static_cast<unsigned>(value) < static_cast<unsigned>(end);
}
inline Err destination(int value, const Comm& comm) {
  if (is_inside(value, comm.remote_size()) || value == MPI_PROC_NULL) return kSuccess;
  return bad_rank(value, comm, "destination");
}
inline Err source(int value, const Comm& comm) {
  if (is_inside(value, comm.remote_size()) || value == MPI_ANY_SOURCE ||
      value == MPI_PROC_NULL)
    return kSuccess;
  return bad_rank(value, comm, "source");
}
inline Err rank(int value, const Comm& comm) {
  return is_inside(value, comm.size()) ? kSuccess : bad_rank(value, comm, "rank");
}
inline Err root(int value, const Comm& comm) {
  if (is_inside(value, comm.remote_size())) return kSuccess;
  if (comm.is_inter() && (value == MPI_ROOT || value == MPI_PROC_NULL)) return kSuccess;
  return bad_root(value, comm);
}
inline Err send_tag(int value) { return value >= 0 ? kSuccess : bad_tag(value); }
inline Err receive_tag(int value) {
  return value >= 0 || value == MPI_ANY_TAG ? kSuccess : bad_tag(value);
}

// --- significance of arguments (MPI-4.1 chapter 6) -------------------------------------------
bool leads(const Group& group, int leader) noexcept;  // the calling rank does
inline bool is_root(const Comm& comm, int root) noexcept {
  return comm.is_inter() ? root == MPI_ROOT : root == comm.rank();
}
// Does the calling rank give data to the root, or take data from it? All members do, unless in
// place; on an intercommunicator the members of the other group.
inline bool is_leaf(const Comm& comm, int root, const void* buffer) noexcept {
  return comm.is_inter() ? root >= 0 : root != comm.rank() || buffer != MPI_IN_PLACE;
}

// --- arrays and buffers ----------------------------------------------------------------------
template <class T>
inline Err array(const T* values, Count n, const char* name) {
  return values != nullptr || n <= 0 ? kSuccess : bad_null(name);
}
template <class T>
Err counts(const T* values, Count n, const char* name) {
  if (Err error = array(values, n, name)) return error;
  for (Count i = 0; i < n; ++i)
    if (values[i] < 0) [[unlikely]]
      return bad_count_at(values[i], i, name);
  return kSuccess;
}
inline Err weights(const int* values, Count n, const char* name) {
  if (values == MPI_UNWEIGHTED || values == MPI_WEIGHTS_EMPTY) return kSuccess;
  return counts(values, n, name);
}
// A null buffer is MPI_BOTTOM; a predefined type there would mean address 0. MPI_IN_PLACE is
// 1; calls that allow it pass no type.
inline Err buffer(const void* address, Count n, const dt::Datatype* type) {
  // The first condition alone, as compilers would compute all three.
  if (reinterpret_cast<uintptr_t>(address) > 1) [[likely]]
    return kSuccess;
  if (n == 0 || type == nullptr) return kSuccess;
  return address == MPI_IN_PLACE || type->is_predefined() ? bad_buffer(address, n)
                                                          : kSuccess;
}
inline Err buffer(const void* address, Count n, const dt::Datatype& type) {
  return buffer(address, n, &type);
}
// Displacements from MPI_BOTTOM may be addresses if they are wide enough (MPI-4.1 section 5.1.5), else not.
inline bool is_address(MPI_Aint displacement) noexcept { return displacement != 0; }
inline bool is_address(int) noexcept { return false; }
// `n` blocks of data in one buffer, with a count and a displacement each; as buffer().
template <class Int, class Offset>
[[gnu::cold]] Err blocks_of_nothing(const void* address, const Int* counts,
                                    const Offset* displs, Count n) {
  for (Count i = 0; i < n; ++i)
    if (counts[i] != 0 && (address == MPI_IN_PLACE || !is_address(displs[i])))
      return bad_buffer(address, counts[i]);
  return kSuccess;
}
template <class Int, class Offset>
inline Err blocks(const void* address, const Int* counts, const Offset* displs, Count n,
                  const dt::Datatype* type) {
  if (reinterpret_cast<uintptr_t>(address) > 1 || type == nullptr) [[likely]]
    return kSuccess;
  return address == MPI_IN_PLACE || type->is_predefined()
             ? blocks_of_nothing(address, counts, displs, n)
             : kSuccess;
}
template <class Int, class Offset>
inline Err blocks(const void* address, const Int* counts, const Offset* displs, Count n,
                  const MPI_Datatype* types) {
  if (reinterpret_cast<uintptr_t>(address) > 1) [[likely]]
    return kSuccess;
  for (Count i = 0; i < n; ++i) {
    const bool is_nothing = is_predefined(types[i]) && !is_address(displs[i]);
    if (counts[i] != 0 && (address == MPI_IN_PLACE || is_nothing))
      return bad_buffer(address, counts[i]);
  }
  return kSuccess;
}
template <class T>
inline Err load(const T* value, const char* name, Count* out) {
  if (value == nullptr) return bad_null(name);
  *out = *value;
  return kSuccess;
}
// In place means: what a member would send to itself, which there is none of between two groups.
inline Err in_one_group(const Comm& comm, const void* send) {
  return send == MPI_IN_PLACE && comm.is_inter() ? in_place_between_groups() : kSuccess;
}
// --- buffers of collectives, which must not overlap (MPI-4.1 section 6.1) --------------------
// Only certain overlaps are found: elements without gaps, or at the same address.
inline Err reduction_buffers(const void* send, const void* recv, Count n,
                             const dt::Datatype* type) {
  const auto from = reinterpret_cast<uintptr_t>(send),
             to = reinterpret_cast<uintptr_t>(recv);
  const uintptr_t distance = from > to ? from - to : to - from;
  if (distance >= static_cast<uintptr_t>(n * type->extent()) && send != nullptr)
      [[likely]]
    return kSuccess;
  return near_buffers(send, recv, n, *type);
}
// The first rank gets no prefix, so it may have no buffer for one.
inline Err exscan_buffers(const Comm& comm, const void* send, const void* recv, Count n,
                          const dt::Datatype* type) {
  return comm.rank() == 0 && recv == nullptr && send != MPI_IN_PLACE
             ? buffer(send, n, type)
             : reduction_buffers(send, recv, n, type);
}
inline Err reduce_scatter_buffers(const void* send, const void* recv, Count own_n,
                                  const dt::Datatype* type) {
  if (Err error = buffer(recv, own_n, type)) return error;
  return reduction_buffers(send, recv, own_n, type);
}
template <class Int>
inline Count own_count(const Comm& comm, const Int* counts) noexcept {
  return counts[comm.rank()];
}
inline Err reduce_buffers(const Comm& comm, int root, const void* send,
                          const void* recv, Count n, const dt::Datatype* type) {
  if (!is_root(comm, root))
    return buffer(send, n, type);  // in place is for the root only
  if (Err error = buffer(recv, n, type)) return error;
  return comm.is_inter() ? kSuccess : reduction_buffers(send, recv, n, type);
}
// The data that a member sends to itself: `n` elements at `from` become `to_n` elements at `to`.
inline Err own_block(const void* from, Count n, const dt::Datatype* type,
                     const void* to, Count to_n, const dt::Datatype* to_type) {
  if (from != to || from == nullptr || type != to_type || n == 0 || to_n == 0)
      [[likely]]
    return kSuccess;
  return type->size() > 0 ? aliased(from) : kSuccess;
}
inline const void* element(const void* base, Count index,
                           const dt::Datatype* type) noexcept {
  if (base == MPI_IN_PLACE || type == nullptr) return nullptr;  // nothing to compare
  return reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(base) +
                                       static_cast<uintptr_t>(index * type->extent()));
}
inline Err gather_buffers(const Comm& comm, bool has_blocks, const void* one, Count n,
                          const dt::Datatype* type, const void* blocks, Count block_n,
                          const dt::Datatype* block_type) {
  if (!has_blocks || comm.is_inter()) return kSuccess;
  if (Err error = own_block(one, n, type, blocks, block_n, block_type)) return error;
  return own_block(one, n, type, element(blocks, comm.rank() * block_n, block_type),
                   block_n, block_type);
}
template <class Int, class Offset>
inline Err gatherv_buffers(const Comm& comm, bool has_blocks, const void* one, Count n,
                           const dt::Datatype* type, const void* blocks,
                           const Int* counts, const Offset* displs,
                           const dt::Datatype* block_type) {
  if (!has_blocks || comm.is_inter()) return kSuccess;
  const int r = comm.rank();
  return own_block(one, n, type, element(blocks, displs[r], block_type), counts[r],
                   block_type);
}
template <class Int, class Offset>
inline Err alltoallv_buffers(const Comm& comm, const void* send, const Int* counts,
                             const Offset* displs, const dt::Datatype* type,
                             const void* recv, const Int* to_counts,
                             const Offset* to_displs, const dt::Datatype* to_type) {
  if (send == MPI_IN_PLACE || comm.is_inter()) return kSuccess;
  const int r = comm.rank();
  return own_block(element(send, displs[r], type), counts[r], type,
                   element(recv, to_displs[r], to_type), to_counts[r], to_type);
}
// Displacements are bytes there, and the types have been checked before.
template <class Int, class Offset>
inline Err alltoallw_buffers(const Comm& comm, const void* send, const Int* counts,
                             const Offset* displs, const MPI_Datatype* types,
                             const void* recv, const Int* to_counts,
                             const Offset* to_displs, const MPI_Datatype* to_types) {
  if (send == MPI_IN_PLACE || comm.is_inter()) return kSuccess;
  const int r = comm.rank();
  const auto from =
                 reinterpret_cast<uintptr_t>(send) + static_cast<uintptr_t>(displs[r]),
             to = reinterpret_cast<uintptr_t>(recv) +
                  static_cast<uintptr_t>(to_displs[r]);
  const dt::Datatype* own = nullptr;
  if (from != to || types[r] != to_types[r] || type(types[r], &own)) [[likely]]
    return kSuccess;
  const auto* const block = reinterpret_cast<const void*>(from);
  return own_block(block, counts[r], own, block, to_counts[r], own);
}
inline Err status(const MPI_Status* value) { return not_null(value, "status"); }
template <class F>
inline Err callback(F* function, const char* name) {
  return function != nullptr ? kSuccess : bad_null(name);
}

// --- lengths of arrays -----------------------------------------------------------------------
// 0 if the communicator lacks the topology they need; the body reports that.
Count indegree(const Comm& comm) noexcept;
Count outdegree(const Comm& comm) noexcept;
Count cartesian_dims(const Comm& comm) noexcept;
Count total(const int* values, Count n) noexcept;  // their sum
inline Count last(const int* values, Count n) noexcept {
  return n > 0 ? values[n - 1] : 0;
}

}  // namespace check
}  // namespace mpc::mpi
