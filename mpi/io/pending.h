#pragma once
// Pending: an access that other threads finish while its rank does something else.
//
// Role:      the state of a non-blocking or collective access: tells whether it is over, and then
//            wakes its rank. Requests and split accesses hold one.
// Users:     mpi/io.
// Threads:   complete(), take() any; the rest the rank.
// See also:  mpi/io/access.h, runtime/io/ring_transfers.h, runtime/io/pool.h.

#include <atomic>
#include <memory>
#include <mutex>

#include "mpi/io/access.h"
#include "mpi/objects/request.h"

namespace mpc::mpi {

class Pending : public std::enable_shared_from_this<Pending> {
 public:
  Pending(File& file, const char* call);
  virtual ~Pending() = default;
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;

  Access access;
  size_t index = 0;  // of this rank's part in a collective access

  // The data have been moved. Caller: once, any thread that holds a reference.
  void complete() noexcept;
  // From now on whoever calls take() first moves the data, and completes it: a thread of the pool, or the rank when
  // it waits. Until then the access keeps itself, because its request may be freed. Caller: once, before any
  // thread of the pool knows of it.
  void offer();
  // Null: another thread has been first, or nothing was offered. Caller: any that holds a reference.
  std::shared_ptr<Pending> take() noexcept;
  // Moves the data, if no other thread has begun to. Caller: the rank. Switches: sometimes.
  void help();
  // The rank waits for it, now or soon, and moves what is left then. Threads help, not io_uring: they read one part
  // after the other, as the system expects; the kernel's own threads begin all parts at once.
  void note_wait() noexcept { is_waited_for_.store(true, std::memory_order_relaxed); }
  bool is_waited_for() const noexcept {
    return is_waited_for_.load(std::memory_order_relaxed);
  }
  // True after complete(); a collective access waits for its room as well.
  virtual bool is_over();
  // When it is over, on the rank: gives the user what was read. May be called again.
  void finish();
  // Waits until it is over; helps. Switches: yes.
  void wait();

  File& file() const noexcept { return file_; }
  sched::Scheduler* scheduler() const noexcept;  // null: a program without mpcrun
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
  std::atomic<bool> is_over_{false};        // release: complete(); acquire: the rank
  std::atomic<bool> is_offered_{false};     // acquire: who takes it
  std::atomic<bool> is_waited_for_{false};  // a hint
  std::shared_ptr<Pending> self_;           // while it is offered
  bool is_finished_ = false;
};
using PendingRef = std::shared_ptr<Pending>;

// A request that is complete when the access is.
Request* request_of(PendingRef pending);
// The kernel or a thread of the runtime moves its data, not before `begin_ns` (0: at once); until one begins, the
// rank does it when it waits. Caller: an execution of the process, without locks.
void move_in_background(const PendingRef& pending, uint64_t begin_ns);

}  // namespace mpc::mpi
