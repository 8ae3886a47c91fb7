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

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "runtime/rma/accumulate.h"
#include "runtime/rma/port.h"
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
  // As many bytes (elements) of the origin are read or filled as the spot has. Accumulates
  // may use their buffers again at once; the others when their target is settled, or when
  // `is_over`, if it is not null, has become true. A put that is sent at once leaves `later` null.
  // Switches: if there is no room on the way.
  using IsOver = std::shared_ptr<std::atomic<bool>>;
  void put(const Spot& spot, const Buffer& origin, const sched::WaitReason& why,
           IsOver* later = nullptr);
  void get(const Spot& spot, const Buffer& origin, const sched::WaitReason& why,
           IsOver is_over = nullptr);
  // `origin.type` is null for MPI_NO_OP; `result` is null for an accumulate.
  void accumulate(uint32_t op_code, const dt::Datatype& element, const Spot& spot,
                  const Buffer& origin, const Buffer* result,
                  const sched::WaitReason& why, IsOver is_over = nullptr);
  void compare_and_swap(const Spot& spot, const void* origin, const void* expected,
                        void* result, const sched::WaitReason& why);

  // --- locks, posts ---
  void lock(int target, LockType type, const sched::WaitReason& why);  // switches
  void unlock(int target, LockType type);
  void post(int origin);
  void complete(int target);

  // --- ends ---
  // Afterwards the operations under way to the target have
  // been done there, and their results have come.
  // Switches: yes.
  void flush(int target, const sched::WaitReason& why);
  void flush_all(const sched::WaitReason& why);
  // Afterwards all data expected from the target have come: buffers belong to the caller.
  void settle(int target, const sched::WaitReason& why);
  void settle_all(const sched::WaitReason& why);
  // The same, only if a long put or get may be under way: the order of packets says nothing of it.
  void settle_long(int target, const sched::WaitReason& why);
  void settle_all_long(const sched::WaitReason& why);
  // The first failure since the last call.
  std::optional<Failure> take_failure();

  // --- called by the net ---
  void note_end(int target, std::atomic<bool>* is_over) override;
  void note_failure(const Packet& packet) override;

 private:
  // The state of each target.
  struct State {
    std::atomic<uint32_t> awaited{0};   // answers
    std::atomic<bool> is_dirty{false};  // a put or an accumulate may not be done yet
    std::atomic<bool> has_long{false};  // a long put or get may not be done yet
  };
  // A datatype that other processes know by a number.
  struct KnownType {
    dt::TypeRef type;  // so that its address stays its own
    uint64_t number = 0;
    std::vector<bool> by_process = {};  // processes that know it
    int users = 0;                      // operations that are being sent
  };
  static constexpr size_t kKnownTypes = 8;  // chosen: a loop seldom uses more
  // While it lives the type stays known.
  class TypeUse {
   public:
    TypeUse(RemoteAccess& access, const dt::Datatype& type, int target,
            const sched::WaitReason& why);
    ~TypeUse();
    TypeUse(const TypeUse&) = delete;
    uint64_t number() const noexcept { return number_; }

   private:
    RemoteAccess& access_;
    KnownType* known_ = nullptr;
    uint64_t number_;
  };

  State& state(int target) noexcept { return states_[static_cast<size_t>(target)]; }
  int process_of(int target) const noexcept;
  Packet packet(Verb verb, int target) const noexcept;
  // Null: the process does not know it. Counts a user.
  KnownType* use_type(const dt::Datatype& type, int process) MPC_REQUIRES(types_lock_);
  KnownType& add_type(const dt::Datatype& type) MPC_REQUIRES(types_lock_);
  void drop_type(const KnownType& known);
  // Sends a part with its data; `fill` writes them.
  template <class Fill>
  void send(const Packet& part, size_t bytes, size_t reply_bytes,
            const sched::WaitReason& why, Fill&& fill);
  uint64_t await(Pending pending);
  void note_long(int target) noexcept;
  void put_long(const Packet& put, const Buffer& origin, const sched::WaitReason& why,
                IsOver* later);
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
  std::atomic<bool> has_failed_{false};
  // A thread that has counted an answer no longer uses this
  // object or the rank when a waiter acquires it.
  Mutex lock_;
  std::optional<Failure> failure_ MPC_GUARDED_BY(lock_);
  Mutex types_lock_;  // not the net's lock: it is held while a type is sent
  // The most recently used one is last.
  std::list<KnownType> types_ MPC_GUARDED_BY(types_lock_);
};

}  // namespace mpc::rma
