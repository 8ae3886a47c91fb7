#include "scheduler/task/queue.h"

namespace mpc::sched {

void TaskQueue::push(Task& task) noexcept {
  // Counted first: who sees the task in the inbox sees the count.
  if (task.allowed_ != nullptr)
    restricted_count_.fetch_add(1, std::memory_order_relaxed);
  Task* top = inbox_.load(std::memory_order_relaxed);
  do {
    task.next_ = top;
    // Release for the acquire in drain_inbox(); pushers only add and takers take everything,
    // so there is no ABA.
  } while (!inbox_.compare_exchange_weak(top, &task, std::memory_order_seq_cst,
                                         std::memory_order_relaxed));
}

Task* TaskQueue::take(int worker) noexcept {
  if (looks_empty()) return nullptr;
  // Acquire pairs with the release below: the list is the previous taker's work.
  if (locked_.exchange(true, std::memory_order_acquire)) return nullptr;
  Task* task = unlink(worker);
  if (task == nullptr && inbox_.load(std::memory_order_relaxed) != nullptr) {
    drain_inbox();
    task = unlink(worker);
  }
  locked_.store(false, std::memory_order_release);
  return task;
}

// Appends the inbox to the list, the oldest first. Caller: holds locked_.
void TaskQueue::drain_inbox() noexcept {
  Task* newest = inbox_.exchange(nullptr, std::memory_order_acq_rel);
  Task* last = newest;
  Task* first = nullptr;
  while (newest != nullptr) {
    Task* next = newest->next_;
    newest->next_ = first;
    first = newest;
    newest = next;
  }
  if (first == nullptr) return;
  if (head_.load(std::memory_order_relaxed) == nullptr)
    head_.store(first, std::memory_order_release);
  else
    tail_->next_ = first;
  tail_ = last;
}

// Caller: holds locked_.
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
    // Release: who sees the list empty sees that its taker is busy (TaskQueues::is_at_rest).
    head_.store(task->next_, std::memory_order_release);
  else
    before->next_ = task->next_;
  if (tail_ == task) tail_ = before;
  return task;
}

// The inbox first: a taker sets locked_ before it empties the inbox, and fills the list before
// it clears locked_. So whoever sees the inbox emptied sees it locked, or sees the list.
bool TaskQueue::may_have_work() const noexcept {
  return inbox_.load(std::memory_order_seq_cst) != nullptr ||
         locked_.load(std::memory_order_acquire) ||
         head_.load(std::memory_order_acquire) != nullptr;
}

bool TaskQueue::may_have_work(int worker) noexcept {
  if (!may_have_work()) return false;
  if (locked_.exchange(true, std::memory_order_acquire)) return true;
  drain_inbox();
  bool found = false;
  for (Task* task = head_.load(std::memory_order_relaxed); task != nullptr && !found;
       task = task->next_)
    found = may_run(*task, worker);
  locked_.store(false, std::memory_order_release);
  return found;
}

}  // namespace mpc::sched
