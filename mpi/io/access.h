#pragma once
// Access: one read or write of one rank, from its arguments to its status.
//
// Role:      checks what the generated entry point cannot know; converts to and from the file's
//            data representation; moves the data; yields status and error.
// Users:     mpi/io.
// Threads:   run() and start() any thread, also one without a rank; the rest the rank.
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
  // Prepares everything but the offset; the file must stay open. *etypes: by how many the access
  // moves a file pointer on.
  Err prepare(File& file, Direction direction, const Data& data, Count* etypes);
  // `offset`: in etypes of the view.
  Err place(Count offset);

  // After an error: takes part without data, because other members wait for this access.
  void make_empty() noexcept;
  // Moves the data; afterwards the access is over. Switches: sometimes.
  void run() noexcept;
  // False: a pipe or the like, where an access may have to wait for another rank.
  bool ends_by_itself() const;
  // The ring that should move the data while the rank goes on. Null: threads are to do it. Caller: the rank.
  io::RingTransfers* ring() const;
  // It does. False: nothing was started, threads are to do it. Caller: any thread. Switches: no.
  bool start(io::RingTransfers& ring, io::RingTransfers::Done done);
  // Another thread has moved the data.
  void set_outcome(const io::Outcome& outcome) noexcept { outcome_ = outcome; }

  // When the access is over: gives the user what was read.
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
  std::unique_ptr<char[]> converted_;  // the data as in the file, if these differ
  io::Buffer buffer_;  // what is moved: the user's, or the converted one
  Count begin_ = 0;    // byte of the view's stream
  io::Tuning tuning_;
  bool is_atomic_ = false;
  io::Outcome outcome_;
  Count user_bytes_ = 0;
  Err conversion_error_;
};

// For calls with an offset or an individual pointer, which MPI_MODE_SEQUENTIAL does not allow.
Err check_not_sequential(const File& file, const char* what);
// For blocking calls: the last step, and the whole access at an offset. Switches: sometimes.
Err complete(Access& access, MPI_Status* status);
Err access_at(File& file, Direction direction, Count offset, const Data& data,
              MPI_Status* status);

}  // namespace mpc::mpi
