#include "mpi/fortran/convert.h"

#include <cstring>

#include "mpi/api/checks.h"
#include "mpi/api/entry_scope.h"
#include "mpi/objects/attributes.h"
#include "mpi/objects/comm.h"
#include "mpi/objects/errhandler.h"
#include "mpi/objects/lookup.h"
#include "mpi/objects/op.h"
#include "mpi/objects/rank_state.h"
#include "mpi/objects/type_object.h"
#include "mpi/objects/win.h"

extern "C" {
alignas(64) constinit MpcFortranIntegers mpc_f_integers_{};
alignas(64) constinit MpcFortranCharacters mpc_f_characters_{};

// The variables with which C programs compare Fortran statuses (mpi.h).
#define MPC_VISIBLE __attribute__((visibility("default")))
MPC_VISIBLE MPI_Fint* MPI_F_STATUS_IGNORE = mpc_f_integers_.status_ignore;
MPC_VISIBLE MPI_Fint* MPI_F_STATUSES_IGNORE = mpc_f_integers_.statuses_ignore;
MPC_VISIBLE MPI_F08_status* MPI_F08_STATUS_IGNORE =
    reinterpret_cast<MPI_F08_status*>(mpc_f_integers_.status_ignore);
MPC_VISIBLE MPI_F08_status* MPI_F08_STATUSES_IGNORE =
    reinterpret_cast<MPI_F08_status*>(mpc_f_integers_.statuses_ignore);

// Predefined callbacks are procedures in Fortran. MPI never calls these, because callback() knows
// their addresses. A program that calls one itself gets the behaviour of the standard.
// NOLINTBEGIN(bugprone-macro-parentheses): types
#define MPC_COPY_FN(name, value_type)                                           \
  MPC_VISIBLE void name##_null_copy_fn_(int*, int*, value_type*, value_type*,   \
                                        value_type*, int* flag, int* ierror) {  \
    *flag = 0;                                                                  \
    *ierror = MPI_SUCCESS;                                                      \
  }                                                                             \
  MPC_VISIBLE void name##_dup_fn_(int*, int*, value_type*, value_type* in,      \
                                  value_type* out, int* flag, int* ierror) {    \
    *out = *in;                                                                 \
    *flag = 1;                                                                  \
    *ierror = MPI_SUCCESS;                                                      \
  }                                                                             \
  MPC_VISIBLE void name##_null_delete_fn_(int*, int*, value_type*, value_type*, \
                                          int* ierror) {                        \
    *ierror = MPI_SUCCESS;                                                      \
  }
// NOLINTEND(bugprone-macro-parentheses)
MPC_COPY_FN(mpi, int)
MPC_COPY_FN(mpi_comm, MPI_Aint)
MPC_COPY_FN(mpi_type, MPI_Aint)
MPC_COPY_FN(mpi_win, MPI_Aint)
#undef MPC_COPY_FN
MPC_VISIBLE void mpi_conversion_fn_null_(void*, int*, int*, void*, MPI_Offset*,
                                         MPI_Aint*, int*) {}
MPC_VISIBLE void mpi_conversion_fn_null_c_(void*, int*, MPI_Count*, void*, MPI_Offset*,
                                           MPI_Aint*, int*) {}
}

namespace mpc::mpi::fortran {
namespace {

// OutString's room: the longest text that MPI hands out.
constexpr size_t kLongestText = MPI_MAX_LIBRARY_VERSION_STRING;
constexpr char kUntouched[] = "\x7f\x01\x7f";

template <class F>
void* address_of(F* function) noexcept {
  return reinterpret_cast<void*>(function);
}

}  // namespace

Count peers(MPI_Comm handle) noexcept {
  Comm* comm = nullptr;
  return lookup(handle, &comm).code == MPI_SUCCESS ? comm->remote_size() : 0;
}

Count neighbors(MPI_Comm handle, bool incoming) noexcept {
  Comm* comm = nullptr;
  if (lookup(handle, &comm).code != MPI_SUCCESS) return 0;
  return incoming ? check::indegree(*comm) : check::outdegree(*comm);
}

InString::InString(const char* text, size_t length, Strip strip) {
  while (length > 0 && text[length - 1] == ' ') --length;
  while (strip == Strip::kBoth && length > 0 && *text == ' ') ++text, --length;
  text_.reset(new char[length + 1]);
  std::memcpy(text_.get(), text, length);
  text_[length] = '\0';
}

OutString::OutString() : text_(new char[kLongestText + 1]) {
  std::memcpy(text_.get(), kUntouched, sizeof kUntouched);
}

void OutString::store(char* text, size_t length) const noexcept {
  if (std::strcmp(text_.get(), kUntouched) == 0) return;
  const size_t n = strnlen(text_.get(), length);
  std::memcpy(text, text_.get(), n);
  std::memset(text + n, ' ', length - n);
}

void* callback(void* procedure) noexcept {
  for (void* null_function :
       {address_of(mpi_null_copy_fn_), address_of(mpi_null_delete_fn_),
        address_of(mpi_comm_null_copy_fn_), address_of(mpi_comm_null_delete_fn_),
        address_of(mpi_type_null_copy_fn_), address_of(mpi_type_null_delete_fn_),
        address_of(mpi_win_null_copy_fn_), address_of(mpi_win_null_delete_fn_),
        address_of(mpi_conversion_fn_null_), address_of(mpi_conversion_fn_null_c_)})
    if (procedure == null_function) return nullptr;
  for (void* dup : {address_of(mpi_dup_fn_), address_of(mpi_comm_dup_fn_),
                    address_of(mpi_type_dup_fn_), address_of(mpi_win_dup_fn_)})
    if (procedure == dup) return reinterpret_cast<void*>(MPI_COMM_DUP_FN);
  return procedure;
}

void mark(MPI_Op handle) noexcept {
  Op* op = nullptr;
  if (lookup(handle, &op).code == MPI_SUCCESS) op->language = Language::kFortran;
}

void mark(MPI_Errhandler handle) noexcept {
  Errhandler* handler = nullptr;
  if (lookup(handle, &handler).code == MPI_SUCCESS)
    handler->language = Language::kFortran;
}

void mark_keyval(int id, Values values) noexcept {
  for (KeyvalKind kind : {KeyvalKind::kComm, KeyvalKind::kType, KeyvalKind::kWin}) {
    KeyvalRef keyval;
    if (find_keyval(id, kind, &keyval).code != MPI_SUCCESS) continue;
    keyval->language =
        values == Values::kInteger ? Language::kFortranLegacy : Language::kFortran;
  }
}

namespace {

// The attributes of an object; null if the handle is wrong.
AttributeSet* attributes_of(MPI_Comm handle) noexcept {
  Comm* comm = nullptr;
  return lookup(handle, &comm).code == MPI_SUCCESS ? &comm->attributes : nullptr;
}
AttributeSet* attributes_of(MPI_Datatype handle) noexcept {
  DatatypeObject* type = nullptr;
  return lookup(handle, &type).code == MPI_SUCCESS ? &type->attributes : nullptr;
}
AttributeSet* attributes_of(MPI_Win handle) noexcept {
  Win* win = nullptr;
  return lookup(handle, &win).code == MPI_SUCCESS ? &win->attributes : nullptr;
}

// C gets the address of a predefined integer, Fortran the integer.
MPI_Aint predefined_attribute(int keyval, void* value) noexcept {
  if (keyval == MPI_WIN_BASE) return reinterpret_cast<MPI_Aint>(value);
  if (keyval == MPI_WIN_SIZE) return *static_cast<MPI_Aint*>(value);
  return *static_cast<int*>(value);
}

template <class Handle>
MPI_Aint attribute_of(Handle object, int keyval, void* value) noexcept {
  if (keyval < kFirstUserKeyval) return predefined_attribute(keyval, value);
  const AttributeSet* set = attributes_of(object);
  const Attribute* attribute = set != nullptr ? set->find(keyval) : nullptr;
  return reinterpret_cast<MPI_Aint>(attribute != nullptr ? attribute->value : value);
}

template <class Handle>
void mark_attribute_of(Handle object, int keyval, Values values) noexcept {
  if (AttributeSet* set = attributes_of(object))
    set->set_written_by(keyval, values == Values::kInteger ? Language::kFortranLegacy
                                                           : Language::kFortran);
}

}  // namespace

MPI_Aint attribute(MPI_Comm object, int keyval, void* value) noexcept {
  return attribute_of(object, keyval, value);
}
MPI_Aint attribute(MPI_Datatype object, int keyval, void* value) noexcept {
  return attribute_of(object, keyval, value);
}
MPI_Aint attribute(MPI_Win object, int keyval, void* value) noexcept {
  return attribute_of(object, keyval, value);
}
void mark_attribute(MPI_Comm object, int keyval, Values values) noexcept {
  mark_attribute_of(object, keyval, values);
}
void mark_attribute(MPI_Datatype object, int keyval, Values values) noexcept {
  mark_attribute_of(object, keyval, values);
}
void mark_attribute(MPI_Win object, int keyval, Values values) noexcept {
  mark_attribute_of(object, keyval, values);
}

}  // namespace mpc::mpi::fortran
