#pragma once
// RingTransfers: accesses of one rank each that the kernel makes while the ranks go on.
//
// Role:      cuts an access into pieces, keeps some of them in the ring, gives the rest of a short one to
//            it again, and says how far the access has come when it is over. Whoever polls for the
//            process reaps: ranks that wait, workers without work, the listener if all compute.
// Users:     mpi/io. One for all ranks of a process.
// Threads:   start() any execution; pieces end in poll(), on any thread.
// See also:  runtime/io/ring.h, runtime/io/transfer.h (the same, while the caller waits);
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
  // Called once, on any thread, also in poll(): neither parks nor starts an access.
  using Done = std::function<void(const Outcome&)>;

  // That of the process, opened with the first call. Null: accesses go to threads, as the setting io.async
  // has it, or because the kernel has no ring for us. Caller: any execution. Cost: a load, after the first call.
  static RingTransfers* of(sched::Scheduler* scheduler);

  // By the same setting. Caller: any.
  static bool takes_writes() noexcept;

  static constexpr int kMostPieces = 256;  // at a time, of all accesses
  // `ring` has room for kMostPieces. Who makes one of his own adds it to a poller, and keeps it for longer.
  RingTransfers(std::unique_ptr<Ring> ring, sched::Demand& demand) noexcept;
  ~RingTransfers() override;

  // Is it an access for the ring at all, by the form of its data and the kind of its file?
  static bool suits(const Target& target, const View& view, const Buffer& buffer,
                    bool is_write) noexcept;
  // From byte `begin` of the stream on. Needs: suits(). False: nothing has begun, somebody else has the lock of
  // the file. Ownership: file, lock, view and memory stay until `done` is called. Switches: no.
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
  // Into the ring with what it has room for. True: the transfer is over.
  bool advance(Transfer& transfer) MPC_REQUIRES(mutex_);
  void advance_waiting() MPC_REQUIRES(mutex_);
  void submit() MPC_REQUIRES(mutex_);
  void finish(std::unique_ptr<Transfer> transfer) noexcept;

  const std::unique_ptr<Ring> ring_;
  sched::Demand& demand_;
  Mutex mutex_;
  int pieces_ MPC_GUARDED_BY(mutex_) = 0;
  // The ring was full, and nothing of theirs is in it.
  std::deque<Transfer*> waiting_ MPC_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Transfer>> finished_ MPC_GUARDED_BY(mutex_);
  // The kernel has not taken all: relaxed, a hint for poll().
  std::atomic<bool> is_behind_{false};
};

}  // namespace mpc::io
