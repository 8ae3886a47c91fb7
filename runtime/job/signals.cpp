#include "runtime/job/signals.h"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/check.h"
#include "runtime/job/launch.h"
#include "runtime/job/report.h"

namespace mpc::job {
namespace {

sigset_t taken_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGQUIT, SIGHUP}) sigaddset(&set, signal);
  return set;
}

void write_all(const std::string& text) {
  [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, text.data(), text.size());
}

// The second Ctrl-C: nothing is flushed, nothing waited for.
void die_at_once(int signal) { ::_exit(kExitSignal + signal); }

}  // namespace

void SignalThread::block_in_this_thread() {
  const sigset_t set = taken_signals();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

SignalThread::SignalThread(Job& job, double timeout_seconds)
    : job_(job), timeout_seconds_(timeout_seconds) {
  const int failed = ::pthread_create(
      &thread_, nullptr,
      [](void* self) -> void* {
        static_cast<SignalThread*>(self)->serve();
        return nullptr;
      },
      this);
  CHECK(failed == 0, "cannot start the signal thread");
}

SignalThread::~SignalThread() {
  stop_.store(true, std::memory_order_release);  // pairs with the acquire in serve
  ::pthread_kill(thread_, SIGQUIT);
  ::pthread_join(thread_, nullptr);
}

void SignalThread::serve() {
  const sigset_t set = taken_signals();
  const uint64_t end_ns =
      sched::now_ns() + static_cast<uint64_t>(timeout_seconds_ * 1e9);
  for (;;) {
    int signal = 0;
    if (timeout_seconds_ > 0) {
      const uint64_t now = sched::now_ns();
      const uint64_t left = now < end_ns ? end_ns - now : 0;
      const timespec wait{static_cast<time_t>(left / 1000000000u),
                          static_cast<long>(left % 1000000000u)};
      signal = ::sigtimedwait(&set, nullptr, &wait);
    } else {
      signal = ::sigwaitinfo(&set, nullptr);
    }
    if (stop_.load(std::memory_order_acquire)) return;
    if (signal < 0 && errno == EAGAIN) {
      job_.abort(kExitTimeout, fmt::format("mpcrun: --timeout: the job ran for {} s; it is "
                                           "ended\n{}",
                                           timeout_seconds_, state_table(job_)));
    }
    if (signal < 0) continue;
    if (signal == SIGQUIT) {
      write_all("mpcrun: state of the job\n" + state_table(job_));
      continue;
    }
    struct sigaction again {};
    again.sa_handler = die_at_once;
    ::sigaction(signal, &again, nullptr);
    ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
    job_.abort(kExitSignal + signal, fmt::format("mpcrun: {}: the job is ended",
                                                 ::strsignal(signal)));
  }
}

}  // namespace mpc::job
