// Bodies of MPI-4.1 sections 5.2 and 5.3 (pack) and 3.2.5, 5.1.11 (counts in a status).

#include <fmt/format.h>

#include <cstring>

#include "mpi/impl/datatype.h"
#include "mpi/impl/grequest.h"
#include "mpi/impl/p2p.h"
#include "mpi/objects/comm.h"
#include "mpi/objects/status.h"
#include "runtime/datatype/external32.h"

namespace mpc::mpi::impl {
namespace {

Err packed_bytes(const dt::Datatype& type, Count count, Count* out) {
  if (!__builtin_mul_overflow(type.size(), count, out)) return kSuccess;
  return fail(MPI_ERR_COUNT,
              fmt::format("{} elements of {} bytes are too many", count, type.size()));
}

Err check_room(Count position, Count size, Count needed, const char* what) {
  if (position < 0 || position > size)
    return fail(MPI_ERR_ARG,
                fmt::format("position {} is outside of the buffer of {} bytes",
                            position, size));
  if (needed <= size - position) return kSuccess;
  return fail(MPI_ERR_TRUNCATE, fmt::format("{} needs {} bytes, {} are left", what,
                                            needed, size - position));
}

// `elements`: the user's data, of which the others are packed. A null pointer there is MPI_BOTTOM, where a predefined
// type would mean address 0.
Err check_buffers(const void* elements, Count count, const dt::Datatype& type,
                  const void* packed) {
  const bool has_elements = (elements != nullptr && elements != MPI_IN_PLACE) ||
                            (elements == nullptr && !type.is_predefined());
  if (count == 0 || type.size() == 0 || (has_elements && packed != nullptr))
    return kSuccess;
  return fail(MPI_ERR_BUFFER,
              fmt::format("the buffer of {} is {}",
                          has_elements ? "the packed data" : "the elements",
                          elements == MPI_IN_PLACE
                              ? "MPI_IN_PLACE, which is not for this argument"
                              : "a null pointer"));
}

Err check_external32(const char* datarep) {
  if (std::strcmp(datarep, "external32") == 0) return kSuccess;
  return fail(MPI_ERR_ARG,
              fmt::format("data representation \"{}\" does not exist", datarep));
}

Err external_error(const Error& error) {
  // A value that the representation cannot hold (MPI-4.1 section 14.5.2).
  return error.code == Errc::kOther ? fail(MPI_ERR_CONVERSION, error.message)
                                    : fail(error);
}

}  // namespace

Err pack_size(Count count, const dt::Datatype& type, Comm&, Count* size) {
  return packed_bytes(type, count, size);
}

Err pack(const void* in, Count count, const dt::Datatype& type, void* out,
         Count out_size, Count* position, Comm&) {
  Count bytes = 0;
  MPC_MPI_TRY(packed_bytes(type, count, &bytes));
  MPC_MPI_TRY(check_room(*position, out_size, bytes, "the packed data"));
  MPC_MPI_TRY(check_buffers(in, count, type, out));
  dt::pack(in, type, count, 0, static_cast<char*>(out) + *position,
           static_cast<size_t>(bytes));
  *position += bytes;
  return kSuccess;
}

Err unpack(const void* in, Count in_size, Count* position, void* out, Count count,
           const dt::Datatype& type, Comm&) {
  Count bytes = 0;
  MPC_MPI_TRY(packed_bytes(type, count, &bytes));
  MPC_MPI_TRY(check_room(*position, in_size, bytes, "unpacking"));
  MPC_MPI_TRY(check_buffers(out, count, type, in));
  dt::unpack(out, type, count, 0, static_cast<const char*>(in) + *position,
             static_cast<size_t>(bytes));
  *position += bytes;
  return kSuccess;
}

Err pack_external_size(const char* datarep, Count count, const dt::Datatype& type,
                       Count* size) {
  MPC_MPI_TRY(check_external32(datarep));
  const Result<Count> bytes = dt::external32_size(type, count);
  if (!bytes.ok()) return fail(bytes.error());
  *size = *bytes;
  return kSuccess;
}

Err pack_external(const char* datarep, const void* in, Count count,
                  const dt::Datatype& type, void* out, Count out_size,
                  Count* position) {
  MPC_MPI_TRY(check_external32(datarep));
  MPC_MPI_TRY(check_room(*position, out_size, 0, "the packed data"));
  MPC_MPI_TRY(check_buffers(in, count, type, out));
  const Result<size_t> bytes =
      dt::external32_pack(in, type, count, static_cast<char*>(out) + *position,
                          static_cast<size_t>(out_size - *position));
  if (!bytes.ok()) return external_error(bytes.error());
  *position += static_cast<Count>(*bytes);
  return kSuccess;
}

Err unpack_external(const char* datarep, const void* in, Count in_size, Count* position,
                    void* out, Count count, const dt::Datatype& type) {
  MPC_MPI_TRY(check_external32(datarep));
  MPC_MPI_TRY(check_room(*position, in_size, 0, "unpacking"));
  MPC_MPI_TRY(check_buffers(out, count, type, in));
  const Result<size_t> bytes =
      dt::external32_unpack(out, type, count, static_cast<const char*>(in) + *position,
                            static_cast<size_t>(in_size - *position));
  if (!bytes.ok()) return external_error(bytes.error());
  *position += static_cast<Count>(*bytes);
  return kSuccess;
}

// --- statuses -------------------------------------------------------------------------------

Err get_count(const MPI_Status* status, const dt::Datatype& type, Count* count) {
  const Count n = dt::count_in(type, static_cast<size_t>(status_bytes(*status)));
  *count = n < 0 ? MPI_UNDEFINED : n;
  return kSuccess;
}

Err get_elements(const MPI_Status* status, const dt::Datatype& type, Count* count) {
  const Count n = dt::elements_in(type, static_cast<size_t>(status_bytes(*status)));
  *count = n < 0 ? MPI_UNDEFINED : n;
  return kSuccess;
}

Err status_set_elements(MPI_Status* status, const dt::Datatype& type, Count count) {
  if (count < 0) return fail(MPI_ERR_ARG, fmt::format("count {} is negative", count));
  set_status_bytes(*status, dt::bytes_of_elements(type, count));
  return kSuccess;
}

Err status_set_cancelled(MPI_Status* status, bool flag) {
  ::mpc::mpi::set_status_cancelled(*status, flag);
  return kSuccess;
}
Err status_get_error(const MPI_Status* status, int* error) {
  *error = status->MPI_ERROR;
  return kSuccess;
}
Err status_get_source(const MPI_Status* status, int* source) {
  *source = status->MPI_SOURCE;
  return kSuccess;
}
Err status_get_tag(const MPI_Status* status, int* tag) {
  *tag = status->MPI_TAG;
  return kSuccess;
}
Err status_set_error(MPI_Status* status, int error) {
  status->MPI_ERROR = error;
  return kSuccess;
}
Err status_set_source(MPI_Status* status, int source) {
  status->MPI_SOURCE = source;
  return kSuccess;
}
Err status_set_tag(MPI_Status* status, int tag) {
  status->MPI_TAG = tag;
  return kSuccess;
}

}  // namespace mpc::mpi::impl
