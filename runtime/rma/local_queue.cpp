#include "runtime/rma/local_queue.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "runtime/message/control.h"
#include "runtime/rma/lock_lines.h"
#include "runtime/rma/port.h"
#include "runtime/rma/queue_limits.h"

namespace mpc::rma {

// ---- entries -----------------------------------------------------------------------------------

LocalQueue::~LocalQueue() {
  CHECK(awaited_.load(std::memory_order_acquire) == 0,
        "a window ends while its member's operations wait");
  // The thread that has removed the last entry may be the net's, and come to no meeting of the members.
  const Locked after_the_last_entry(lock_);
}

bool LocalQueue::is_empty(int target) {
  if (is_empty()) return true;
  const Locked lock(lock_);
  const auto found = states_.find(target);
  return found == states_.end() || found->second.entries.empty();
}

void LocalQueue::push_locked(State& its, Entry entry) {
  its.copied_bytes += entry.operation.copied_bytes;
  its.entries.push_back(std::move(entry));
  its.awaited.fetch_add(1, std::memory_order_relaxed);
  awaited_.fetch_add(1, std::memory_order_seq_cst);  // partner: note_post()
}

// Ends the first entry. True: it was the last one.
bool LocalQueue::pop(State& its) {
  const Entry done = std::move(its.entries.front());
  its.entries.pop_front();
  its.copied_bytes -= done.operation.copied_bytes;
  const bool is_last = its.entries.empty();
  if (is_last) its.is_running = false;
  // Release pairs with is_empty(), wait_for_zero() and tests of a request: what was done.
  if (done.is_over != nullptr) done.is_over->store(true, std::memory_order_release);
  its.awaited.fetch_sub(1, std::memory_order_seq_cst);
  awaited_.fetch_sub(1, std::memory_order_seq_cst);
  // seq_cst: either it is seen here that somebody waits, or that one sees the new number.
  if (done.is_over != nullptr || waiters_.load(std::memory_order_seq_cst) != 0)
    msg::notify(self_);
  return is_last;
}

// Is what the first entry waits for there? It is taken then.
bool LocalQueue::may_pass(int target, State& its) {
  if (its.entries.front().what == What::kLock)
    return std::exchange(its.is_granted, false);
  return share_.target(me_).posts.take(target);
}

// ---- the thread that lets them in --------------------------------------------------------------

void LocalQueue::run(int target, State& its) {
  for (;;) {
    Entry* first = nullptr;
    {
      const Locked lock(lock_);
      first = &its.entries.front();
      if (first->is_marker()) {
        if (!may_pass(target, its)) {
          its.is_running = false;
          return;
        }
        if (pop(its)) return;
        continue;
      }
    }
    if (first->what == What::kComplete)
      share_.target(target).note_completed();
    else
      first->operation.run();
    const Locked lock(lock_);
    if (pop(its)) return;
  }
}

void LocalQueue::let_in(int target, What what) {
  State* its = nullptr;
  {
    const Locked lock(lock_);
    const auto found = states_.find(target);
    if (found == states_.end()) return;
    its = &found->second;
    if (its->entries.empty() || its->is_running || its->entries.front().what != what)
      return;
    its->is_running = true;
  }
  run(target, *its);
}

void LocalQueue::note_grant(int target) {
  {
    const Locked lock(lock_);
    state(target).is_granted = true;
    msg::notify(self_);  // it may wait for the end of a line
  }
  let_in(target, What::kLock);
}

// ---- locks ---------------------------------------------------------------------------------------

class LocalQueue::Asked final : public LockWaiter {
 public:
  Asked(LocalQueue& queue, int target, LockType wanted) noexcept
      : LockWaiter(wanted, queue.me_),
        queue_(queue),
        target_(target),
        line_(sched::Execution::self()) {}
  void granted() noexcept override {
    for (const lock_lines::Request& request : lock_lines::end(line_))
      request.port->send(request.to, request.packet);
    queue_.note_grant(target_);
    delete this;
  }

 private:
  LocalQueue& queue_;
  const int target_;
  const sched::Execution& line_;
};

void LocalQueue::lock(int target, LockType type) {
  auto* const asked = new Asked(*this, target, type);
  {
    const Locked lock(lock_);
    push_locked(state(target), {.what = What::kLock});
  }
  lock_lines::begin(type, sched::Execution::self());
  if (share_.target(target).lock.lock_or_queue(*asked)) asked->granted();
}

// ---- post and start ------------------------------------------------------------------------------

bool LocalQueue::start(int target) {
  PostBoard& board = share_.target(me_).posts;
  // Only a marker of an earlier epoch would let another thread take a post.
  if (is_empty() && board.take(target)) return true;
  {
    const Locked lock(lock_);
    State& its = state(target);
    if (its.entries.empty() && board.take(target)) return true;
    push_locked(its, {.what = What::kPost});
  }
  let_in(target, What::kPost);  // if it has come meanwhile
  return is_empty(target);
}

bool LocalQueue::is_little(const State& its) noexcept {
  return its.copied_bytes <= kMostCopiedBytes && its.entries.size() <= kMostEntries &&
         std::ranges::all_of(its.entries, [](const Entry& entry) {
           return entry.what != What::kOperation || entry.operation.is_copied;
         });
}

void LocalQueue::complete(int target, const sched::WaitReason& why) {
  {
    const Locked lock(lock_);
    State& its = state(target);
    if (!its.entries.empty() && is_little(its))
      return push_locked(its, {.what = What::kComplete});
  }
  settle(target, why);
  share_.target(target).note_completed();
}

// ---- operations ----------------------------------------------------------------------------------

bool LocalQueue::must_settle(int target) {
  const Locked lock(lock_);
  return must_wait_for(state(target).entries);
}

void LocalQueue::push(int target, LocalOperation operation, IsOver* later) {
  {
    const Locked lock(lock_);
    State& its = state(target);
    if (!its.entries.empty()) {
      Entry entry{.what = What::kOperation, .operation = std::move(operation)};
      if (later != nullptr)
        *later = entry.is_over = std::make_shared<std::atomic<bool>>(false);
      return push_locked(its, std::move(entry));
    }
  }
  operation.run();
}

// ---- waiting -------------------------------------------------------------------------------------

void LocalQueue::wait_for_zero(const std::atomic<uint32_t>& count,
                               const sched::WaitReason& why) {
  waiters_.fetch_add(1, std::memory_order_seq_cst);
  msg::wait_for_control(
      self_,
      [](void* awaited) {
        return static_cast<const std::atomic<uint32_t>*>(awaited)->load(
                   std::memory_order_seq_cst) == 0;
      },
      const_cast<std::atomic<uint32_t>*>(&count), why);
  waiters_.fetch_sub(1, std::memory_order_relaxed);
  const Locked after_the_last_entry(lock_);
}

void LocalQueue::settle(int target, const sched::WaitReason& why) {
  const std::atomic<uint32_t>* awaited = nullptr;
  {
    const Locked lock(lock_);
    awaited = &state(target).awaited;
  }
  wait_for_zero(*awaited, why);
}

void LocalQueue::settle_all(const sched::WaitReason& why) {
  wait_for_zero(awaited_, why);
}

Wants LocalQueue::wants(int target) {
  if (is_empty()) return Wants::kNothing;
  const Locked lock(lock_);
  const auto found = states_.find(target);
  if (found == states_.end() || found->second.entries.empty()) return Wants::kNothing;
  switch (found->second.entries.front().what) {
    case What::kLock:
      return Wants::kLock;
    case What::kPost:
      return Wants::kPost;
    case What::kOperation:
    case What::kComplete:
      break;
  }
  return Wants::kNothing;
}

}  // namespace mpc::rma
