#pragma once
// Section: a choice buffer of mpi_f08, contiguous or a section of an array.
//
// Role:      an array section becomes a derived datatype, or a copy of it is used.
// Users:     generated f08_CHAPTER.cpp; mpi/fortran/by_hand.cpp.
// Threads:   values on the stack of the calling execution.
// See also:  docs/fortran.md, docs/design/0027-fortran.md; Fortran 2018 section 18.5.3 (CFI_cdesc_t),
//            MPI-4.1 section 19.1.12.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>

#include "mpi.h"
#include "runtime/datatype/datatype.h"

namespace mpc::mpi::fortran {

// The compiler's CFI_cdesc_t. The first three members are the standard's, the others have the
// order of gfortran (from version 9 on) and flang.
struct Array {
  struct Dimension {
    ptrdiff_t lower, extent, stride_bytes;
  };
  static constexpr int kMaxRank = 15;

  void* base;
  size_t element_bytes;
  int version;
  int8_t rank;
  int8_t others[3];  // attribute, type
  Dimension dimension[kMaxRank];

  bool is_contiguous() const noexcept { return rank == 0 || has_no_gaps(); }
  bool has_no_gaps() const noexcept;
  // Bytes from the base to the element with this index in array element order; the last
  // dimension has no end.
  ptrdiff_t offset_of(ptrdiff_t element) const noexcept;
  ptrdiff_t elements() const noexcept;
};

class SectionCopy;

class Section {
 public:
  enum Use : bool { kRead, kWritten };
  // The caller then calls one of the use_ functions. If that can do nothing (wrong handle or
  // count), the MPI call gets its arguments unchanged, and finds the mistake itself.
  Section(const Array& array, Use use) noexcept;
  ~Section();  // copies received data to the array, unless keep() took the copy
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;

  // `count` elements of `type` are one message: a derived datatype takes their place.
  void use_message(MPI_Count count, MPI_Fint type);
  // Blocks of any number of elements at any place: works if the section has one stride.
  void use_elements(MPI_Fint type);
  // The same for buffers that must not be copied, because they move in parts between start and
  // end. If the section does not fit, the address is null, and the call refuses it.
  void use_partitions(MPI_Fint type);
  // A copy without gaps.
  void use_whole();

  // The arguments for the call, in place of its own.
  void* address() const noexcept { return address_; }
  MPI_Fint* count(MPI_Fint* given) noexcept { return is_message_ ? &one_ : given; }
  MPI_Count* count(MPI_Count* given) noexcept {
    return is_message_ ? &large_one_ : given;
  }
  MPI_Fint* type(MPI_Fint* given) noexcept { return type_ != kNone ? &type_ : given; }

 private:
  friend void keep(MPI_Fint request, std::initializer_list<Section*> sections);
  static constexpr MPI_Fint kNone = 0;  // no handle
  void take(dt::TypeRef type);

  const Array& array_;
  const Use use_;
  const bool has_gaps_;
  bool is_message_ = false;
  void* address_;
  MPI_Fint one_ = 1, type_ = kNone;
  MPI_Count large_one_ = 1;
  std::unique_ptr<SectionCopy> copy_;
};

// The copies live as long as the operation: filled at its start, copied back at its end.
void keep(MPI_Fint request, std::initializer_list<Section*> sections);

}  // namespace mpc::mpi::fortran
