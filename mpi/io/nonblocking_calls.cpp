// Bodies of MPI-4.1 section 14.4: non-blocking accesses of one rank.

#include "mpi/impl/io.h"
#include "mpi/io/file_position.h"
#include "mpi/io/pending.h"
#include "mpi/io/shared_pointer.h"
#include "runtime/io/pool.h"

namespace mpc::mpi::impl {
namespace {

// A write of up to this length reaches the system's cache before another thread could begin with
// it.
constexpr Count kSmallWrite = Count{32} << 10;

Request* start(PendingRef pending) {
  Access& access = pending->access;
  const Count bytes = access.buffer().bytes();
  if (bytes == 0 || (access.is_write() && bytes <= kSmallWrite)) {
    access.run();
    pending->complete();
  } else {
    move_in_background(pending, io::time_to_begin(pending->scheduler()));
  }
  return request_of(std::move(pending));
}

Err start_at(const char* call, File& file, Direction direction, Count offset,
             const Data& data, Request** request) {
  MPC_MPI_TRY(check_not_sequential(file, "explicit offsets"));
  auto pending = std::make_shared<Pending>(file, call);
  Count etypes = 0;
  MPC_MPI_TRY(pending->access.prepare(file, direction, data, &etypes));
  MPC_MPI_TRY(pending->access.place(offset));
  *request = start(std::move(pending));
  return kSuccess;
}

Err start_at_pointer(const char* call, File& file, Direction direction,
                     const Data& data, Request** request) {
  auto pending = std::make_shared<Pending>(file, call);
  MPC_MPI_TRY(place_at_pointer(pending->access, file, direction, data));
  *request = start(std::move(pending));
  return kSuccess;
}

Err start_at_shared(const char* call, File& file, Direction direction, const Data& data,
                    Request** request) {
  auto pending = std::make_shared<Pending>(file, call);
  Count etypes = 0;
  MPC_MPI_TRY(pending->access.prepare(file, direction, data, &etypes));
  MPC_MPI_TRY(pending->access.place(file.shared_pointer->move_by(file.self(), etypes)));
  *request = start(std::move(pending));
  return kSuccess;
}

}  // namespace

Err file_iread_at(File& fh, Count offset, void* buf, Count count,
                  const dt::Datatype& type, Request** request) {
  return start_at("MPI_File_iread_at", fh, Direction::kRead, offset,
                  data_of(buf, count, type), request);
}
Err file_iwrite_at(File& fh, Count offset, const void* buf, Count count,
                   const dt::Datatype& type, Request** request) {
  return start_at("MPI_File_iwrite_at", fh, Direction::kWrite, offset,
                  data_of(buf, count, type), request);
}
Err file_iread(File& fh, void* buf, Count count, const dt::Datatype& type,
               Request** request) {
  return start_at_pointer("MPI_File_iread", fh, Direction::kRead,
                          data_of(buf, count, type), request);
}
Err file_iwrite(File& fh, const void* buf, Count count, const dt::Datatype& type,
                Request** request) {
  return start_at_pointer("MPI_File_iwrite", fh, Direction::kWrite,
                          data_of(buf, count, type), request);
}
Err file_iread_shared(File& fh, void* buf, Count count, const dt::Datatype& type,
                      Request** request) {
  return start_at_shared("MPI_File_iread_shared", fh, Direction::kRead,
                         data_of(buf, count, type), request);
}
Err file_iwrite_shared(File& fh, const void* buf, Count count, const dt::Datatype& type,
                       Request** request) {
  return start_at_shared("MPI_File_iwrite_shared", fh, Direction::kWrite,
                         data_of(buf, count, type), request);
}

}  // namespace mpc::mpi::impl
