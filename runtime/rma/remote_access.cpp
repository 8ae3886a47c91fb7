// Locks, posts, and waiting for answers. For the operations see remote_operations.cpp.

#include "runtime/rma/remote_access.h"

#include <algorithm>

#include "base/check.h"
#include "runtime/message/control.h"
#include "runtime/rma/lock_lines.h"

namespace mpc::rma {

RemoteAccess::RemoteAccess(WindowShare& share, int me, job::Rank& self)
    : share_(share),
      span_(*share.span()),
      port_(Port::of(span_.here)),
      self_(self),
      me_(me),
      states_(std::make_unique<State[]>(static_cast<size_t>(share.size()))) {
  port_.add_access(span_.window, me_, *this);
}

RemoteAccess::~RemoteAccess() {
  CHECK(awaited_.load(std::memory_order_acquire) == 0,
        "a window ends while its member awaits answers");
  port_.remove_access(span_.window, me_);
  const Locked lock(types_lock_);
  for (const KnownType& known : types_) drop_type(known);
}

int RemoteAccess::process_of(int target) const noexcept {
  return span_.process[static_cast<size_t>(target)];
}

Packet RemoteAccess::packet(Verb verb, int target) const noexcept {
  Packet packet;
  packet.verb = verb;
  packet.window = span_.window;
  packet.target = target;
  packet.origin = me_;
  return packet;
}

// ---- waiting for answers -----------------------------------------------------------------------

template <class Ready>
void RemoteAccess::wait(Ready ready, const sched::WaitReason& why) {
  msg::wait_for_control(
      self_, [](void* is_ready) { return (*static_cast<Ready*>(is_ready))(); }, &ready,
      why);
  const Locked after_the_last_answer(lock_);
}

uint64_t RemoteAccess::await(Pending pending) {
  pending.access = this;
  // Relaxed: our own count, until the answer.
  awaited_.fetch_add(1, std::memory_order_relaxed);
  if (pending.target >= 0)
    state(pending.target).awaited.fetch_add(1, std::memory_order_relaxed);
  return port_.add_pending(std::move(pending));
}

void RemoteAccess::note_end(int target, std::atomic<bool>* is_over) {
  const Locked lock(lock_);
  note_end_locked(target, is_over);
}

void RemoteAccess::note_end_locked(int target, std::atomic<bool>* is_over) {
  // Release pairs with wait() and with tests of a request: the data that came are in its buffer.
  if (is_over != nullptr) is_over->store(true, std::memory_order_release);
  if (target >= 0) state(target).awaited.fetch_sub(1, std::memory_order_release);
  awaited_.fetch_sub(1, std::memory_order_release);
  msg::notify(self_);
}

void RemoteAccess::await_fence(const sched::WaitReason& why) {
  wait([&] { return !is_fence_coming_.load(std::memory_order_acquire); }, why);
}

void RemoteAccess::settle(int target, const sched::WaitReason& why) {
  // Acquire pairs with note_end().
  wait([&] { return state(target).awaited.load(std::memory_order_acquire) == 0; }, why);
}

void RemoteAccess::settle_all(const sched::WaitReason& why) {
  wait([&] { return awaited_.load(std::memory_order_acquire) == 0; }, why);
}

// Relaxed: of this member's own operations, in the order of its calls.
void RemoteAccess::note_long(int target) noexcept {
  state(target).has_long.store(true, std::memory_order_relaxed);
  has_long_.store(true, std::memory_order_relaxed);
}

void RemoteAccess::settle_long(int target, const sched::WaitReason& why) {
  State& its = state(target);
  // Acquire pairs with pop(): what it has sent has set the mark.
  if (its.is_shut.load(std::memory_order_acquire) ||
      its.has_long.exchange(false, std::memory_order_relaxed))
    settle(target, why);
}

void RemoteAccess::settle_all_long(const sched::WaitReason& why) {
  if (shut_.load(std::memory_order_acquire) != 0 ||
      has_long_.exchange(false, std::memory_order_relaxed))
    settle_all(why);
}

// ---- flush -------------------------------------------------------------------------------------

void RemoteAccess::send_flush(int process, int target) {
  Packet question = packet(Verb::kFlush, target);
  question.ticket = await({.target = target});
  port_.send(process, question);
}

void RemoteAccess::flush(int target, const sched::WaitReason& why) {
  // A question would pass what is queued.
  if (state(target).is_shut.load(std::memory_order_acquire)) settle(target, why);
  if (state(target).is_dirty.exchange(false, std::memory_order_relaxed))
    send_flush(process_of(target), target);
  settle(target, why);
}

// One question per process, however many targets it has.
void RemoteAccess::flush_all(const sched::WaitReason& why) {
  if (shut_.load(std::memory_order_acquire) != 0) settle_all(why);
  std::vector<int> asked;
  for (int target = 0; target < share_.size(); ++target) {
    if (!state(target).is_dirty.load(std::memory_order_relaxed)) continue;
    state(target).is_dirty.store(false, std::memory_order_relaxed);
    const int process = process_of(target);
    if (asked.empty() || asked.back() != process) asked.push_back(process);
  }
  std::sort(asked.begin(), asked.end());
  asked.erase(std::unique(asked.begin(), asked.end()), asked.end());
  for (const int process : asked) send_flush(process, -1);
  settle_all(why);
}

// ---- locks, posts: for queues see queue.cpp -------------------------------------------------------

void RemoteAccess::lock(int target, LockType type) {
  {
    const Locked lock(lock_);
    push(target, {.what = Queue::What::kLock});
  }
  const sched::Execution& line = sched::Execution::self();
  Packet question = packet(Verb::kLock, target);
  question.lock = type;
  // The entry is what is awaited.
  question.ticket =
      port_.add_pending({.access = this, .target = target, .line = &line});
  const int to = process_of(target);
  if (lock_lines::may_send({&port_, to, question}, line)) port_.send(to, question);
}

void RemoteAccess::unlock(int target, LockType type) {
  Packet told = packet(Verb::kUnlock, target);
  told.lock = type;
  port_.send(process_of(target), told);
}

void RemoteAccess::post(int origin) {
  Packet told = packet(Verb::kPost, origin);
  port_.send(process_of(origin), told);
}

// ---- failures ----------------------------------------------------------------------------------

void RemoteAccess::note_failure(const Packet& packet) {
  const Locked lock(lock_);
  if (failure_) return;
  failure_ = Failure{packet.fit, packet.target, packet.disp};
  has_failed_.store(true, std::memory_order_release);
}

std::optional<Failure> RemoteAccess::take_failure() {
  if (!has_failed_.load(std::memory_order_acquire)) return std::nullopt;
  const Locked lock(lock_);
  has_failed_.store(false, std::memory_order_relaxed);
  return std::exchange(failure_, std::nullopt);
}

}  // namespace mpc::rma
