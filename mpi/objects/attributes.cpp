#include "mpi/objects/attributes.h"

#include <fmt/format.h>

#include <algorithm>

#include "mpi/objects/error_codes.h"
#include "mpi/objects/handles.h"
#include "mpi/objects/rank_state.h"

namespace mpc::mpi {
namespace {

Kind object_kind(KeyvalKind kind) noexcept {
  switch (kind) {
    case KeyvalKind::kComm:
      return Kind::kComm;
    case KeyvalKind::kType:
      return Kind::kDatatype;
    case KeyvalKind::kWin:
      return Kind::kWin;
  }
  return Kind::kComm;
}

// Functions given by C. Handles travel as pointers (the ABI's handle types are pointers).
using CopyFn = int(void* handle, int keyval, void* extra_state, void* value_in,
                   void* value_out, int* flag);
using DeleteFn = int(void* handle, int keyval, void* value, void* extra_state);
// Functions given by Fortran: everything by reference, handles as INTEGER, an ierror at the
// end; values have MPI_ADDRESS_KIND, or are INTEGER in the functions of MPI-1.
using FortranCopy = void(int* handle, int* keyval, MPI_Aint* extra, MPI_Aint* in,
                         MPI_Aint* out, int* flag, int* ierror);
using FortranDelete = void(int* handle, int* keyval, MPI_Aint* value, MPI_Aint* extra,
                           int* ierror);
using LegacyCopy = void(int* handle, int* keyval, int* extra, int* in, int* out,
                        int* flag, int* ierror);
using LegacyDelete = void(int* handle, int* keyval, int* value, int* extra,
                          int* ierror);

MPI_Aint as_aint(void* p) noexcept { return reinterpret_cast<MPI_Aint>(p); }
int as_int(void* p) noexcept { return static_cast<int>(as_aint(p)); }

int call_copy(const Keyval& k, void* handle, void* value, void** copy, int* flag) {
  if (k.language == Language::kC)
    return reinterpret_cast<CopyFn*>(k.copy)(handle, k.id, k.extra_state, value,
                                             static_cast<void*>(copy), flag);
  int integer = handle_to_int(handle, object_kind(k.kind)), id = k.id, ierror = 0;
  if (k.language == Language::kFortran) {
    MPI_Aint extra = as_aint(k.extra_state), in = as_aint(value), out = 0;
    reinterpret_cast<FortranCopy*>(k.copy)(&integer, &id, &extra, &in, &out, flag,
                                           &ierror);
    *copy = reinterpret_cast<void*>(out);
  } else {
    int extra = as_int(k.extra_state), in = as_int(value), out = 0;
    reinterpret_cast<LegacyCopy*>(k.copy)(&integer, &id, &extra, &in, &out, flag,
                                          &ierror);
    *copy = reinterpret_cast<void*>(static_cast<MPI_Aint>(out));
  }
  return ierror;
}

int call_delete(const Keyval& k, void* handle, void* value) {
  if (k.remove == nullptr) return MPI_SUCCESS;
  if (k.language == Language::kC)
    return reinterpret_cast<DeleteFn*>(k.remove)(handle, k.id, value, k.extra_state);
  int integer = handle_to_int(handle, object_kind(k.kind)), id = k.id, ierror = 0;
  if (k.language == Language::kFortran) {
    MPI_Aint extra = as_aint(k.extra_state), old = as_aint(value);
    reinterpret_cast<FortranDelete*>(k.remove)(&integer, &id, &old, &extra, &ierror);
  } else {
    int extra = as_int(k.extra_state), old = as_int(value);
    reinterpret_cast<LegacyDelete*>(k.remove)(&integer, &id, &old, &extra, &ierror);
  }
  return ierror;
}

bool is_dup(const Keyval& k) noexcept {
  return reinterpret_cast<uintptr_t>(k.copy) == 1;
}

Err of_callback(int code, const char* which) {
  if (code == MPI_SUCCESS) return kSuccess;
  if (code > MPI_ERR_LASTCODE)
    return fail_with_code(code);  // the user has a text for it
  return fail_in_function(
      code, fmt::format("the {} function of an attribute returned {}", which, code));
}

}  // namespace

const Attribute* AttributeSet::find(int keyval_id) const noexcept {
  for (const Attribute& a : list_)
    if (a.keyval->id == keyval_id) return &a;
  return nullptr;
}

Err AttributeSet::set(const KeyvalRef& keyval, void* value, Language written_by,
                      void* handle) {
  // The callback may free the attribute of which `keyval` is a part.
  const KeyvalRef keep = keyval;  // NOLINT(performance-unnecessary-copy-initialization)
  if (const Attribute* old = find(keyval->id))
    MPC_MPI_TRY(of_callback(call_delete(*keyval, handle, old->value), "delete"));
  // The callback may have changed the set: search again.
  for (Attribute& a : list_) {
    if (a.keyval->id != keep->id) continue;
    a.value = value;
    a.written_by = written_by;
    return kSuccess;
  }
  list_.push_back({keep, value, written_by});
  return kSuccess;
}

Err AttributeSet::remove(int keyval_id, void* handle) {
  const Attribute* a = find(keyval_id);
  if (a == nullptr)
    return fail(MPI_ERR_KEYVAL,
                fmt::format("no attribute is set for key {}", keyval_id));
  const KeyvalRef keyval = a->keyval;
  MPC_MPI_TRY(of_callback(call_delete(*keyval, handle, a->value), "delete"));
  std::erase_if(list_, [&](const Attribute& x) { return x.keyval == keyval; });
  return kSuccess;
}

Err AttributeSet::remove_all(void* handle) {
  while (!list_.empty()) MPC_MPI_TRY(remove(list_.back().keyval->id, handle));
  return kSuccess;
}

Err AttributeSet::copy_to(AttributeSet& to, void* from_handle) const {
  // A copy of the list: callbacks may set and delete attributes.
  const std::list<Attribute> snapshot = list_;
  for (const Attribute& a : snapshot) {
    const Keyval& k = *a.keyval;
    if (k.copy == nullptr) continue;
    if (is_dup(k)) {
      to.list_.push_back(a);
      continue;
    }
    void* value = nullptr;
    int flag = 0;
    MPC_MPI_TRY(of_callback(call_copy(k, from_handle, a.value, &value, &flag), "copy"));
    if (flag != 0) to.list_.push_back({a.keyval, value, k.language});
  }
  return kSuccess;
}

Err find_keyval(int id, KeyvalKind kind, KeyvalRef* out) {
  RankState& state = this_rank();
  const std::lock_guard lock(state.mutex);
  const auto index = static_cast<size_t>(id - kFirstUserKeyval);
  KeyvalRef keyval;
  if (id >= kFirstUserKeyval && state.keyvals && index < state.keyvals->list.size())
    keyval = state.keyvals->list[index].alive.lock();
  if (!keyval) return fail(MPI_ERR_KEYVAL, fmt::format("key {} does not exist", id));
  if (keyval->kind != kind)
    return fail(MPI_ERR_KEYVAL,
                fmt::format("key {} is for another kind of object", id));
  *out = std::move(keyval);
  return kSuccess;
}

Err create_keyval(KeyvalKind kind, Language language, AnyFunction* copy,
                  AnyFunction* remove, void* extra_state, int* id) {
  RankState& state = this_rank();
  auto keyval = std::make_shared<Keyval>();
  keyval->kind = kind;
  keyval->language = language;
  keyval->copy = copy;
  keyval->remove = remove;
  keyval->extra_state = extra_state;
  const std::lock_guard lock(state.mutex);
  if (!state.keyvals) state.keyvals = std::make_shared<KeyvalTable>();
  keyval->id = kFirstUserKeyval + static_cast<int>(state.keyvals->list.size());
  *id = keyval->id;
  state.keyvals->list.push_back({keyval, keyval, this_call()});
  return kSuccess;
}

Err free_keyval(KeyvalKind kind, int* id) {
  KeyvalRef keyval;
  MPC_MPI_TRY(find_keyval(*id, kind, &keyval));
  RankState& state = this_rank();
  const std::lock_guard lock(state.mutex);
  state.keyvals->list[static_cast<size_t>(*id - kFirstUserKeyval)].owner.reset();
  *id = MPI_KEYVAL_INVALID;
  return kSuccess;
}

}  // namespace mpc::mpi
