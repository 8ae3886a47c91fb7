#include "scheduler/task/queue.h"

namespace mpc::sched {

void TaskQueue::push(Task& task) noexcept {
  // The count comes first: a taker that sees the task in the inbox sees the count.
  if (task.allowed_ != nullptr)
    restricted_count_.fetch_add(1, std::memory_order_relaxed);
  inbox_.push(task, std::memory_order_seq_cst);
}

Task* TaskQueue::take(int worker) noexcept {
  if (looks_empty()) return nullptr;
  if (!lock_.try_lock()) return nullptr;
  Task* task = unlink(worker);
  if (task == nullptr && !inbox_.is_empty()) {
    drain_inbox();
    task = unlink(worker);
  }
  lock_.unlock();
  return task;
}

// Appends the inbox to the list, the oldest first.
void TaskQueue::drain_inbox() noexcept {
  // Release: a thread that sees the inbox empty sees the queue locked (may_have_work).
  Task* last = inbox_.take_newest_first(std::memory_order_acq_rel);
  Task* first = decltype(inbox_)::reversed(last);
  if (first == nullptr) return;
  if (head_.load(std::memory_order_relaxed) == nullptr)
    head_.store(first, std::memory_order_release);
  else
    tail_->next_ = first;
  tail_ = last;
}

Task* TaskQueue::unlink(int worker) noexcept {
  Task* before = nullptr;
  Task* task = head_.load(std::memory_order_relaxed);
  while (task != nullptr && !may_run(*task, worker)) {
    before = task;
    task = task->next_;
  }
  if (task == nullptr) return nullptr;
  if (task->allowed_ != nullptr)
    restricted_count_.fetch_sub(1, std::memory_order_relaxed);
  if (before == nullptr)
    // Release: a thread that sees the list empty sees that its taker is busy (TaskQueues::is_at_rest).
    head_.store(task->next_, std::memory_order_release);
  else
    before->next_ = task->next_;
  if (tail_ == task) tail_ = before;
  return task;
}

// The inbox first: a taker locks the queue before it empties the inbox, and fills the list before
// it unlocks the queue. So a thread that sees the inbox empty
// sees the queue locked, or sees the list.
bool TaskQueue::may_have_work() const noexcept {
  return !inbox_.is_empty(std::memory_order_seq_cst) ||
         lock_.is_locked(std::memory_order_acquire) ||
         head_.load(std::memory_order_acquire) != nullptr;
}

bool TaskQueue::may_have_work(int worker) noexcept {
  if (!may_have_work()) return false;
  if (!lock_.try_lock()) return true;
  drain_inbox();
  bool found = false;
  for (Task* task = head_.load(std::memory_order_relaxed); task != nullptr && !found;
       task = task->next_)
    found = may_run(*task, worker);
  lock_.unlock();
  return found;
}

}  // namespace mpc::sched
