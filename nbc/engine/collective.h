#pragma once
// Collective: a schedule in flight: counters of nodes, requests of messages, scratch memory.
//
// Role:      the state that nbc/engine/engine.cpp moves; kept in a pool per rank, so that a
//            blocking collective allocates nothing once its like has been run before.
// Users:     nbc/engine.
// Threads:   bind() and prepare() by the owning rank while nothing is in flight; afterwards
//            each field as it says.
// See also:  nbc/engine/engine.h (contract), docs/collectives.md (states).
//
//   kIdle --start()--> kRunning --last node--> kFinishing --> kDone
//   kFinishing: complete for the owner; whoever completed the last node still wakes the
//   waiter or calls the callback. The owner does not reuse or free the collective before kDone,
//   and after kDone (release) nobody else touches it.

#include <atomic>
#include <memory>
#include <vector>

#include "nbc/engine/engine.h"

namespace mpc::nbc {

class Collective;

// A node's counter, and its place in the list of nodes that are ready, or in the queue of its
// rank's progress thread.
struct NodeState : sched::ProgressItem {
  std::atomic<uint32_t> waiting{0};  // predecessors to come; used with two or more
  NodeId id = 0;
  Collective* owner = nullptr;
  NodeState* next_ready = nullptr;
  bool goes_up =
      false;  // what it waited for last was a reduction, or further from the root
};

// A send's or receive's request; the completion finds the node through it.
struct Message {
  msg::Request request;
  Collective* owner = nullptr;
  NodeId node = 0;
  // The reduction that was done together with the copy; kNoNode: none.
  NodeId fused = kNoNode;
};

enum CollectiveState : uint32_t { kIdle = 0, kRunning, kFinishing, kDone };

class Collective {
 public:
  explicit Collective(job::Rank& owner) noexcept : rank(&owner) {}
  Collective(const Collective&) = delete;
  Collective& operator=(const Collective&) = delete;
  ~Collective();

  // Makes room for the schedule and remembers the binding; the binding's spans are used as
  // they are. Errors: false if there is no memory.
  bool bind(const Schedule& s, const Binding& b);
  // The same with copies of the spans.
  bool bind_copy(std::shared_ptr<const Schedule> s, const Binding& b);
  // Counters as at the beginning.
  void prepare() noexcept;
  // Gives large memory back before the collective goes to the pool.
  void trim() noexcept;

  // What a place refers to.
  void* address(const Place& place) const noexcept {
    const auto base = place.slot == kScratch
                          ? reinterpret_cast<uintptr_t>(scratch)
                          : reinterpret_cast<uintptr_t>(binding.buffers[place.slot]);
    return reinterpret_cast<void*>(base + static_cast<uintptr_t>(place.offset));
  }
  const dt::Datatype& type(const Place& place) const noexcept;
  void fail(Errc error) noexcept;
  // Of all that the rank receives in it. Cost: the first time after a start, all nodes.
  int64_t received_bytes() const noexcept;

  // Read-only while in flight.
  job::Rank* rank;
  const Schedule* schedule = nullptr;
  const Node* nodes = nullptr;
  Binding binding;
  sched::Execution* waiter = nullptr;  // of a blocking call
  void (*on_complete)(void*) = nullptr;
  void* on_complete_argument = nullptr;
  std::byte* scratch = nullptr;
  NodeState* states = nullptr;
  Message* messages = nullptr;

  std::atomic<uint32_t> state{kIdle};
  std::atomic<uint32_t> sinks_left{0};
  std::atomic<bool> has_failed{false};
  mutable std::atomic<int64_t> received_bytes_{-1};  // not known yet
  msg::Status status;  // written by the first that fails; read after kDone
  Collective* next_free = nullptr;
  uint32_t trace_number = 0;         // of this start; 0: not traced
  const char* trace_call = nullptr;  // the MPI call that started it

 private:
  bool reserve(const Schedule& s);

  size_t node_capacity_ = 0, message_capacity_ = 0, scratch_capacity_ = 0;
  std::shared_ptr<const Schedule> kept_schedule_;
  std::vector<void*> kept_buffers_;
  std::vector<const dt::Datatype*> kept_types_;
};

}  // namespace mpc::nbc
