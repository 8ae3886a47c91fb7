#include "scheduler/worker.h"

#include <algorithm>

#include "base/check.h"
#include "scheduler/annotate.h"
#include "scheduler/poll/wake_set.h"
#include "scheduler/spin.h"

namespace mpc::sched {

// ---- run queue and inbox -----------------------------------------------------------------

void Worker::append(Ult& ult) noexcept {
  ult.next = nullptr;
  if (head_.load(std::memory_order_relaxed) == nullptr)
    head_.store(&ult, std::memory_order_relaxed);
  else
    tail_->next = &ult;
  tail_ = &ult;
}

// Of very many threads none is in a cache when its turn comes, and where it was suspended is found
// step by step. `next` was asked for one turn ago, so its stack can be; then the one after it.
void Worker::fetch_ahead(const Ult& next) noexcept {
  constexpr uintptr_t kLine = 64,
                      kLines = 6;  // from registers to the frame that parked
  const auto stack = reinterpret_cast<uintptr_t>(next.fiber.sp);
  for (uintptr_t line = 0; line < kLines; ++line)
    __builtin_prefetch(reinterpret_cast<const void*>(stack + line * kLine));
  __builtin_prefetch(reinterpret_cast<const void*>(next.fiber.fs));
  if (next.next != nullptr) {
    __builtin_prefetch(&next.next->fiber);
    __builtin_prefetch(next.next);
  }
}

Ult* Worker::take_oldest() noexcept {
  Ult* ult = head_.load(std::memory_order_relaxed);
  if (ult == nullptr) return nullptr;
  Ult* const next = ult->next;
  head_.store(next, std::memory_order_relaxed);
  if (next != nullptr) fetch_ahead(*next);
  return ult;
}

void Worker::push_local(Ult& ult) noexcept {
  QueueLock lock(*this);
  append(ult);
}

Ult* Worker::pop() noexcept {
  if (!inbox_.is_empty()) drain_inbox();
  if (next_deadline_ns() != kNever) fire_timers();
  if (head_.load(std::memory_order_relaxed) == nullptr) return nullptr;
  QueueLock lock(*this);
  return take_oldest();
}

Ult* Worker::steal(Worker& victim) noexcept {
  if (!victim.has_ready()) return nullptr;
  // A victim that computes does not look at its inbox: empty it. The exchange takes the whole
  // stack, so any number of takers is safe.
  victim.drain_inbox();
  Ult* ult = nullptr;
  {
    QueueLock lock(victim);
    ult = victim.take_oldest();
  }
  // While we carried the inbox over, its owner may have found nothing and gone to sleep, and
  // the pusher had seen it awake. This read-modify-write and the exchange in sleep() are
  // ordered: if ours is first, the owner's one acquires our stores to head_; else we see 1.
  if (victim.sleeping_.fetch_add(0, std::memory_order_seq_cst) != 0 &&
      victim.has_ready())
    victim.wake();
  return ult;
}

Ult* Worker::take_movable() noexcept {
  drain_inbox();
  QueueLock lock(*this);
  Ult* before = nullptr;
  for (Ult* ult = head_.load(std::memory_order_relaxed); ult != nullptr;
       ult = ult->next) {
    if (ult->may_move) {
      if (before == nullptr)
        head_.store(ult->next, std::memory_order_relaxed);
      else
        before->next = ult->next;
      if (tail_ == ult) tail_ = before;
      return ult;
    }
    before = ult;
  }
  return nullptr;
}

Ult* Worker::pop_all() noexcept {
  drain_inbox();
  QueueLock lock(*this);
  return head_.exchange(nullptr, std::memory_order_relaxed);
}

void Worker::drain_inbox() noexcept {
  // Acquire pairs with the seq_cst pushes in push_chain() and Donor.
  Ult* oldest_first = inbox_.take_oldest_first();
  if (oldest_first == nullptr) return;
  QueueLock lock(*this);
  while (oldest_first != nullptr) {
    Ult* next = oldest_first->next;
    append(*oldest_first);
    oldest_first = next;
  }
}

void Worker::push_remote(Ult& ult) noexcept {
  ult.next = nullptr;
  push_chain(ult);
}

void Worker::push_chain(Ult& first) noexcept {
  Ult* newest = decltype(inbox_)::reversed(&first);
  // seq_cst: either the owner sees this push after it has set sleeping_, or we see
  // sleeping_ below (Dekker; partner in sleep()). It is also the release for drain_inbox().
  inbox_.push_chain(*newest, first, std::memory_order_seq_cst);
  if (sleeping_.load(std::memory_order_seq_cst) != 0) wake();
}

// ---- sleeping ----------------------------------------------------------------------------

Worker::Slept Worker::sleep(WakeSet* descriptors) noexcept {
  // seq_cst; partner: push_remote()
  const uint32_t on = descriptors == nullptr
                          ? kOnFutex
                          : kOnDescriptors + static_cast<uint32_t>(descriptors->bell());
  sleeping_.exchange(on, std::memory_order_seq_cst);
  const uint64_t deadline = next_deadline_ns();
  const bool has_task = task_path_ != nullptr && task_path_->begin_sleep(index_);
  // seq_cst like the exchange above, or it could be done before that. What a thief carries into
  // head_ is ordered by the exchange alone: see steal().
  const bool has_mail = !inbox_.is_empty(std::memory_order_seq_cst);
  // The stop flag is the second thing that a waker may set before it looks at sleeping_.
  const bool sleeps = !has_task && !has_mail && !has_ready() &&
                      !stopping_.load(std::memory_order_seq_cst);
  Slept slept = sleeps ? Slept::kUntilWoken : Slept::kNot;
  const uint64_t since_ns = sleeps ? now_ns() : 0;
  if (sleeps && descriptors != nullptr) {
    if (descriptors->sleep(deadline) == WakeSet::kDescriptor)
      slept = Slept::kUntilCalled;
  } else if (sleeps && deadline == kNever) {
    futex_wait(sleeping_, kOnFutex);
  } else if (sleeps) {
    futex_wait_until(sleeping_, kOnFutex, deadline);
  }
  sleeping_.store(0, std::memory_order_relaxed);
  note_wake_time(since_ns);
  if (task_path_ != nullptr) task_path_->end_sleep();
  return slept;
}

// Only of a sleep that had lasted: a core that has just begun to sleep, or not yet, wakes sooner.
void Worker::note_wake_time(uint64_t since_ns) noexcept {
  constexpr uint64_t kAsleepNs = 50'000;
  const uint64_t woken_ns = woken_at_ns_.exchange(0, std::memory_order_relaxed);
  if (since_ns == 0 || woken_ns < since_ns + kAsleepNs) return;
  const uint64_t now = now_ns();
  if (now > woken_ns) detail::wake_time.note(now - woken_ns);
}

bool Worker::wake() noexcept {
  const uint32_t on = sleeping_.exchange(0, std::memory_order_seq_cst);
  if (on == 0) return false;
  woken_at_ns_.store(now_ns(), std::memory_order_relaxed);
  end_sleep(sleeping_, on);
  return true;
}

// ---- timers: a binary heap, the earliest deadline first; each Ult knows its place --------

namespace {

bool is_earlier(const Ult* a, const Ult* b) { return a->deadline_ns < b->deadline_ns; }

void place(std::vector<Ult*>& heap, size_t index, Ult* ult) {
  heap[index] = ult;
  ult->timer_index = index;
}

void sift_up(std::vector<Ult*>& heap, size_t index) {
  Ult* ult = heap[index];
  while (index > 0) {
    const size_t parent = (index - 1) / 2;
    if (!is_earlier(ult, heap[parent])) break;
    place(heap, index, heap[parent]);
    index = parent;
  }
  place(heap, index, ult);
}

void sift_down(std::vector<Ult*>& heap, size_t index) {
  Ult* ult = heap[index];
  for (;;) {
    size_t child = 2 * index + 1;
    if (child >= heap.size()) break;
    if (child + 1 < heap.size() && is_earlier(heap[child + 1], heap[child])) ++child;
    if (!is_earlier(heap[child], ult)) break;
    place(heap, index, heap[child]);
    index = child;
  }
  place(heap, index, ult);
}

void remove_at(std::vector<Ult*>& heap, size_t index) {
  Ult* last = heap.back();
  heap.pop_back();
  if (index == heap.size()) return;
  place(heap, index, last);
  sift_up(heap, index);
  sift_down(heap, last->timer_index);
}

}  // namespace

void Worker::add_timer(Ult& ult, uint64_t deadline_ns) noexcept {
  const Locked lock(timer_lock_);
  ult.deadline_ns = deadline_ns;
  ult.timer_worker.store(this, std::memory_order_relaxed);
  timers_.push_back(&ult);
  sift_up(timers_, timers_.size() - 1);
  next_deadline_ns_.store(timers_.front()->deadline_ns, std::memory_order_relaxed);
}

void Worker::remove_timer(Ult& ult) noexcept {
  const Locked lock(timer_lock_);
  if (ult.timer_worker.load(std::memory_order_relaxed) != this) return;  // it has fired
  remove_at(timers_, ult.timer_index);
  ult.timer_worker.store(nullptr, std::memory_order_relaxed);
  next_deadline_ns_.store(timers_.empty() ? kNever : timers_.front()->deadline_ns,
                          std::memory_order_relaxed);
}

void Worker::fire_timers() noexcept {
  const uint64_t now = now_ns();
  if (next_deadline_ns() > now) return;
  const Locked lock(timer_lock_);
  while (!timers_.empty() && timers_.front()->deadline_ns <= now) {
    Ult& ult = *timers_.front();
    uint32_t seen = Execution::kParked;
    const bool ours = ult.claim_wake(seen);
    if (!ours && seen == Execution::kHeld) {
      // A report looks at it; try again in a moment.
      constexpr uint64_t kHeldRetryNs = 1'000'000;
      ult.deadline_ns = now + kHeldRetryNs;
      sift_down(timers_, 0);
      continue;
    }
    remove_at(timers_, 0);
    if (ours) ult.timed_out = true;
    // The last touch of an Ult that is not ours: it may run elsewhere, and end, once it sees
    // this (release; pairs with the acquire in park_until).
    ult.timer_worker.store(nullptr, std::memory_order_release);
    if (ours) push_local(ult);
  }
  next_deadline_ns_.store(timers_.empty() ? kNever : timers_.front()->deadline_ns,
                          std::memory_order_relaxed);
}

}  // namespace mpc::sched
