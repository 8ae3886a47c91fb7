#pragma once
// Status: the contents of an MPI_Status beside its three public fields.
//
// Role:      MPI_internal[0..1] hold the number of bytes received, [2] the cancelled flag, so
//            that MPI_Get_count works for any datatype afterwards.
// Users:     mpi/objects/request.cpp, mpi/p2p, mpi/io, mpi/datatype (Get_count, Get_elements),
//            Fortran status conversion (the eight integers are copied as they are).
// Threads:   values.
// See also:  MPI-4.1 section 3.2.5; MPI 5.0 ABI (MPI_Status of 32 bytes).

#include <cstdint>
#include <cstring>

#include "mpi.h"
#include "runtime/message/message.h"

namespace mpc::mpi {

inline void set_status_bytes(MPI_Status& status, int64_t bytes) noexcept {
  std::memcpy(&status.MPI_internal[0], &bytes, sizeof bytes);
}
inline int64_t status_bytes(const MPI_Status& status) noexcept {
  int64_t bytes;
  std::memcpy(&bytes, &status.MPI_internal[0], sizeof bytes);
  return bytes;
}
inline void set_status_cancelled(MPI_Status& status, bool cancelled) noexcept {
  status.MPI_internal[2] = cancelled ? 1 : 0;
}
inline bool status_cancelled(const MPI_Status& status) noexcept {
  return status.MPI_internal[2] != 0;
}

// MPI-4.1 section 3.7.3: what calls return for null and inactive requests.
inline void set_empty(MPI_Status* status) noexcept {
  if (status == MPI_STATUS_IGNORE) return;
  status->MPI_SOURCE = MPI_ANY_SOURCE;
  status->MPI_TAG = MPI_ANY_TAG;
  status->MPI_ERROR = MPI_SUCCESS;
  set_status_bytes(*status, 0);
  set_status_cancelled(*status, false);
}

// Everything but MPI_ERROR, which only calls on several requests may touch
// (section 3.2.5). `status` may be MPI_STATUS_IGNORE.
inline void set_status(MPI_Status* status, const msg::Status& from) noexcept {
  if (status == MPI_STATUS_IGNORE) return;
  status->MPI_SOURCE = from.source;
  status->MPI_TAG = from.tag;
  set_status_bytes(*status, from.bytes);
  set_status_cancelled(*status, from.cancelled);
}

// The status of communication with MPI_PROC_NULL (section 3.10).
inline msg::Status proc_null_status() noexcept {
  msg::Status status;
  status.source = MPI_PROC_NULL;
  status.tag = MPI_ANY_TAG;
  return status;
}

}  // namespace mpc::mpi
