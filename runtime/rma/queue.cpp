// Operations that wait for a lock or a post of a target in another process, and the epochs of MPI_Win_start.
//
// The thread that sends the first entries (is_running) is the only one that uses them meanwhile; others add at the end.
// It keeps the lock only to look and to remove, never while it sends. Each entry counts as awaited, so the member does
// not free the window before the last one is removed, and after that the thread does not touch this object any more.

#include <utility>

#include "runtime/message/control.h"
#include "runtime/rma/remote_access.h"

namespace mpc::rma {

// ---- entries -----------------------------------------------------------------------------------

namespace {

Wants wanted_by(Queue::What what) noexcept {
  switch (what) {
    case Queue::What::kLock:
      return Wants::kLock;
    case Queue::What::kPost:
      return Wants::kPost;
    case Queue::What::kFence:
      return Wants::kFence;
    case Queue::What::kOperation:
    case Queue::What::kComplete:
      break;
  }
  return Wants::kNothing;
}

}  // namespace

void RemoteAccess::push(int target, Queue::Entry entry) {
  State& its = state(target);
  if (its.queue == nullptr) its.queue = std::make_unique<Queue>();
  if (its.queue->entries.empty()) {
    // Own marks: until the last entry has been sent only this member looks at them.
    its.is_shut.store(true, std::memory_order_relaxed);
    shut_.fetch_add(1, std::memory_order_relaxed);
    its.wants.store(wanted_by(entry.what), std::memory_order_relaxed);
  }
  if (entry.what == Queue::What::kFence) its.queue->has_fence = true;
  its.queue->entries.push_back(std::move(entry));
  its.awaited.fetch_add(1, std::memory_order_relaxed);
  awaited_.fetch_add(1, std::memory_order_relaxed);
}

bool RemoteAccess::pop(int target) {
  State& its = state(target);
  Queue& queue = *its.queue;
  const Queue::Entry done = std::move(queue.entries.front());
  queue.entries.pop_front();
  queue.copied_bytes -= done.copied_bytes;
  if (done.what == Queue::What::kFence) queue.has_fence = false;
  const bool is_last = queue.entries.empty();
  if (is_last) {
    queue.is_running = false;
    // Release pairs with issue(), and with those that settle.
    its.is_shut.store(false, std::memory_order_release);
    shut_.fetch_sub(1, std::memory_order_release);
  }
  note_end_locked(target, done.is_over.get());
  return is_last;
}

bool RemoteAccess::enqueue(Outgoing& operation, IsOver* later) {
  const int target = operation.head.target;
  const Locked lock(lock_);
  const std::unique_ptr<Queue>& queue = state(target).queue;
  // Under the lock: if there is a fence, end_fence() finds the marker.
  if (is_fence_coming_.load(std::memory_order_relaxed)) {
    if (queue == nullptr || !queue->has_fence)
      push(target, {.what = Queue::What::kFence});
  } else if (queue == nullptr || queue->entries.empty()) {
    return false;  // meanwhile
  }
  IsOver is_over;
  if (later != nullptr) *later = is_over = std::make_shared<std::atomic<bool>>(false);
  if (operation.has_answer())
    operation.answer.is_over = std::exchange(is_over, nullptr);
  dt::TypeRef origin_type(operation.origin.type);
  Queue::Entry entry{.what = Queue::What::kOperation,
                     .operation = std::move(operation),
                     .origin_type = std::move(origin_type),
                     .is_over = std::move(is_over)};
  copy_if_little(*queue, entry);
  push(target, std::move(entry));
  return true;
}

// ---- sending -----------------------------------------------------------------------------------

// May what is behind the first entry be sent?
bool RemoteAccess::may_pass(int target, const Queue::Entry& first) {
  State& its = state(target);
  bool is_there = true;
  if (first.what == Queue::What::kLock)
    is_there = std::exchange(its.queue->is_granted, false);
  else if (first.what == Queue::What::kPost)
    is_there = share_.target(me_).posts.take(target);
  else if (first.what == Queue::What::kFence)
    is_there = !is_fence_coming_.load(std::memory_order_relaxed);  // under the lock
  its.wants.store(is_there ? Wants::kNothing : wanted_by(first.what),
                  std::memory_order_relaxed);
  return is_there;
}

// False: there is no room, and run_queue() will be called again.
bool RemoteAccess::send_queued(int target, Queue::Entry& entry) {
  if (entry.what == Queue::What::kComplete) {
    port_.send(process_of(target), packet(Verb::kComplete, target));
    return true;
  }
  Outgoing& op = entry.operation;
  while (!op.is_sent()) {
    const Part part = next_part(op);
    if (!port_.take_room_or_later(process_of(target), charge_of(part), *this, target))
      return false;
    send_part(op, part);
  }
  // pop() makes it visible.
  if (!op.has_answer()) state(target).is_dirty.store(true, std::memory_order_relaxed);
  return true;
}

void RemoteAccess::run_queue(int target) {
  for (;;) {
    Queue::Entry* first = nullptr;
    bool is_marker = false;
    {
      const Locked lock(lock_);
      Queue& queue = *state(target).queue;
      first = &queue.entries.front();
      is_marker = first->is_marker();
      if (is_marker) {
        if (!may_pass(target, *first)) {
          queue.is_running = false;
          return;
        }
        if (pop(target)) return;
      }
    }
    if (is_marker) continue;
    if (!send_queued(target, *first)) return;
    const Locked lock(lock_);
    if (pop(target)) return;
  }
}

// ---- grants ------------------------------------------------------------------------------------

void RemoteAccess::note_grant(int target) {
  {
    const Locked lock(lock_);
    Queue& queue = *state(target).queue;
    queue.is_granted = true;
    msg::notify(self_);  // it may wait for the end of a line
    if (queue.is_running || queue.entries.front().what != Queue::What::kLock) return;
    queue.is_running = true;
  }
  run_queue(target);
}

bool RemoteAccess::note_post(int target) {
  const Locked lock(lock_);
  const std::unique_ptr<Queue>& queue = state(target).queue;
  if (queue == nullptr || queue->entries.empty() || queue->is_running ||
      queue->entries.front().what != Queue::What::kPost)
    return false;
  queue->is_running = true;
  return true;
}

// ---- fence -----------------------------------------------------------------------------------------

void RemoteAccess::begin_fence() {
  is_fence_coming_.store(true, std::memory_order_relaxed);
}

void RemoteAccess::end_fence() {
  std::vector<int> waiting;
  {
    const Locked lock(lock_);
    for (int target = 0; target < share_.size(); ++target) {
      const std::unique_ptr<Queue>& queue = state(target).queue;
      if (queue == nullptr || queue->entries.empty() || queue->is_running ||
          queue->entries.front().what != Queue::What::kFence)
        continue;
      queue->is_running = true;
      waiting.push_back(target);
    }
    // Release pairs with issue() and await_fence(). Nothing is done with this object after the last entry.
    is_fence_coming_.store(false, std::memory_order_release);
    msg::notify(self_);
  }
  for (const int target : waiting) run_queue(target);
}

// ---- post and start ------------------------------------------------------------------------------

// Under the lock: either the post is seen here, or note_post() sees the entry.
void RemoteAccess::start(int target) {
  const Locked lock(lock_);
  const std::unique_ptr<Queue>& queue = state(target).queue;
  const bool is_open = queue == nullptr || queue->entries.empty();
  if (is_open && share_.target(me_).posts.take(target)) return;
  push(target, {.what = Queue::What::kPost});
}

void RemoteAccess::complete(int target, const sched::WaitReason& why) {
  State& its = state(target);
  // Errors that a target of a dynamic window finds are reported only by a flush.
  const bool is_dynamic = share_.target(target).memory.is_dynamic();
  if (its.is_shut.load(std::memory_order_acquire) && !is_dynamic) {
    const Locked lock(lock_);
    Queue& queue = *its.queue;
    if (!queue.entries.empty() && !queue.is_running && copy_queued(queue)) {
      push(target, {.what = Queue::What::kComplete});
      return;
    }
  }
  // It arrives there after the puts.
  if (is_dynamic)
    flush(target, why);
  else
    settle(target, why);
  port_.send(process_of(target), packet(Verb::kComplete, target));
}

}  // namespace mpc::rma
