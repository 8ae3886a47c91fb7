#pragma once
// The MPI ABI's codes of predefined types and operations, and how this layer groups them.
//
// Role:      dt::abi::kInt and the other constants of mpi/api, without mpi.h.
// Users:     runtime/datatype; layers above may use the names too.
// Threads:   constants.
// See also:  MPI-5.0 chapter 20 (ABI); the build's generated/base/mpi_constants.h.

#include "base/mpi_constants.h"

namespace mpc::dt::abi {

// All names of the list, whatever it contains.
using namespace mpc::abi;

// The range that the ABI reserves for datatypes. kLb and kUb have codes that it leaves free:
// MPI-3.0 removed the two, but old programs build structs with them.
// From 0x240 on the size is fixed: 1 << ((code >> 3) & 7) bytes.
inline constexpr uint32_t kFirstType = kDatatypeNull, kLastType = 0x2ff;

}  // namespace mpc::dt::abi
