// Bodies of MPI-4.1 section 14.4.4: shared file pointers.

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <vector>

#include "mpi/impl/io.h"
#include "mpi/io/agreement.h"
#include "mpi/io/file_errors.h"
#include "mpi/io/file_position.h"
#include "mpi/io/ordered.h"
#include "mpi/io/shared_pointer.h"

namespace mpc::mpi {
namespace {

// Here each member brings the number of etypes by which it moves the pointer on. The process where the pointer lives moves it
// when all have come: before that members elsewhere may still move it by calls of their own.
struct OrderedRoom final : Room {
  struct Wish {
    int rank;
    Count etypes;
  };
  SharedPointer* pointer = nullptr;
  job::Rank* home_rank = nullptr;  // of this process; asks without waiting
  std::vector<Wish> wishes;
  Count begin =
      0;  // where the first member's data begin; only in the pointer's process

  void pack(ByteWriter& out) const override {
    out.put_all(std::span<const Wish>(wishes));
  }
  void merge(ByteReader& in) override {
    for (const Wish& wish : in.get_all<Wish>()) wishes.push_back(wish);
  }
  void conclude(Ids&) override {
    Count total = 0;
    for (const Wish& wish : wishes) total += wish.etypes;
    if (pointer->is_at_home()) begin = pointer->move_by(*home_rank, total);
  }
  // From `begin` on.
  Count before(int rank) const noexcept {
    Count at = 0;
    for (const Wish& wish : wishes)
      if (wish.rank < rank) at += wish.etypes;
    return at;
  }
};

// Here the pointer's process tells the others where the first member's data begin. It also keeps members from asking for the
// pointer before that has been moved.
struct BeginRoom final : Room {
  Count begin = 0;
  bool is_known = false;
  void bring(Count its_begin) {
    begin = its_begin;
    is_known = true;
  }
  void pack(ByteWriter& out) const override {
    out.put(is_known);
    out.put(begin);
  }
  void merge(ByteReader& in) override {
    const auto is_theirs = in.get<bool>();
    const auto theirs = in.get<Count>();
    if (is_theirs) bring(theirs);
  }
};

Count begin_of(const char* call, File& file, const OrderedRoom& room) {
  Comm& comm = file.comm();
  if (comm.is_in_one_process()) return room.begin;
  return meet<BeginRoom>(
             comm.self(), meeting_key(MeetingKind::kFile, comm), comm.members(),
             [&](BeginRoom& r) {
               if (file.shared_pointer->is_at_home()) r.bring(room.begin);
             },
             call)
      ->begin;
}

Err access_shared(File& file, Direction direction, const Data& data,
                  MPI_Status* status) {
  Access access;
  Count etypes = 0;
  MPC_MPI_TRY(access.prepare(file, direction, data, &etypes));
  MPC_MPI_TRY(access.place(file.shared_pointer->move_by(file.self(), etypes)));
  access.run();
  return complete(access, status);
}

Err access_ordered(const char* call, File& file, Direction direction, const Data& data,
                   MPI_Status* status) {
  Access access;
  MPC_MPI_TRY(run_ordered(call, access, file, direction, data));
  return complete(access, status);
}

}  // namespace

Err run_ordered(const char* call, Access& access, File& file, Direction direction,
                const Data& data) {
  Count etypes = 0;
  const Err wrong = access.prepare(file, direction, data, &etypes);
  if (wrong) etypes = 0;  // takes part without data: the others need not wait for ever
  Comm& comm = file.comm();
  const auto room = meet<OrderedRoom>(
      comm.self(), meeting_key(MeetingKind::kFile, comm), comm.members(),
      [&](OrderedRoom& r) {
        r.pointer = file.shared_pointer.get();
        r.home_rank = &comm.self();
        r.wishes.push_back({comm.rank(), etypes});
      },
      call);
  const Count begin = begin_of(call, file, *room);
  if (wrong) return wrong;
  MPC_MPI_TRY(access.place(begin + room->before(comm.rank())));
  access.run();
  return kSuccess;
}

namespace impl {

Err file_read_shared(File& fh, void* buf, Count count, const dt::Datatype& type,
                     MPI_Status* status) {
  return access_shared(fh, Direction::kRead, data_of(buf, count, type), status);
}
Err file_write_shared(File& fh, const void* buf, Count count, const dt::Datatype& type,
                      MPI_Status* status) {
  return access_shared(fh, Direction::kWrite, data_of(buf, count, type), status);
}
Err file_read_ordered(File& fh, void* buf, Count count, const dt::Datatype& type,
                      MPI_Status* status) {
  return access_ordered("MPI_File_read_ordered", fh, Direction::kRead,
                        data_of(buf, count, type), status);
}
Err file_write_ordered(File& fh, const void* buf, Count count, const dt::Datatype& type,
                       MPI_Status* status) {
  return access_ordered("MPI_File_write_ordered", fh, Direction::kWrite,
                        data_of(buf, count, type), status);
}

Err file_seek_shared(File& fh, Count offset, int whence) {
  MPC_MPI_TRY(check_not_sequential(fh, "shared file pointer that could be set"));
  if (whence != MPI_SEEK_SET && whence != MPI_SEEK_CUR && whence != MPI_SEEK_END)
    return fail(MPI_ERR_ARG, fmt::format("whence {} is none of MPI_SEEK_SET, "
                                         "MPI_SEEK_CUR and MPI_SEEK_END",
                                         whence));
  SharedPointer& pointer = *fh.shared_pointer;
  const Finding finding = do_together("MPI_File_seek_shared", fh.comm(), offset, [&] {
    if (!pointer.is_at_home()) return 0;
    Count base = 0;
    if (whence == MPI_SEEK_CUR) base = pointer.move_by(fh.self(), 0);
    if (whence == MPI_SEEK_END)
      if (const int error = end_in_etypes(fh, &base)) return error;
    Count target = 0;
    if (__builtin_add_overflow(base, offset, &target) || target < 0) return EINVAL;
    pointer.set_at_home(target);
    return 0;
  });
  if (finding.mpi_class == MPI_ERR_NOT_SAME)
    return fail(MPI_ERR_NOT_SAME, "the members' offsets differ");
  if (finding.system_error == EINVAL)
    return fail(MPI_ERR_ARG,
                fmt::format("offset {} leads before the view's start", offset));
  return file_error(finding.system_error, "ask for the size of", fh.display_name());
}

Err file_get_position_shared(File& fh, Count* offset) {
  *offset = fh.shared_pointer->move_by(fh.self(), 0);
  return kSuccess;
}

}  // namespace impl
}  // namespace mpc::mpi
