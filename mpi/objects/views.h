#pragma once
// Views: how arguments of MPI calls reach the bodies without being copied.
//
// Role:      one body for the classic binding (int) and the large one (MPI_Count).
// Users:     bodies of mpi/, declared in the generated "mpi/impl/CHAPTER.h".
// Threads:   values; they point into the caller's arguments and end with the call.
// See also:  mpi/api/kinds.json.

#include <cstddef>

#include "mpi.h"
#include "mpi/objects/lookup.h"
#include "runtime/datatype/datatype.h"

namespace mpc::mpi {

using Count = dt::Count;
// A read-only array of counts or displacements, whose elements are int or MPI_Count.
using CountView = dt::CountArray;

// A handle that the call may change, and its object. The body stores a null handle with
// `*ref.handle = MPI_COMM_NULL`.
template <class T, class Handle>
struct HandleRef {
  Handle* handle;
  T* object = nullptr;
  T* operator->() const noexcept { return object; }
  T& operator*() const noexcept { return *object; }
};

// A datatype together with the handle that a user's reduction function sees.
// `type` is null where the argument is not significant.
struct TypeArg {
  const dt::Datatype* type;
  MPI_Datatype handle;
  const dt::Datatype& operator*() const noexcept { return *type; }
  const dt::Datatype* operator->() const noexcept { return type; }
};

// An array of datatype handles; the entry point has checked each.
class TypeView {
 public:
  TypeView(const MPI_Datatype* handles, Count size) noexcept
      : handles_(handles), size_(static_cast<size_t>(size)) {}
  size_t size() const noexcept { return size_; }
  const dt::Datatype& operator[](size_t i) const noexcept {
    const dt::Datatype* type = nullptr;
    (void)lookup(handles_[i], &type).code;  // cannot fail: checked
    return *type;
  }
  MPI_Datatype handle(size_t i) const noexcept { return handles_[i]; }

 private:
  const MPI_Datatype* handles_;
  size_t size_;
};

// A user's reduction function of either binding; the other one is null.
struct UserFunction {
  explicit UserFunction(MPI_User_function* function) noexcept : classic(function) {}
  explicit UserFunction(MPI_User_function_c* function) noexcept : large(function) {}
  MPI_User_function* classic = nullptr;
  MPI_User_function_c* large = nullptr;
};

// The same for MPI_Register_datarep.
struct ConversionFunction {
  explicit ConversionFunction(MPI_Datarep_conversion_function* function) noexcept
      : classic(function) {}
  explicit ConversionFunction(MPI_Datarep_conversion_function_c* function) noexcept
      : large(function) {}
  MPI_Datarep_conversion_function* classic = nullptr;
  MPI_Datarep_conversion_function_c* large = nullptr;
};

}  // namespace mpc::mpi
