#pragma once
// RingTransfers: accesses of single ranks that the kernel carries out while the ranks go on.
//
// Role:      cuts an access into pieces, keeps some of them in the ring, submits the rest of a
//            short one again, and reports the outcome when the access is over. The threads that
//            poll for the process reap: ranks that wait, workers without work, the listener if all
//            ranks compute.
// Users:     mpi/io. One for all ranks of a process.
// Threads:   start() any; pieces end in poll(), on any thread.
// See also:  runtime/io/ring.h, runtime/io/transfer.h (accesses for which the caller waits);
//            scheduler/poll/event_source.h; docs/design/0045-io-uring.md.

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "runtime/io/ring.h"
#include "runtime/io/transfer.h"
#include "scheduler/poll/demand.h"
#include "scheduler/poll/event_source.h"
#include "scheduler/scheduler.h"

namespace mpc::io {

class RingTransfers final : public sched::EventSource {
 public:
  // Called once, on any thread, also within poll(): must neither park nor start an access.
  using Done = std::function<void(const Outcome&)>;

  // The process's object, opened by the first call. Null: threads carry out accesses, because the
  // setting io.async says so or the kernel has no ring for us. Caller: any execution. Cost: a load,
  // after the first call.
  static RingTransfers* of(sched::Scheduler* scheduler);

  // Whether an access that begins here is to use the ring, by the same setting. Caller: any. Cost:
  // for a read a system call that does not wait.
  static bool is_preferred(const Target& target, const View& view, Count begin,
                           Count bytes, bool is_write) noexcept;

  // The setting says that the ring does all that it can.
  static bool is_forced() noexcept;

  static constexpr int kMostPieces = 256;  // at a time, for all accesses
  // `ring` has room for kMostPieces. The creator adds this object to a poller, and keeps it longer.
  RingTransfers(std::unique_ptr<Ring> ring, sched::Demand& demand) noexcept;
  ~RingTransfers() override;

  // True: the form of the data and the kind of the file allow the ring.
  static bool suits(const Target& target, const View& view, const Buffer& buffer,
                    bool is_write) noexcept;
  // From byte `begin` of the stream on. Needs: suits(). False: nothing was started, because the
  // lock of the file is held. Ownership: file, lock, view and memory must stay until `done` is
  // called. Switches: no.
  bool start(const Target& target, const View& view, Count begin, const Buffer& buffer,
             bool is_write, Done done);

  bool poll() noexcept override;
  int descriptor() const noexcept override { return ring_->descriptor(); }
  bool arm() noexcept override { return !ring_->has_news(); }

 private:
  struct Transfer;
  struct Slot {
    Transfer* transfer = nullptr;
    Count first = 0;  // byte of the access
    Count bytes = 0, offset = 0;
    int tries = 0;
  };

  void push(Slot& slot) MPC_REQUIRES(mutex_);
  void take_end(const Ring::End& end) MPC_REQUIRES(mutex_);
  // Pushes pieces as far as the ring has room. True: the transfer is over.
  bool advance(Transfer& transfer) MPC_REQUIRES(mutex_);
  void advance_waiting() MPC_REQUIRES(mutex_);
  void submit() MPC_REQUIRES(mutex_);
  void finish(std::unique_ptr<Transfer> transfer) noexcept;

  const std::unique_ptr<Ring> ring_;
  sched::Demand& demand_;
  Mutex mutex_;
  int pieces_ MPC_GUARDED_BY(mutex_) = 0;
  // Transfers that found the ring full, and have no piece in it.
  std::deque<Transfer*> waiting_ MPC_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Transfer>> finished_ MPC_GUARDED_BY(mutex_);
  // The kernel has not accepted all pieces. relaxed: a hint for poll().
  std::atomic<bool> is_behind_{false};
};

}  // namespace mpc::io
