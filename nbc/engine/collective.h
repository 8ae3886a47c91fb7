#pragma once
// Collective: a schedule in flight: counters of nodes, requests of messages, scratch memory.
//
// Role:      the state on which the units of nbc/engine operate; stored in a pool per rank, so that
//            a blocking collective allocates nothing once a similar one has run before.
// Users:     nbc/engine.
// Threads:   bind() and prepare() by the owning rank while nothing is in flight; afterwards
//            see each field.
// See also:  nbc/engine/engine.h (contract), docs/collectives.md (phases).
//
//   kIdle --start()--> kRunning --last node--> kFinishing --> kDone
// kFinishing: complete for the owner; the execution that completed the last node still wakes
// the waiter or calls the callback. The owner does not reuse or free the collective before
// kDone, and after kDone (release) no other execution touches it.

#include <atomic>
#include <memory>
#include <new>
#include <vector>

#include "nbc/engine/binding.h"
#include "runtime/job/rank.h"

namespace mpc::nbc {

struct Collective;
class RankEngine;

// A node's counter, and its link in the list of ready nodes or in the queue of its
// rank's progress thread.
struct NodeState : sched::ProgressItem {
  std::atomic<uint32_t> waiting{0};  // predecessors to come; used with two or more
  // Set when the node becomes ready:
  NodeId id = 0;
  Collective* owner = nullptr;
  NodeState* next_ready = nullptr;
  // The last predecessor was a reduction, or an edge of the tree further from the root.
  bool goes_up = false;
};

// The request of a send or receive; the completion finds the node through it.
struct Message {
  msg::Request request;
  Collective* owner = nullptr;
  NodeId node = 0;
  // The reduction that was done together with the copy; kNoNode: none.
  NodeId fused = kNoNode;
};

enum CollectivePhase : uint32_t { kIdle = 0, kRunning, kFinishing, kDone };

// An array that only grows; growing discards its content.
template <class T>
class Room {
 public:
  // False if there is no memory; the array is empty then.
  bool reserve(size_t count) noexcept {
    if (count <= capacity_) return true;
    items_.reset();
    items_.reset(new (std::nothrow) T[count]);
    capacity_ = items_ != nullptr ? count : 0;
    return items_ != nullptr;
  }
  // Frees the memory if it is larger than `most`.
  void trim(size_t most) noexcept {
    if (capacity_ <= most) return;
    items_.reset();
    capacity_ = 0;
  }
  T* data() const noexcept { return items_.get(); }
  T& operator[](size_t i) const noexcept { return items_[i]; }

 private:
  std::unique_ptr<T[]> items_;
  size_t capacity_ = 0;
};

// A cache line of scratch memory.
struct alignas(64) ScratchLine {
  std::byte bytes[64];
};

// A plain struct: the units of nbc/engine operate on it.
struct Collective {
  Collective(job::Rank& owner, RankEngine& home) noexcept
      : rank(&owner), engine(&home) {}
  Collective(const Collective&) = delete;
  Collective& operator=(const Collective&) = delete;

  // Makes room for the schedule and stores the binding; the binding's spans are not copied.
  // False if there is no memory.
  bool bind(const Schedule& s, const Binding& b) noexcept;
  // The same with copies of the spans.
  bool bind_copy(std::shared_ptr<const Schedule> s, const Binding& b) noexcept;
  // Resets the counters.
  void prepare() noexcept;
  // Frees large memory before the collective is returned to the pool.
  void trim() noexcept;

  // The memory that `ref` names.
  void* address(const BufferRef& ref) const noexcept {
    const auto base = ref.slot == kScratch
                          ? reinterpret_cast<uintptr_t>(scratch.data())
                          : reinterpret_cast<uintptr_t>(binding.buffers[ref.slot]);
    return reinterpret_cast<void*>(base + static_cast<uintptr_t>(ref.offset));
  }
  const dt::Datatype& type(const BufferRef& ref) const noexcept;
  void fail(Errc error) noexcept;
  // All bytes that the rank receives in this collective. Cost:
  // at the first call after bind(), all nodes.
  int64_t received_bytes() const noexcept;

  // Read-only while in flight.
  job::Rank* rank;
  RankEngine* engine;  // the rank's
  const Schedule* schedule = nullptr;
  const Node* nodes = nullptr;
  Binding binding;
  // The execution that waits in a blocking call; null: the call has returned.
  sched::Execution* waiter = nullptr;
  void (*on_complete)(void*) = nullptr;
  void* on_complete_argument = nullptr;
  Room<ScratchLine> scratch;
  Room<NodeState> states;
  Room<Message> messages;

  std::atomic<uint32_t> phase{kIdle};
  std::atomic<uint32_t> sinks_left{0};
  std::atomic<bool> has_failed{false};
  // A process has died, and a message will never come: nothing is sent on, so that no rank takes
  // the present content for the right data. Relaxed: it is set before the nodes that follow run.
  std::atomic<bool> is_broken{false};
  mutable std::atomic<int64_t> known_received_bytes{-1};  // -1: not counted yet
  msg::Status status;  // written by the first node that fails; read after kDone
  Collective* next_free = nullptr;
  uint32_t trace_number = 0;         // of this start; 0: not traced
  const char* trace_call = nullptr;  // the MPI call that started it

  // The copies that bind_copy() made.
  std::shared_ptr<const Schedule> kept_schedule;
  std::vector<void*> kept_buffers;
  std::vector<const dt::Datatype*> kept_types;
};

}  // namespace mpc::nbc
