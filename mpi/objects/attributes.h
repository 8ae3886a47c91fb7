#pragma once
// Attributes: values that a user attaches to communicators, datatypes and windows.
//
// Role:      keyvals (per rank) with their callbacks; the ordered set of values of one object.
// Users:     mpi (Comm, DatatypeObject, Win).
// Threads:   belong to the owner rank; callbacks run on the calling execution, which is always
//            one of the owner's, never under a lock.
// See also:  MPI-4.1 section 7.7; docs/mpi.md.
//
// Fortran: INTEGER and ADDRESS_KIND values and C pointers share one slot; `written_by` says
// how the value was written so that the other language reads it as MPI-4.1 section 19.3.7 says.

#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "mpi.h"
#include "mpi/objects/call_site.h"
#include "mpi/objects/error.h"

namespace mpc::mpi {

enum class KeyvalKind : uint8_t { kComm, kType, kWin };
enum class Language : uint8_t { kC, kFortran, kFortranLegacy };

// A callback as it was given, whatever its type and language; cast back for the call.
using AnyFunction = void();
template <class Function>
AnyFunction* any_function(Function* function) noexcept {
  return reinterpret_cast<AnyFunction*>(function);
}

struct Keyval {
  KeyvalKind kind = KeyvalKind::kComm;
  int id = 0;
  Language language = Language::kC;
  AnyFunction* copy = nullptr;    // 0: MPI_*_NULL_COPY_FN, 1: MPI_*_DUP_FN
  AnyFunction* remove = nullptr;  // 0: MPI_*_NULL_DELETE_FN
  void* extra_state = nullptr;
};
using KeyvalRef = std::shared_ptr<Keyval>;

struct Attribute {
  KeyvalRef keyval;
  void* value = nullptr;
  Language written_by = Language::kC;
};

class AttributeSet {
 public:
  bool empty() const noexcept { return list_.empty(); }
  const Attribute* find(int keyval_id) const noexcept;
  // Sets or replaces a value; the old value's delete callback runs first, with `handle`.
  // Errors: what the callback returns; then the old value stays.
  Err set(const KeyvalRef& keyval, void* value, Language written_by, void* handle);
  // Notes in which language the value was set, for the Fortran bindings.
  void set_written_by(int keyval_id, Language language) noexcept {
    for (Attribute& a : list_)
      if (a.keyval->id == keyval_id) a.written_by = language;
  }
  // Errors: MPI_ERR_KEYVAL if it is not set; what the callback returns; then the value stays.
  Err remove(int keyval_id, void* handle);
  // Runs delete callbacks in reverse order of setting (MPI-4.1 section 11.4.1 demands it for
  // COMM_SELF) and empties the set. Stops at the first callback that fails.
  Err remove_all(void* handle);
  // Copies to `to`, as MPI_Comm_dup does, in order of setting. Errors: that of the first callback
  // that fails; `to` holds the attributes copied until then.
  Err copy_to(AttributeSet& to, void* from_handle) const;

 private:
  std::list<Attribute>
      list_;  // in order of setting; addresses of values are handed out
};

// The keyvals of one rank. A freed keyval lives on while values are set for it, and may be freed
// again meanwhile, as callbacks of programs do.
struct KeyvalTable {
  struct Entry {
    KeyvalRef owner;  // null once freed
    std::weak_ptr<Keyval> alive;
    CallSite made{};  // with mpi.check=full
  };
  std::vector<Entry> list;  // index: id - kFirstUserKeyval
};
inline constexpr int kFirstUserKeyval = 1024;  // above the ABI's predefined keys

// Errors: MPI_ERR_KEYVAL.
Err find_keyval(int id, KeyvalKind kind, KeyvalRef* out);
Err create_keyval(KeyvalKind kind, Language language, AnyFunction* copy,
                  AnyFunction* remove, void* extra_state, int* id);
Err free_keyval(KeyvalKind kind, int* id);  // sets *id to MPI_KEYVAL_INVALID

}  // namespace mpc::mpi
