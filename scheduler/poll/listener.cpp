#include "scheduler/poll/listener.h"

#include <algorithm>
#include <string>

#include "base/futex.h"
#include "base/service_thread.h"

namespace mpc::sched {
namespace {

// After this many calls in a row that found nothing the listener pauses, longer with each further
// one. Either another thread's poll was first, or a descriptor signals more than its source knows.
constexpr int kPatience = 2;
constexpr uint64_t kShortestNapNs = 20'000;
constexpr int kMostDoublings = 9;  // 10 ms, as long as a tick of the monitor

// A call that comes meanwhile ends the next sleep at once.
void nap(int doublings) noexcept {
  const timespec length{0, static_cast<long>(kShortestNapNs << doublings)};
  raw_syscall(SYS_nanosleep, reinterpret_cast<long>(&length));
}

}  // namespace

Result<> Listener::start(Answer answer, void* argument, void (*prepare)()) {
  if (is_started_) return {};
  if (!set_.is_open()) MPC_TRY(set_.open());
  answer_ = answer;
  argument_ = argument;
  prepare_ = prepare;
  const Result<pthread_t> thread =
      start_service_thread("the listener", &thread_main, this);
  MPC_TRY(thread);
  thread_ = *thread;
  is_started_ = true;
  return {};
}

void Listener::stop() noexcept {
  if (!is_started_) return;
  stop_.store(true, std::memory_order_release);  // pairs with run()
  set_.ring();
  pthread_join(thread_, nullptr);
  is_started_ = false;
}

void* Listener::thread_main(void* self) {
  static_cast<Listener*>(self)->run();
  return nullptr;
}

void Listener::run() noexcept {
  if (prepare_ != nullptr) prepare_();
  int futile = 0;
  while (!stop_.load(std::memory_order_acquire)) {
    const WakeSet::Reason reason = set_.sleep(WakeSet::kNoDeadline);
    if (stop_.load(std::memory_order_acquire)) return;
    if (reason == WakeSet::kTime) continue;
    futile = answer_(argument_, reason == WakeSet::kDescriptor) ? 0 : futile + 1;
    if (futile <= kPatience) continue;
    nap(std::min(futile - kPatience, kMostDoublings));
  }
}

}  // namespace mpc::sched
