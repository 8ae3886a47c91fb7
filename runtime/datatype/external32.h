#pragma once
// external32: the portable data representation, big-endian, of MPI-4.1 section 14.5.2.
//
// Role:      MPI_Pack_external, MPI_Unpack_external, files of representation
//            "external32".
// Users:     mpi.
// Threads:   pure; any thread.
// See also:  MPI-4.1 table 14.2 (sizes), signature.h (the walk over basic elements).
//
// Sizes differ from the native ones in three places: long and unsigned long are 4
// bytes, wchar_t is 2, and long double is an IEEE 754 binary128 of 16 bytes (exact when
// packed, rounded to 64 bits of mantissa when unpacked).

#include <cstddef>

#include "base/result.h"
#include "runtime/datatype/datatype.h"

namespace mpc::dt {

// Number of bytes of `count` elements in external32. Errors: kCount if it does not fit in 63
// bits.
Result<Count> external32_size(const Datatype& type, Count count);

// Packs `count` elements; either all fit or none is packed.
// Returns the number of bytes written. Errors: kTruncate if `out` is too short; kOther if a long or
// a wchar_t has a value that external32 cannot hold (MPI_ERR_CONVERSION).
Result<size_t> external32_pack(const void* src, const Datatype& type, Count count,
                               void* out, size_t out_bytes);
// Returns the number of bytes read. Errors: kTruncate if `in` holds fewer than `count` elements.
Result<size_t> external32_unpack(void* dst, const Datatype& type, Count count,
                                 const void* in, size_t in_bytes);

}  // namespace mpc::dt
