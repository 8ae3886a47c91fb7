#include "mpi/io/access.h"

#include <fmt/format.h>

#include <cerrno>
#include <limits>
#include <new>

#include "mpi/io/datarep.h"
#include "mpi/io/file_errors.h"
#include "mpi/objects/status.h"
#include "runtime/job/job.h"

namespace mpc::mpi {
namespace {

Err check_mode(const File& file, Direction direction) {
  if (direction == Direction::kRead && file.is(MPI_MODE_WRONLY))
    return fail(MPI_ERR_ACCESS,
                fmt::format("{} was opened with MPI_MODE_WRONLY", file.display_name()));
  if (direction == Direction::kWrite && file.is(MPI_MODE_RDONLY))
    return fail(MPI_ERR_READ_ONLY,
                fmt::format("{} was opened with MPI_MODE_RDONLY", file.display_name()));
  return kSuccess;
}

}  // namespace

Err check_not_sequential(const File& file, const char* what) {
  if (!file.is(MPI_MODE_SEQUENTIAL)) return kSuccess;
  return fail(MPI_ERR_UNSUPPORTED_OPERATION,
              fmt::format("{} was opened with MPI_MODE_SEQUENTIAL and has no {}",
                          file.display_name(), what));
}

Err Access::prepare(File& file, Direction direction, const Data& data, Count* etypes) {
  file_ = &file;
  direction_ = direction;
  share_ = file.share_ref();
  stream_ = file.view.stream;
  datarep_ = file.view.datarep;
  user_ = buffer_ = {data.address, &data.type, data.count};
  type_ = dt::TypeRef(&data.type);
  tuning_ = file.tuning;
  is_atomic_ = file.is_atomic;
  MPC_MPI_TRY(check_mode(file, direction));
  Count bytes = 0;
  MPC_MPI_TRY(file_bytes(datarep_, data.type, data.count, &bytes));
  const Count etype = stream_->etype_bytes();
  if (bytes == 0) {
    *etypes = 0;
    buffer_.count = 0;
    return kSuccess;
  }
  if (etype == 0 || bytes % etype != 0)
    return fail(MPI_ERR_TYPE,
                fmt::format("{} bytes of data are no whole number of etypes, which "
                            "have {} bytes",
                            bytes, etype));
  if (stream_->is_empty())
    return fail(MPI_ERR_IO, "the view's filetype has no room for data");
  *etypes = bytes / etype;
  if (datarep_ == nullptr) return kSuccess;
  converted_.reset(new (std::nothrow) char[static_cast<size_t>(bytes)]);
  if (converted_ == nullptr)
    return fail(MPI_ERR_NO_MEM, fmt::format("no memory to convert {} bytes", bytes));
  buffer_ = {converted_.get(), dt::predefined(dt::abi::kByte), bytes};
  if (direction == Direction::kRead) return kSuccess;
  return to_file(*datarep_, user_, converted_.get(), bytes);
}

Err Access::place(Count offset) {
  if (offset < 0)
    return fail(MPI_ERR_ARG, fmt::format("offset {} is negative", offset));
  Count end = 0;
  if (__builtin_mul_overflow(offset, stream_->etype_bytes(), &begin_) ||
      __builtin_add_overflow(begin_, buffer_.bytes(), &end) ||
      end > std::numeric_limits<Count>::max() / 2)
    return fail(MPI_ERR_ARG,
                fmt::format("offset {} is beyond what a file can have", offset));
  return kSuccess;
}

void Access::make_empty() noexcept {
  datarep_ = nullptr;
  user_ = buffer_ = {nullptr, dt::predefined(dt::abi::kByte), 0};
  begin_ = 0;
}

io::Outcome Access::move() noexcept {
  io::Target target = share_->target(tuning_);
  const bool is_read = direction_ == Direction::kRead;
  if (!is_atomic_) {
    return is_read ? io::read(target, *stream_, begin_, buffer_)
                   : io::write(target, *stream_, begin_, buffer_);
  }
  // If tiles overlap, an access to several tiles need not end where its last byte lies.
  const bool is_ordered = stream_->is_ordered();
  const Count end = stream_->end_of(begin_ + buffer_.bytes());
  const io::AtomicAccess alone(*share_, is_ordered ? stream_->offset_of(begin_) : 0,
                               is_ordered ? end : std::numeric_limits<Count>::max(),
                               is_read);
  if (alone.error() != 0) return {0, alone.error()};
  target.lock = nullptr;
  target.locks_range = false;  // `alone` has locked the range
  return is_read ? io::read(target, *stream_, begin_, buffer_)
                 : io::write(target, *stream_, begin_, buffer_);
}

void Access::run() noexcept {
  outcome_ = {};
  if (buffer_.bytes() > 0) outcome_ = move();
}

bool Access::ends_by_itself() const { return share_->target(tuning_).file.is_plain(); }

io::RingTransfers* Access::ring() const {
  if (is_atomic_)
    return nullptr;  // would wait for the lock of the file, which the kernel does not know
  using io::RingTransfers;
  const io::Target target = share_->target(tuning_);
  if (!RingTransfers::suits(target, *stream_, buffer_, is_write()) ||
      !RingTransfers::is_preferred(target, *stream_, begin_, buffer_.bytes(),
                                   is_write()))
    return nullptr;
  return RingTransfers::of(file_->self().job->scheduler());
}

bool Access::start(io::RingTransfers& ring, io::RingTransfers::Done done) {
  return ring.start(share_->target(tuning_), *stream_, begin_, buffer_, is_write(),
                    std::move(done));
}

void Access::convert() {
  user_bytes_ = outcome_.bytes;
  if (datarep_ == nullptr || outcome_.bytes == 0) return;
  if (is_write()) {
    user_bytes_ = outcome_.error == 0 ? user_.bytes() : 0;
  } else if (outcome_.error == 0) {
    conversion_error_ =
        from_file(*datarep_, user_, converted_.get(), outcome_.bytes, &user_bytes_);
  }
}

msg::Status Access::status() const noexcept {
  msg::Status status;
  status.source = 0;
  status.tag = 0;
  status.bytes = user_bytes_;
  status.failed = outcome_.error != 0 || conversion_error_;
  return status;
}

Err Access::error() const {
  if (outcome_.error != 0)
    return file_error(outcome_.error, is_write() ? "write to" : "read from",
                      file_->display_name());
  if (!conversion_error_) return kSuccess;
  return fail(conversion_error_.code, "the data cannot be converted");
}

Err complete(Access& access, MPI_Status* status) {
  access.convert();
  set_status(status, access.status());
  return access.error();
}

Err access_at(File& file, Direction direction, Count offset, const Data& data,
              MPI_Status* status) {
  Access access;
  Count etypes = 0;
  MPC_MPI_TRY(access.prepare(file, direction, data, &etypes));
  MPC_MPI_TRY(access.place(offset));
  access.run();
  return complete(access, status);
}

}  // namespace mpc::mpi
