#pragma once
// Port: one process's end of the windows that span processes.
//
// Role:      sends packets to other processes, serves theirs at the targets
//            that live here, and passes answers to the executions that wait
//            for them. It finds windows, operations under way and
// datatypes by their numbers.
// Users:     runtime/rma; mpi/objects/rank_life calls listen().
// Threads:   arrive() by the net, one at a time; the others any.
// See also:  runtime/rma/remote_access.h (the origin's side), serve.cpp (the target's),
//            transfers.cpp (long data);
//            docs/design/0031-windows-between-processes.md.
//
// A packet that takes room is charged by its origin's process until the other process has processed
// it; requested data are charged until they have come. An origin that finds no room waits. No
// target ever waits, so room comes back whatever ranks do, and the memory in use is bounded for
// each pair of processes.

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "runtime/datatype/datatype.h"
#include "runtime/job/neighbours.h"
#include "runtime/job/process_map.h"
#include "runtime/job/rank.h"
#include "runtime/message/control.h"
#include "runtime/rma/packet.h"
#include "scheduler/execution.h"

namespace mpc::rma {

class WindowShare;

// The origin's end of a member of a window: answers go to it. Caller: the net.
class OriginEnd {
 public:
  virtual void note_end(int target, std::atomic<bool>* is_over) = 0;
  virtual void note_failure(const Packet& packet) = 0;
  // The lock that was asked for is held.
  virtual void note_grant(int target) = 0;
  // The target has posted. True: operations wait for that, and run_queue() is wanted.
  virtual bool note_post(int target) = 0;
  // Sends what waits. Afterwards the object may be gone.
  virtual void run_queue(int target) = 0;

 protected:
  ~OriginEnd() = default;
};

// The state of an operation that awaits an answer.
struct Pending {
  OriginEnd* access = nullptr;
  int target = 0;  // the target of the operation; -1: several
  // For an operation that awaits data: where they go, and how many bytes are missing.
  void* base = nullptr;
  dt::TypeRef type = {};
  Count count = 0;
  // Null: they come as packed bytes; else as these elements.
  const dt::Datatype* element = nullptr;
  uint64_t left = 0;
  // Completion flag of its request, or null.
  std::shared_ptr<std::atomic<bool>> is_over = {};
  int parts =
      1;  // a long put ends when its buffer is free, and when its target has answered
  // Of a lock: whose it is, in lock_lines.
  const sched::Execution* line = nullptr;
};
// Stores data that have come for it: from byte, or element, `offset` of the whole on.
void deposit(const Pending& pending, uint64_t offset,
             std::span<const std::byte> data) noexcept;

class Port {
 public:
  // The port of a process in this address space. It exists until the next listen(). Where members of several jobs
  // share a window the process has another port, under the number that it has there (runtime/job/neighbours.h);
  // it exists as long as the process.
  static Port& of(int process);
  // Called before the network of a job of several processes
  // is opened. The map outlives the network.
  static void listen(const job::ProcessMap& map);

  // `first_window`: where the numbers of its windows begin.
  Port(int process, int processes, uint64_t first_window = 0);
  int process() const noexcept { return process_; }
  // Processes that this one may have windows with have indexes below this.
  int processes() const noexcept { return processes_; }
  static size_t index_of(int process) noexcept {
    return static_cast<size_t>(job::neighbours::index_of_process(process));
  }
  int process_at(size_t index) const noexcept;

  // --- windows ---
  // Unique among all processes of the job, or of the jobs that are connected, and never used again.
  uint64_t new_window() noexcept {
    return (static_cast<uint64_t>(process_) + 1) << 40 |
           last_window_.fetch_add(1, std::memory_order_relaxed);
  }
  void add_window(uint64_t window, std::weak_ptr<WindowShare> share);
  void remove_window(uint64_t window) noexcept;
  // For a member that lives here.
  void add_access(uint64_t window, int member, OriginEnd& access);
  void remove_access(uint64_t window, int member) noexcept;

  // --- sending ---
  // Sends `packet` followed by `data`. Order: as send_control().
  void send(int to, const Packet& packet, std::span<const std::byte> data = {});
  // A buffer for a packet and the `bytes` that follow it, and the function that sends it.
  class Parcel {
   public:
    explicit Parcel(size_t bytes);
    std::byte* data() noexcept { return bytes_ + sizeof(Packet); }

   private:
    friend class Port;
    static constexpr size_t kInline = 512;
    alignas(16) std::byte inline_[kInline];
    std::unique_ptr<std::byte[]> large_;
    std::byte* bytes_;
    size_t size_;
  };
  void send(int to, const Packet& packet, Parcel& parcel);

  // --- room ---
  // The charge for a message of so many bytes.
  static size_t charge_of(size_t message_bytes) noexcept;
  // Waits until so many bytes may be on their way to that process. Switches: yes.
  void take_room(int to, size_t bytes, job::Rank& self, const sched::WaitReason& why);
  // The same for a thread that must not wait. False: access.run_queue(target) is called when some room has come back.
  bool take_room_or_later(int to, size_t bytes, OriginEnd& access, int target);

  // A number for a datatype of this process in other processes.
  uint64_t new_type() noexcept {
    return kFirstTypeNumber + last_type_.fetch_add(1, std::memory_order_relaxed);
  }

  // --- operations that await an answer ---
  uint64_t add_pending(Pending pending);

  // --- long operations: transfers.cpp ---
  // May it be one? Its data are then fetched from memory.
  static bool is_long(size_t bytes) noexcept;
  // The data of a kLongPut that has been sent, or is about to be. The buffer is the net's until the
  // operation is over. Caller: any without locks.
  void offer_put(int to, const Packet& packet, const void* base,
                 const dt::Datatype& type, Count count);

  // --- called by the net ---
  void arrive(int from, std::span<const std::byte> message) noexcept;
  void take_offer(const msg::ControlOffer& offer) noexcept;
  // Also for a lock that was waited for.
  void answer(int to, uint64_t ticket);
  // A connection with this process has begun, perhaps with another one than before; nothing has arrived yet.
  void begin_peer(int process) noexcept;

 private:
  struct Window {
    std::weak_ptr<WindowShare> share;
    std::map<int, OriginEnd*> accesses;
  };
  struct LongPut;  // at its target: transfers.cpp
  // The state for another process.
  struct Link {
    std::atomic<uint64_t> on_its_way{0};
    Mutex lock;
    std::vector<job::Rank*> waiting MPC_GUARDED_BY(lock);
    // Whose queues have found no room; each has something in its queue, and so exists.
    struct Stalled {
      OriginEnd* access;
      int target;
      uint64_t number;
    };
    std::vector<Stalled> stalled MPC_GUARDED_BY(lock);
    uint64_t last_stalled MPC_GUARDED_BY(lock) = 0;
    // Only for the net's thread.
    uint64_t worked_off = 0;
    std::unordered_map<uint64_t, dt::TypeRef> types;
    // Long puts from there by ticket: what has come of them, if the other half has not. Shared, because only
    // transfers.cpp knows the type.
    std::unordered_map<uint64_t, std::shared_ptr<LongPut>> puts;
    std::unordered_map<uint64_t, msg::ControlOffer> offers;
  };
  struct Operation;  // a packet at its target: serve.cpp
  Link& link(int process) noexcept { return links_[index_of(process)]; }
  bool try_room(Link& link, size_t bytes) noexcept;
  void give_room_back(Link& link, size_t bytes) noexcept;
  void note_worked_off(int from, size_t bytes);
  std::shared_ptr<WindowShare> find_window(uint64_t window);
  dt::TypeRef find_type(int from, uint64_t number);
  void end_operation(uint64_t ticket);
  void pass_post_on(const Packet& packet);
  static void end_at_origin(msg::ControlTransfer& self, transport::Outcome) noexcept;

  void serve(int from, const Packet& packet, std::span<const std::byte> data);
  void serve_operation(const Operation& op);
  void serve_long(const Operation& op, std::shared_ptr<WindowShare> share, Fit fit);
  void take_put(LongPut& put, const msg::ControlOffer& offer);
  void put(const Operation& op);
  void get(const Operation& op);
  void accumulate(const Operation& op);
  void compare_and_swap(const Operation& op);
  void lock(int from, const Packet& packet, std::shared_ptr<WindowShare> share);
  void fail(int from, const Packet& packet, Fit fit);
  void take_data(int from, const Packet& packet, std::span<const std::byte> data);
  void take_failure(const Packet& packet);

  const int process_, processes_;
  std::atomic<uint64_t> last_window_{0}, last_type_{0};
  const std::unique_ptr<Link[]> links_;  // by process

  Mutex lock_;  // never held while the net is called
  std::unordered_map<uint64_t, Window> windows_ MPC_GUARDED_BY(lock_);
  std::unordered_map<uint64_t, Pending> pending_ MPC_GUARDED_BY(lock_);
  uint64_t last_ticket_ MPC_GUARDED_BY(lock_) = 0;
};

}  // namespace mpc::rma
