// Bodies of MPI-4.1 section 7.7: attributes of communicators, datatypes and windows.

#include <fmt/format.h>

#include "mpi/impl/attr.h"
#include "mpi/objects/attributes.h"
#include "mpi/objects/comm.h"
#include "mpi/objects/rank_state.h"
#include "mpi/objects/type_object.h"
#include "mpi/objects/win.h"

namespace mpc::mpi::impl {
namespace {

// The address of a predefined attribute's value; null for other keys.
int* predefined_value(int key) noexcept {
  auto& values = this_rank().predefined;
  switch (key) {
    case MPI_TAG_UB:
      return &values.tag_ub;
    case MPI_IO:
      return &values.io;
    case MPI_HOST:
      return &values.host;
    case MPI_WTIME_IS_GLOBAL:
      return &values.wtime_is_global;
    case MPI_APPNUM:
      return &values.appnum;
    case MPI_LASTUSEDCODE:
      return &values.last_used_code;
    case MPI_UNIVERSE_SIZE:
      return &values.universe_size;
    default:
      return nullptr;
  }
}

Err check_not_predefined(int key) {
  if (predefined_value(key) == nullptr) return kSuccess;
  return fail(MPI_ERR_KEYVAL,
              fmt::format("the predefined attribute {} cannot be changed", key));
}

// What C sees (MPI-4.1 section 19.3.7): the value that C set, or the address of the one that
// Fortran set.
void* as_seen_by_c(const Attribute& attribute) noexcept {
  if (attribute.written_by == Language::kC) return attribute.value;
  return const_cast<void*>(static_cast<const void*>(&attribute.value));
}

Err get(const AttributeSet& set, KeyvalKind kind, int key, void* value, int* flag) {
  KeyvalRef keyval;
  MPC_MPI_TRY(find_keyval(key, kind, &keyval));
  const Attribute* attribute = set.find(key);
  *flag = attribute != nullptr;
  if (attribute != nullptr) *static_cast<void**>(value) = as_seen_by_c(*attribute);
  return kSuccess;
}

Err set(AttributeSet& attributes, KeyvalKind kind, int key, void* value, void* handle) {
  KeyvalRef keyval;
  MPC_MPI_TRY(find_keyval(key, kind, &keyval));
  return attributes.set(keyval, value, Language::kC, handle);
}

Err remove(AttributeSet& attributes, KeyvalKind kind, int key, void* handle) {
  KeyvalRef keyval;
  MPC_MPI_TRY(find_keyval(key, kind, &keyval));
  return attributes.remove(key, handle);
}

template <class Copy, class Delete>
Err create(KeyvalKind kind, Copy* copy, Delete* remove_fn, int* key,
           void* extra_state) {
  return create_keyval(kind, Language::kC, any_function(copy), any_function(remove_fn),
                       extra_state, key);
}

}  // namespace

Err comm_create_keyval(MPI_Comm_copy_attr_function* copy,
                       MPI_Comm_delete_attr_function* remove_fn, int* key,
                       void* extra_state) {
  return create(KeyvalKind::kComm, copy, remove_fn, key, extra_state);
}
Err comm_free_keyval(int* key) { return free_keyval(KeyvalKind::kComm, key); }

Err comm_set_attr(Comm& comm, int key, void* value) {
  MPC_MPI_TRY(check_not_predefined(key));
  return set(comm.attributes, KeyvalKind::kComm, key, value, comm.handle());
}

Err comm_get_attr(Comm& comm, int key, void* value, int* flag) {
  if (int* predefined = predefined_value(key)) {
    // MPI-4.1 section 11.10.1: MPI_UNIVERSE_SIZE need not be set.
    *flag = key != MPI_UNIVERSE_SIZE || *predefined >= 0;
    if (*flag != 0) *static_cast<int**>(value) = predefined;
    return kSuccess;
  }
  return get(comm.attributes, KeyvalKind::kComm, key, value, flag);
}

Err comm_delete_attr(Comm& comm, int key) {
  MPC_MPI_TRY(check_not_predefined(key));
  return remove(comm.attributes, KeyvalKind::kComm, key, comm.handle());
}

Err type_create_keyval(MPI_Type_copy_attr_function* copy,
                       MPI_Type_delete_attr_function* remove_fn, int* key,
                       void* extra_state) {
  return create(KeyvalKind::kType, copy, remove_fn, key, extra_state);
}
Err type_free_keyval(int* key) { return free_keyval(KeyvalKind::kType, key); }

Err type_set_attr(DatatypeObject& type, int key, void* value) {
  return set(type.attributes, KeyvalKind::kType, key, value, type.handle());
}
Err type_get_attr(DatatypeObject& type, int key, void* value, int* flag) {
  return get(type.attributes, KeyvalKind::kType, key, value, flag);
}
Err type_delete_attr(DatatypeObject& type, int key) {
  return remove(type.attributes, KeyvalKind::kType, key, type.handle());
}

Err win_create_keyval(MPI_Win_copy_attr_function* copy,
                      MPI_Win_delete_attr_function* remove_fn, int* key,
                      void* extra_state) {
  return create(KeyvalKind::kWin, copy, remove_fn, key, extra_state);
}
Err win_free_keyval(int* key) { return free_keyval(KeyvalKind::kWin, key); }

namespace {

Err check_not_of_window(int key) {
  if (key < MPI_WIN_BASE || key > MPI_WIN_MODEL) return kSuccess;
  return fail(MPI_ERR_KEYVAL,
              fmt::format("the predefined attribute {} cannot be changed", key));
}
static_assert(MPI_WIN_MODEL - MPI_WIN_BASE == 4);

}  // namespace

Err win_set_attr(Win& win, int key, void* value) {
  MPC_MPI_TRY(check_not_of_window(key));
  return set(win.attributes, KeyvalKind::kWin, key, value, win.handle());
}

Err win_get_attr(Win& win, int key, void* value, int* flag) {
  if (key >= MPI_WIN_BASE && key <= MPI_WIN_MODEL) {
    *static_cast<void**>(value) = win.predefined_attribute(key);
    *flag = 1;
    return kSuccess;
  }
  return get(win.attributes, KeyvalKind::kWin, key, value, flag);
}

Err win_delete_attr(Win& win, int key) {
  MPC_MPI_TRY(check_not_of_window(key));
  return remove(win.attributes, KeyvalKind::kWin, key, win.handle());
}

}  // namespace mpc::mpi::impl
