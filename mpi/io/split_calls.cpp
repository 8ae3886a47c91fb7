// Bodies of MPI-4.1 section 14.4.5: split collective accesses.

#include <fmt/format.h>

#include <string_view>

#include "mpi/impl/io.h"
#include "mpi/io/collective_access.h"
#include "mpi/io/file_position.h"
#include "mpi/io/ordered.h"
#include "mpi/objects/status.h"

namespace mpc::mpi {

struct SplitAccess {
  std::string_view name;  // "MPI_File_read_all"
  PendingRef pending;
};

namespace {

Err check_none(const File& file) {
  if (file.split == nullptr) return kSuccess;
  return fail(MPI_ERR_OTHER,
              fmt::format("{}_begin has not been ended; a file has one split "
                          "collective access at a time",
                          file.split->name));
}

Err begin_at(const char* name, File& file, Direction direction, Count offset,
             const Data& data) {
  PendingRef pending;
  MPC_MPI_TRY(start_all(name, file, direction, offset, data, &pending));
  file.split = std::make_shared<SplitAccess>(SplitAccess{name, std::move(pending)});
  return kSuccess;
}

Err begin_at_offset(const char* name, File& file, Direction direction, Count offset,
                    const Data& data) {
  MPC_MPI_TRY(check_none(file));
  MPC_MPI_TRY(check_not_sequential(file, "explicit offsets"));
  return begin_at(name, file, direction, offset, data);
}

Err begin_at_pointer(const char* name, File& file, Direction direction,
                     const Data& data) {
  MPC_MPI_TRY(check_none(file));
  Count offset = 0;
  MPC_MPI_TRY(take_pointer(file, data, &offset));
  return begin_at(name, file, direction, offset, data);
}

// The members of lower rank have to bring the length of their data first; so the access is done at
// once.
Err begin_ordered(const char* name, File& file, Direction direction, const Data& data) {
  MPC_MPI_TRY(check_none(file));
  auto pending = std::make_shared<Pending>(file, name);
  const Err error = run_ordered(name, pending->access, file, direction, data);
  pending->complete();
  if (error) return error;
  file.split = std::make_shared<SplitAccess>(SplitAccess{name, std::move(pending)});
  return kSuccess;
}

Err end(std::string_view name, File& file, MPI_Status* status) {
  if (file.split == nullptr || file.split->name != name)
    return fail(MPI_ERR_OTHER, fmt::format("{}_begin was not called before", name));
  const auto split = std::exchange(file.split, nullptr);
  split->pending->wait();
  set_status(status, split->pending->access.status());
  return split->pending->access.error();
}

}  // namespace

namespace impl {

Err file_read_all_begin(File& fh, void* buf, Count count, const dt::Datatype& type) {
  return begin_at_pointer("MPI_File_read_all", fh, Direction::kRead,
                          data_of(buf, count, type));
}
Err file_read_all_end(File& fh, void*, MPI_Status* status) {
  return end("MPI_File_read_all", fh, status);
}
Err file_write_all_begin(File& fh, const void* buf, Count count,
                         const dt::Datatype& type) {
  return begin_at_pointer("MPI_File_write_all", fh, Direction::kWrite,
                          data_of(buf, count, type));
}
Err file_write_all_end(File& fh, const void*, MPI_Status* status) {
  return end("MPI_File_write_all", fh, status);
}
Err file_read_at_all_begin(File& fh, Count offset, void* buf, Count count,
                           const dt::Datatype& type) {
  return begin_at_offset("MPI_File_read_at_all", fh, Direction::kRead, offset,
                         data_of(buf, count, type));
}
Err file_read_at_all_end(File& fh, void*, MPI_Status* status) {
  return end("MPI_File_read_at_all", fh, status);
}
Err file_write_at_all_begin(File& fh, Count offset, const void* buf, Count count,
                            const dt::Datatype& type) {
  return begin_at_offset("MPI_File_write_at_all", fh, Direction::kWrite, offset,
                         data_of(buf, count, type));
}
Err file_write_at_all_end(File& fh, const void*, MPI_Status* status) {
  return end("MPI_File_write_at_all", fh, status);
}
Err file_read_ordered_begin(File& fh, void* buf, Count count,
                            const dt::Datatype& type) {
  return begin_ordered("MPI_File_read_ordered", fh, Direction::kRead,
                       data_of(buf, count, type));
}
Err file_read_ordered_end(File& fh, void*, MPI_Status* status) {
  return end("MPI_File_read_ordered", fh, status);
}
Err file_write_ordered_begin(File& fh, const void* buf, Count count,
                             const dt::Datatype& type) {
  return begin_ordered("MPI_File_write_ordered", fh, Direction::kWrite,
                       data_of(buf, count, type));
}
Err file_write_ordered_end(File& fh, const void*, MPI_Status* status) {
  return end("MPI_File_write_ordered", fh, status);
}

}  // namespace impl
}  // namespace mpc::mpi
