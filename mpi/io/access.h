#pragma once
// Access: one read or write of one rank, from its arguments to its status.
//
// Role:      checks what the generated entry point cannot know; converts to and from the file's data
//            representation; moves the data; makes status and error.
// Users:     mpi/io.
// Threads:   run() any thread, also one without a rank; the rest the rank.
// See also:  runtime/io/transfer.h, mpi/io/datarep.h.

#include <memory>

#include "mpi/objects/file.h"
#include "mpi/objects/views.h"
#include "runtime/io/ring_transfers.h"

namespace mpc::mpi {

enum class Direction : bool { kRead, kWrite };

// The user's buffer; writes leave it as it is.
struct Data {
  void* address;
  Count count;
  const dt::Datatype& type;
};
inline Data data_of(const void* buffer, Count count,
                    const dt::Datatype& type) noexcept {
  return {const_cast<void*>(buffer), count, type};
}

class Access {
 public:
  // Everything but the offset; the file stays. *etypes: how many the access passes.
  Err prepare(File& file, Direction direction, const Data& data, Count* etypes);
  // In etypes of the view.
  Err place(Count offset);

  // What is wrong here is no reason for others to wait: without data.
  void make_empty() noexcept;
  // The data move; afterwards it is over. Switches: sometimes.
  void run() noexcept;
  // The same, while the rank goes on: the kernel moves them. False: nothing has begun. Switches: no.
  bool start(io::RingTransfers& ring, io::RingTransfers::Done done);
  // Somebody else has moved them.
  void set_outcome(const io::Outcome& outcome) noexcept { outcome_ = outcome; }

  // Once it is over: gives the user what was read.
  void convert();
  // After convert(): what the status says, and the error.
  msg::Status status() const noexcept;
  Err error() const;

  File& file() const noexcept { return *file_; }
  bool is_write() const noexcept { return direction_ == Direction::kWrite; }
  const io::View& view() const noexcept { return *stream_; }
  Count begin() const noexcept { return begin_; }
  const io::Buffer& buffer() const noexcept { return buffer_; }

 private:
  io::Outcome move() noexcept;

  File* file_ = nullptr;
  Direction direction_ = Direction::kRead;
  std::shared_ptr<io::SharedFile> share_;
  std::shared_ptr<const io::View> stream_;  // the user may set another one meanwhile
  const Datarep* datarep_ = nullptr;
  io::Buffer user_;
  dt::TypeRef type_;                   // keeps the user's type alive
  std::unique_ptr<char[]> converted_;  // what the file holds, if that is something else
  io::Buffer buffer_;  // what is moved: the user's, or the converted one
  Count begin_ = 0;    // byte of the view's stream
  io::Tuning tuning_;
  bool is_atomic_ = false;
  io::Outcome outcome_;
  Count user_bytes_ = 0;
  Err conversion_error_;
};

// Both pointers at once, for calls on a file that was opened with MPI_MODE_SEQUENTIAL.
Err check_not_sequential(const File& file, const char* what);
// The blocking forms. Switches: sometimes.
Err complete(Access& access, MPI_Status* status);
Err access_at(File& file, Direction direction, Count offset, const Data& data,
              MPI_Status* status);

}  // namespace mpc::mpi
