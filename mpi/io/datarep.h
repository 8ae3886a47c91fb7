#pragma once
// Datarep: a data representation other than native: external32, or one that the user has registered.
//
// Role:      the form of a datatype in such a file, and the conversion to and from it.
// Users:     mpi/io.
// Threads:   the owner rank: conversions may call the user's functions.
// See also:  MPI-4.1 section 14.5; runtime/datatype/external32.h.

#include <memory>
#include <string>
#include <vector>

#include "mpi/objects/views.h"
#include "runtime/io/transfer.h"

namespace mpc::mpi {

struct Datarep {
  enum class Kind : bool { kExternal32, kUser };
  Kind kind = Kind::kUser;
  std::string name;
  // kUser. A null function: the data are as in memory.
  ConversionFunction read{static_cast<MPI_Datarep_conversion_function*>(nullptr)};
  ConversionFunction write{static_cast<MPI_Datarep_conversion_function*>(nullptr)};
  MPI_Datarep_extent_function* extent = nullptr;
  void* extra_state = nullptr;
};

// The representations that the rank has registered; they exist until the rank ends.
struct DatarepTable {
  std::vector<std::unique_ptr<const Datarep>> registered;
};

// *out is null for "native" and for "internal", which is the same here. Errors:
// MPI_ERR_UNSUPPORTED_DATAREP.
Err find_datarep(const char* name, const Datarep** out);

// All: a null representation is the native one.
// The datatype with its layout in the file: mpi/io/file_type.cpp.
Err file_type(const Datarep* datarep, const dt::Datatype& type, dt::TypeRef* out);
// Bytes of `count` elements in the file.
Err file_bytes(const Datarep* datarep, const dt::Datatype& type, Count count,
               Count* out);
// For a predefined type and a representation that is not null.
Err basic_extent(const Datarep& datarep, const dt::Datatype& type, Count* out);

Err to_file(const Datarep& datarep, const io::Buffer& user, char* out, Count bytes);
// *user_bytes: the length of the data in memory.
Err from_file(const Datarep& datarep, const io::Buffer& user, const char* in,
              Count bytes, Count* user_bytes);

}  // namespace mpc::mpi
