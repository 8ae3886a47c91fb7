#pragma once
// Conversions between Fortran's arguments and C's, used by the generated Fortran bindings.
//
// Role:      sentinels by address, INTEGER handles, LOGICAL, CHARACTER, indices from 1.
// Users:     generated f77_CHAPTER.cpp and f08_CHAPTER.cpp; mpi/fortran.
// Threads:   any execution of the rank.
// See also:  mpi/api/fortran.json (which kind is converted how), docs/mpi-api.md; MPI-4.1
//            section 19.3.
//
// LOGICAL: .false. is 0 and .true. is 1 with gfortran. Any word other than 0 counts as true on
// the way in (ifort's default is -1), and 1 is written on the way out.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "mpi.h"
#include "mpi/objects/handles.h"
#include "mpi/objects/views.h"
#include "runtime/loader/image.h"

// The COMMON blocks of mpif.h. mpcc binds a program's own COMMON of that name to these, so an
// argument is a sentinel if it has the same address.
struct MpcFortranIntegers {
  int bottom, in_place, buffer_automatic, unweighted, weights_empty, errcodes_ignore;
  int status_ignore[MPI_F_STATUS_SIZE], statuses_ignore[MPI_F_STATUS_SIZE];
};
struct MpcFortranCharacters {
  char argv_null, argvs_null;
};
extern "C" {
// Aligned for every compiler's COMMON blocks.
extern __attribute__((visibility("default"))) MpcFortranIntegers mpc_f_integers_;
extern __attribute__((visibility("default"))) MpcFortranCharacters mpc_f_characters_;
}

namespace mpc::mpi::fortran {

// --- buffers and other sentinels -----------------------------------------------------------------
// A program that has code without -fPIC holds the blocks itself (runtime/loader/copied_variables.h).
template <class T>
T* canonical(T* address) noexcept {
  return static_cast<T*>(loader::shared_counterpart(address));
}
inline void* buffer(void* address) noexcept {
  address = canonical(address);
  if (address == &mpc_f_integers_.bottom) return MPI_BOTTOM;
  if (address == &mpc_f_integers_.in_place) return MPI_IN_PLACE;
  if (address == &mpc_f_integers_.buffer_automatic) return MPI_BUFFER_AUTOMATIC;
  return address;
}
inline int* weights(int* values) noexcept {
  values = canonical(values);
  if (values == &mpc_f_integers_.unweighted) return MPI_UNWEIGHTED;
  if (values == &mpc_f_integers_.weights_empty) return MPI_WEIGHTS_EMPTY;
  return values;
}
inline int* errcodes(int* values) noexcept {
  return canonical(values) == &mpc_f_integers_.errcodes_ignore ? MPI_ERRCODES_IGNORE
                                                               : values;
}
// A Fortran status is the same eight integers as the C structure.
inline MPI_Status* status(int* words) noexcept {
  if (canonical(words) == mpc_f_integers_.status_ignore) return MPI_STATUS_IGNORE;
  return reinterpret_cast<MPI_Status*>(words);
}
inline MPI_Status* statuses(int* words) noexcept {
  if (canonical(words) == mpc_f_integers_.statuses_ignore) return MPI_STATUSES_IGNORE;
  return reinterpret_cast<MPI_Status*>(words);
}

// --- handles -------------------------------------------------------------------------------------
template <class Handle>
struct KindOf;
template <>
struct KindOf<MPI_Comm> {
  static constexpr Kind kValue = Kind::kComm;
};
template <>
struct KindOf<MPI_Group> {
  static constexpr Kind kValue = Kind::kGroup;
};
template <>
struct KindOf<MPI_Datatype> {
  static constexpr Kind kValue = Kind::kDatatype;
};
template <>
struct KindOf<MPI_Op> {
  static constexpr Kind kValue = Kind::kOp;
};
template <>
struct KindOf<MPI_Request> {
  static constexpr Kind kValue = Kind::kRequest;
};
template <>
struct KindOf<MPI_Message> {
  static constexpr Kind kValue = Kind::kMessage;
};
template <>
struct KindOf<MPI_Info> {
  static constexpr Kind kValue = Kind::kInfo;
};
template <>
struct KindOf<MPI_Errhandler> {
  static constexpr Kind kValue = Kind::kErrhandler;
};
template <>
struct KindOf<MPI_Win> {
  static constexpr Kind kValue = Kind::kWin;
};
template <>
struct KindOf<MPI_File> {
  static constexpr Kind kValue = Kind::kFile;
};
template <>
struct KindOf<MPI_Session> {
  static constexpr Kind kValue = Kind::kSession;
};

template <class Handle>
inline Handle to_c(int value) noexcept {
  return static_cast<Handle>(
      static_cast<void*>(int_to_handle(value, KindOf<Handle>::kValue)));
}
template <class Handle>
inline int to_fortran(Handle handle) noexcept {
  return handle_to_int(handle, KindOf<Handle>::kValue);
}

// C copies of an array of handles.
template <class Handle>
class Handles {
 public:
  Handles(const int* values, Count n)
      : size_(n > 0 ? static_cast<size_t>(n) : 0),
        heap_(size_ > kInline ? new Handle[size_] : nullptr),
        handles_(heap_ ? heap_.get() : inline_) {
    for (size_t i = 0; i < size_; ++i) handles_[i] = to_c<Handle>(values[i]);
  }
  Handle* data() noexcept { return handles_; }
  void store(int* values) const noexcept {
    for (size_t i = 0; i < size_; ++i) values[i] = to_fortran(handles_[i]);
  }

 private:
  static constexpr size_t kInline = 32;
  Handle inline_[kInline];
  size_t size_;
  std::unique_ptr<Handle[]> heap_;
  Handle* handles_;
};

// The length of an array that is a property of the communicator.
Count peers(MPI_Comm comm) noexcept;
Count neighbors(MPI_Comm comm, bool incoming) noexcept;

// --- numbers -------------------------------------------------------------------------------------
inline int is_true(int logical) noexcept { return logical != 0; }
inline int logical(int truth) noexcept { return truth != 0 ? 1 : 0; }
// Indices count from 1 in Fortran.
inline int index(int c_index) noexcept {
  return c_index == MPI_UNDEFINED ? MPI_UNDEFINED : c_index + 1;
}
inline void shift_indices(int* indices, int n) noexcept {
  for (int i = 0; i < n; ++i) ++indices[i];  // MPI_UNDEFINED is negative: none
}

// --- CHARACTER -----------------------------------------------------------------------------------
enum class Strip { kTrailing, kBoth };
// A C string without the blanks that Fortran pads with.
class InString {
 public:
  InString(const char* text, size_t length, Strip strip);
  const char* get() const noexcept { return text_.get(); }

 private:
  std::unique_ptr<char[]> text_;
};
// A buffer for C to write to; store() pads with blanks, and does nothing if C wrote nothing: the text
// and its length may mean nothing then (an unallocated name of which MPI_Session_get_nth_pset tells
// the length, as in the example of MPI-4.1 section 11.3).
class OutString {
 public:
  OutString();
  char* get() noexcept { return text_.get(); }
  void store(char* text, size_t length) const noexcept;

 private:
  std::unique_ptr<char[]> text_;
};

// --- callbacks and attributes --------------------------------------------------------------------
// A procedure as the C function expects it; MPI_*_NULL_COPY_FN and the like become constants.
void* callback(void* procedure) noexcept;
// Notes that the object's functions are Fortran's. Errors: none; the object was just made.
void mark(MPI_Op op) noexcept;
void mark(MPI_Errhandler handler) noexcept;
enum class Values { kAddress, kInteger };  // of MPI-2 and MPI-1
void mark_keyval(int keyval, Values values) noexcept;
// An attribute as Fortran sees it; `value` is the value that C has received (MPI-4.1 section
// 19.3.7).
MPI_Aint attribute(MPI_Comm object, int keyval, void* value) noexcept;
MPI_Aint attribute(MPI_Datatype object, int keyval, void* value) noexcept;
MPI_Aint attribute(MPI_Win object, int keyval, void* value) noexcept;
// Notes that Fortran has set an attribute.
void mark_attribute(MPI_Comm object, int keyval, Values values) noexcept;
void mark_attribute(MPI_Datatype object, int keyval, Values values) noexcept;
void mark_attribute(MPI_Win object, int keyval, Values values) noexcept;

}  // namespace mpc::mpi::fortran
