// Bodies of MPI-4.1 sections 14.4.2 and 14.4.3: explicit offsets and individual file pointers, blocking.

#include <fmt/format.h>

#include "mpi/impl/io.h"
#include "mpi/io/collective_access.h"
#include "mpi/io/file_position.h"

namespace mpc::mpi::impl {

Err file_read_at(File& fh, Count offset, void* buf, Count count,
                 const dt::Datatype& type, MPI_Status* status) {
  MPC_MPI_TRY(check_not_sequential(fh, "explicit offsets"));
  return access_at(fh, Direction::kRead, offset, data_of(buf, count, type), status);
}
Err file_write_at(File& fh, Count offset, const void* buf, Count count,
                  const dt::Datatype& type, MPI_Status* status) {
  MPC_MPI_TRY(check_not_sequential(fh, "explicit offsets"));
  return access_at(fh, Direction::kWrite, offset, data_of(buf, count, type), status);
}
Err file_read(File& fh, void* buf, Count count, const dt::Datatype& type,
              MPI_Status* status) {
  Access access;
  MPC_MPI_TRY(
      place_at_pointer(access, fh, Direction::kRead, data_of(buf, count, type)));
  access.run();
  return complete(access, status);
}
Err file_write(File& fh, const void* buf, Count count, const dt::Datatype& type,
               MPI_Status* status) {
  Access access;
  MPC_MPI_TRY(
      place_at_pointer(access, fh, Direction::kWrite, data_of(buf, count, type)));
  access.run();
  return complete(access, status);
}

Err file_seek(File& fh, Count offset, int whence) {
  MPC_MPI_TRY(check_not_sequential(fh, "individual file pointers"));
  Count base = 0;
  if (whence == MPI_SEEK_CUR)
    base = fh.position.load(std::memory_order_relaxed);
  else
    MPC_MPI_TRY(seek_base(fh, whence, &base));
  Count target = 0;
  if (__builtin_add_overflow(base, offset, &target) || target < 0)
    return fail(MPI_ERR_ARG,
                fmt::format("offset {} leads before the view's start", offset));
  fh.position.store(target, std::memory_order_relaxed);
  return kSuccess;
}

Err file_get_position(File& fh, Count* offset) {
  MPC_MPI_TRY(check_not_sequential(fh, "individual file pointers"));
  *offset = fh.position.load(std::memory_order_relaxed);
  return kSuccess;
}

Err file_get_byte_offset(File& fh, Count offset, Count* disp) {
  MPC_MPI_TRY(check_not_sequential(fh, "explicit offsets"));
  const io::View& view = *fh.view.stream;
  Count byte = 0;
  if (offset < 0 || __builtin_mul_overflow(offset, view.etype_bytes(), &byte))
    return fail(MPI_ERR_ARG, fmt::format("offset {} does not lie in the view", offset));
  *disp = view.is_empty() ? view.displacement() : view.offset_of(byte);
  return kSuccess;
}

}  // namespace mpc::mpi::impl
