#pragma once
// RemoteAccess: the operations of one member on targets in other processes.
//
// Role:      turns operations into packets, and knows which of them are not complete: MPI_Win_flush
//            and the ends of epochs wait for these.
// Users:     runtime/rma; mpi/rma, for members that Target::find() calls far.
// Threads:   executions of the member, as Access; note_*() the net.
// See also:  runtime/rma/port.h; docs/design/0031-windows-between-processes.md.
//
// A process does what is sent to it in the order of sending. So for its caller a put is complete
// when it has been sent, and one kFlush after any number of puts says that all are done. Operations
// that return data are counted until the data have come, and long puts until they are done.
//
// A lock and a post need not be there when their epoch begins: operations wait in the target's queue (Queue), and are sent
// in their order by the thread that hears of the grant, while the member computes. Queued ones count as awaited.

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "runtime/rma/accumulate.h"
#include "runtime/rma/outgoing.h"
#include "runtime/rma/port.h"
#include "runtime/rma/wants.h"
#include "runtime/rma/window_share.h"

namespace mpc::rma {

// `count` of `type` at a displacement of a target's memory.
struct Spot {
  int target;
  Count disp;
  const dt::Datatype& type;
  Count count;

  Count bytes() const noexcept { return type.size() * count; }
};

// An error that a target has found: only in dynamic windows, whose memory only its process knows.
struct Failure {
  Fit fit;
  int target;
  Count disp;
};

class RemoteAccess final : public OriginEnd {
 public:
  // `share` spans processes.
  RemoteAccess(WindowShare& share, int me, job::Rank& self);
  ~RemoteAccess();
  RemoteAccess(const RemoteAccess&) = delete;

  // --- operations ---
  // As many bytes (elements) of the origin are read or filled as the spot has. Buffers may be used again when their
  // target is settled, or, if *later was set, when that has become true. It is set if `later` is not null and the
  // operation is not over at once.
  // Switches: if there is no room on the way.
  using IsOver = std::shared_ptr<std::atomic<bool>>;
  void put(const Spot& spot, const Buffer& origin, const sched::WaitReason& why,
           IsOver* later = nullptr);
  void get(const Spot& spot, const Buffer& origin, const sched::WaitReason& why,
           IsOver* later = nullptr);
  // `origin.type` is null for MPI_NO_OP; `result` is null for an accumulate.
  void accumulate(uint32_t op_code, const dt::Datatype& element, const Spot& spot,
                  const Buffer& origin, const Buffer* result,
                  const sched::WaitReason& why, IsOver* later = nullptr);
  void compare_and_swap(const Spot& spot, const void* origin, const void* expected,
                        void* result, const sched::WaitReason& why);

  // --- locks, posts ---
  // Asks for the lock; operations from now on wait for it. It is held when the target is settled. Switches: no.
  void lock(int target, LockType type);
  // The target is settled.
  void unlock(int target, LockType type);
  void post(int origin);
  // Operations from now on wait for a post of the target, and take it. Switches: no.
  void start(int target);
  // The end of the epoch that start() began. Waits until buffers belong to the caller: at once if the target has not
  // posted and all that waits is little, which is copied. Switches: sometimes.
  void complete(int target, const sched::WaitReason& why);
  // What the first operation in the target's queue waits for; may be out of date. For reports.
  Wants wants(int target) const noexcept {
    return states_[static_cast<size_t>(target)].wants.load(std::memory_order_relaxed);
  }

  // Between these two operations wait. end_fence(): any thread, once, while the member exists.
  void begin_fence();
  void end_fence();
  void await_fence(const sched::WaitReason& why);  // switches

  // --- ends ---
  // Afterwards the operations under way to the target have
  // been done there, and their results have come.
  // Switches: yes.
  void flush(int target, const sched::WaitReason& why);
  void flush_all(const sched::WaitReason& why);
  // Afterwards all data expected from the target have come: buffers belong to the caller.
  void settle(int target, const sched::WaitReason& why);
  void settle_all(const sched::WaitReason& why);
  // The same, only if something is queued, or a long put or get may be under way: the order of packets says nothing
  // of it.
  void settle_long(int target, const sched::WaitReason& why);
  void settle_all_long(const sched::WaitReason& why);
  // The first failure since the last call.
  std::optional<Failure> take_failure();

  // --- called by the net ---
  void note_end(int target, std::atomic<bool>* is_over) override;
  void note_failure(const Packet& packet) override;
  void note_grant(int target) override;
  bool note_post(int target) override;
  void run_queue(int target) override;

 private:
  // The state of each target.
  struct State {
    std::atomic<uint32_t> awaited{0};   // answers, and entries of the queue
    std::atomic<bool> is_dirty{false};  // a put or an accumulate may not be done yet
    std::atomic<bool> has_long{false};  // a long put or get may not be done yet
    // The queue has entries. Set by the member; cleared (release) by the thread that has sent the last one.
    std::atomic<bool> is_shut{false};
    std::atomic<Wants> wants{Wants::kNothing};
    std::unique_ptr<Queue> queue;  // created at the first use; guarded by lock_
  };
  struct Part {     // of an operation
    uint64_t step;  // of head.offset
    size_t data_bytes, reply_bytes;
  };
  static constexpr size_t kKnownTypes = 8;  // chosen: a loop seldom uses more

  State& state(int target) noexcept { return states_[static_cast<size_t>(target)]; }
  int process_of(int target) const noexcept;
  Packet packet(Verb verb, int target) const noexcept;
  // For an operation on the spot. Switches: if there is no room to tell the target what the type is.
  Outgoing outgoing(Verb verb, const Spot& spot, const sched::WaitReason& why);
  // Sends it, or queues it behind the target's lock or post, and takes what it needs of it.
  void issue(Outgoing& operation, const sched::WaitReason& why, IsOver* later);
  [[gnu::cold]] bool enqueue(Outgoing& operation, IsOver* later);
  static Part next_part(const Outgoing& operation) noexcept;
  static size_t charge_of(const Part& part) noexcept;
  void send_part(Outgoing& operation, const Part& part);
  void push(int target, Queue::Entry entry) MPC_REQUIRES(lock_);
  // Ends the first entry. True: it was the last one.
  bool pop(int target) MPC_REQUIRES(lock_);
  bool may_pass(int target, const Queue::Entry& first) MPC_REQUIRES(lock_);
  bool send_queued(int target, Queue::Entry& entry);
  // True: the queue's data need no buffers of the caller any more.
  static bool copy_queued(Queue& queue);
  static void copy_if_little(Queue& queue, Queue::Entry& entry);
  void note_end_locked(int target, std::atomic<bool>* is_over) MPC_REQUIRES(lock_);
  // Null: the process does not know it. Counts a user.
  KnownType* use_type(const dt::Datatype& type, int process) MPC_REQUIRES(types_lock_);
  KnownType& add_type(const dt::Datatype& type) MPC_REQUIRES(types_lock_);
  void drop_type(const KnownType& known);
  uint64_t await(Pending pending);
  void note_long(int target) noexcept;
  void send_flush(int process, int target);
  template <class Ready>
  void wait(Ready ready, const sched::WaitReason& why);

  WindowShare& share_;
  const Span& span_;
  Port& port_;
  job::Rank& self_;
  const int me_;
  const std::unique_ptr<State[]> states_;  // by target
  std::atomic<uint32_t> awaited_{0};       // of all
  std::atomic<bool> has_long_{false};      // any target
  std::atomic<int> shut_{0};               // targets whose queues have entries
  // Set by the member, cleared under lock_ (release) by end_fence().
  std::atomic<bool> is_fence_coming_{false};
  std::atomic<bool> has_failed_{false};
  // Never held while the net is called. A thread that has counted an answer no longer uses this
  // object or the rank when a waiter acquires it.
  Mutex lock_;
  std::optional<Failure> failure_ MPC_GUARDED_BY(lock_);
  Mutex types_lock_;  // not the net's lock: it is held while a type is sent
  // The most recently used one is last.
  std::list<KnownType> types_ MPC_GUARDED_BY(types_lock_);
};

}  // namespace mpc::rma
