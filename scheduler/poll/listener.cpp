#include "scheduler/poll/listener.h"

#include <string>

#include "base/futex.h"
#include "base/service_thread.h"
#include "scheduler/execution.h"
#include "scheduler/poll/patience.h"

namespace mpc::sched {
namespace {

// A call that comes meanwhile ends the next sleep at once.
void nap(uint64_t ns) noexcept {
  const timespec length{0, static_cast<long>(ns)};
  raw_syscall(SYS_nanosleep, reinterpret_cast<long>(&length));
}

}  // namespace

Result<> Listener::start(Answer answer, Alarm alarm, void* argument,
                         void (*prepare)()) {
  if (is_started_) return {};
  if (!set_.is_open()) {
    MPC_TRY(set_.open());
    MPC_TRY(set_.set_alarm(alarm.descriptor));
  }
  answer_ = answer;
  alarm_answer_ = alarm.answer;
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
  Patience patience;
  uint64_t listens_since_ns = now_ns();
  while (!stop_.load(std::memory_order_acquire)) {
    const WakeSet::Reason reason = set_.sleep(WakeSet::kNoDeadline);
    if (stop_.load(std::memory_order_acquire)) return;
    if (set_.has_alarm()) alarm_answer_(argument_);
    if (reason == WakeSet::kTime) continue;
    const uint64_t listened_ns = now_ns() - listens_since_ns;
    const bool has_found = answer_(argument_, reason == WakeSet::kDescriptor);
    if (const uint64_t pause_ns = patience.nap_ns(has_found, listened_ns);
        pause_ns != 0)
      nap(pause_ns);
    listens_since_ns = now_ns();
  }
}

}  // namespace mpc::sched
