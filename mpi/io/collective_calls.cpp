// Bodies of MPI-4.1 sections 14.4.2, 14.4.3: collective accesses, blocking and non-blocking.

#include "mpi/impl/io.h"
#include "mpi/io/collective_access.h"
#include "mpi/io/file_position.h"

namespace mpc::mpi::impl {
namespace {

Err all_at_pointer(const char* call, File& file, Direction direction, const Data& data,
                   MPI_Status* status) {
  Count offset = 0;
  MPC_MPI_TRY(take_pointer(file, data, &offset));
  return access_all(call, file, direction, offset, data, status);
}

Err start_request(const char* call, File& file, Direction direction, Count offset,
                  const Data& data, Request** request) {
  PendingRef pending;
  MPC_MPI_TRY(start_all(call, file, direction, offset, data, &pending));
  *request = request_of(std::move(pending));
  return kSuccess;
}

Err start_at_pointer(const char* call, File& file, Direction direction,
                     const Data& data, Request** request) {
  Count offset = 0;
  MPC_MPI_TRY(take_pointer(file, data, &offset));
  return start_request(call, file, direction, offset, data, request);
}

}  // namespace

Err file_read_at_all(File& fh, Count offset, void* buf, Count count,
                     const dt::Datatype& type, MPI_Status* status) {
  MPC_MPI_TRY(check_not_sequential(fh, "explicit offsets"));
  return access_all("MPI_File_read_at_all", fh, Direction::kRead, offset,
                    data_of(buf, count, type), status);
}
Err file_write_at_all(File& fh, Count offset, const void* buf, Count count,
                      const dt::Datatype& type, MPI_Status* status) {
  MPC_MPI_TRY(check_not_sequential(fh, "explicit offsets"));
  return access_all("MPI_File_write_at_all", fh, Direction::kWrite, offset,
                    data_of(buf, count, type), status);
}
Err file_read_all(File& fh, void* buf, Count count, const dt::Datatype& type,
                  MPI_Status* status) {
  return all_at_pointer("MPI_File_read_all", fh, Direction::kRead,
                        data_of(buf, count, type), status);
}
Err file_write_all(File& fh, const void* buf, Count count, const dt::Datatype& type,
                   MPI_Status* status) {
  return all_at_pointer("MPI_File_write_all", fh, Direction::kWrite,
                        data_of(buf, count, type), status);
}

Err file_iread_at_all(File& fh, Count offset, void* buf, Count count,
                      const dt::Datatype& type, Request** request) {
  MPC_MPI_TRY(check_not_sequential(fh, "explicit offsets"));
  return start_request("MPI_File_iread_at_all", fh, Direction::kRead, offset,
                       data_of(buf, count, type), request);
}
Err file_iwrite_at_all(File& fh, Count offset, const void* buf, Count count,
                       const dt::Datatype& type, Request** request) {
  MPC_MPI_TRY(check_not_sequential(fh, "explicit offsets"));
  return start_request("MPI_File_iwrite_at_all", fh, Direction::kWrite, offset,
                       data_of(buf, count, type), request);
}
Err file_iread_all(File& fh, void* buf, Count count, const dt::Datatype& type,
                   Request** request) {
  return start_at_pointer("MPI_File_iread_all", fh, Direction::kRead,
                          data_of(buf, count, type), request);
}
Err file_iwrite_all(File& fh, const void* buf, Count count, const dt::Datatype& type,
                    Request** request) {
  return start_at_pointer("MPI_File_iwrite_all", fh, Direction::kWrite,
                          data_of(buf, count, type), request);
}

}  // namespace mpc::mpi::impl
