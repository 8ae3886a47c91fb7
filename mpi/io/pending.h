#pragma once
// Pending: an access that others finish while its rank does something else.
//
// Role:      what a non-blocking or collective access leaves behind: it tells when it is over, and wakes
//            its rank then. Requests and split accesses are made of it.
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
  // The same for data that nobody moves: nothing is to be done.
  virtual bool is_over();
  // Once it is over, on the rank: gives the user what was read. May be called again.
  void finish();
  // Until it is over. Switches: yes.
  void wait();

  File& file() const noexcept { return file_; }
  const char* call() const noexcept { return call_; }
  std::string text() const;

 private:
  // The rank's: whoever else holds a Pending uses the part that is shared. A request holds a
  // reference to it.
  File& file_;
  const std::shared_ptr<io::SharedFile> share_;
  const char* const call_;
  job::Rank& rank_;
  std::mutex mutex_;
  std::atomic<bool> is_over_{false};  // release: complete(); acquire: the rank
  bool is_finished_ = false;
};
using PendingRef = std::shared_ptr<Pending>;

// A request that ends with it.
Request* request_of(PendingRef pending);
// Its data are moved by the kernel, or by a thread of the runtime's own. Caller: an execution of the process,
// without locks.
void move_in_background(const PendingRef& pending);

}  // namespace mpc::mpi
