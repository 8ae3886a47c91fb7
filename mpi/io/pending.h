#pragma once
// Pending: an access that other threads finish while its rank does something else.
//
// Role:      the state of a non-blocking or collective access: tells whether it is over, and then
//            wakes its rank. Requests and split accesses hold one.
// Users:     mpi/io.
// Threads:   complete() any; the rest the rank.
// See also:  mpi/io/access.h, runtime/io/ring_transfers.h, runtime/io/pool.h.

#include <atomic>
#include <memory>
#include <mutex>

#include "mpi/io/access.h"
#include "mpi/objects/request.h"

namespace mpc::mpi {

class Pending {
 public:
  Pending(File& file, const char* call);
  virtual ~Pending() = default;
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;

  Access access;
  size_t index = 0;  // of this rank's part in a collective access

  // The data have been moved. Caller: once, any thread that holds a reference.
  void complete() noexcept;
  // True after complete(); a collective access waits for its room as well.
  virtual bool is_over();
  // When it is over, on the rank: gives the user what was read. May be called again.
  void finish();
  // Waits until it is over. Switches: yes.
  void wait();

  File& file() const noexcept { return file_; }
  const char* call() const noexcept { return call_; }
  std::string text() const;

 private:
  // Only for the rank: others that hold a Pending use the part that is shared. A request holds a
  // reference to the file.
  File& file_;
  const std::shared_ptr<io::SharedFile> share_;
  const char* const call_;
  job::Rank& rank_;
  std::mutex mutex_;
  std::atomic<bool> is_over_{false};  // release: complete(); acquire: the rank
  bool is_finished_ = false;
};
using PendingRef = std::shared_ptr<Pending>;

// A request that is complete when the access is.
Request* request_of(PendingRef pending);
// The kernel or a thread of the runtime moves its data. Caller: an execution of the process,
// without locks.
void move_in_background(const PendingRef& pending);

}  // namespace mpc::mpi
