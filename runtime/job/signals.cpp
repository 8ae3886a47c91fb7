#include "runtime/job/signals.h"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/check.h"
#include "runtime/job/console.h"
#include "runtime/job/endable_job.h"
#include "runtime/job/exit_status.h"
#include "runtime/job/inherited.h"
#include "runtime/job/rank_signals.h"
#include "runtime/job/report.h"
#include "runtime/loader/image.h"
#include "runtime/wireup/wireup.h"

namespace mpc::job {
namespace {

// Another process opens the program's file for writing; see loader::guard_files().
constexpr int kFileIsWanted = SIGIO;

sigset_t taken_signals() {
  sigset_t set;
  sigemptyset(&set);
  // An ignored signal (nohup, a shell's "&") stays ignored; otherwise it would arrive here, because
  // a blocked signal is not dropped. SIGQUIT only asks for a table, and ends serve().
  for (const int signal : {SIGINT, SIGTERM, SIGQUIT, SIGHUP})
    if (signal == SIGQUIT || !inherited::is_ignored(signal)) sigaddset(&set, signal);
  return set;
}

bool has_launcher(Job& job) {
  return job.wireup() != nullptr && job.wireup()->has_launcher();
}

// The second Ctrl-C: nothing is flushed or waited for.
void die_at_once(int signal) { ::_exit(kExitSignal + signal); }

}  // namespace

void SignalThread::block_in_this_thread() {
  const sigset_t set = taken_signals();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

SignalThread::SignalThread(EndableJob& job, double timeout_seconds)
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

void SignalThread::finish_job() noexcept {
  is_to_finish_.store(true,
                      std::memory_order_release);  // pairs with the acquire in serve
  ::pthread_kill(thread_, SIGQUIT);
}

// From now on a signal ends the process, in case the end takes long (a reader that reads no more).
// Except SIGQUIT: finish_job() may have sent one.
void SignalThread::unblock() {
  sigset_t set = taken_signals();
  sigdelset(&set, SIGQUIT);
  struct sigaction at_once {};
  at_once.sa_handler = die_at_once;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction present {};
    ::sigaction(signal, nullptr, &present);
    if (present.sa_handler != SIG_IGN) ::sigaction(signal, &at_once, nullptr);
  }
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

// A signal to a group of processes came to the launcher, too, whose order to end was sooner.
void SignalThread::drop_pending() {
  sigset_t set = taken_signals();
  sigdelset(&set, SIGQUIT);
  const timespec at_once{0, 0};
  while (::sigtimedwait(&set, nullptr, &at_once) > 0) {
  }
}

// A signal has come, to this process alone or to the launcher as well, which then tells all its processes to
// end: they end once, and alike. False: to this process alone.
bool SignalThread::is_ended_by_launcher() const {
  constexpr int kMostMs = 300;
  for (int ms = 0; ms < kMostMs; ++ms) {
    if (is_to_finish_.load(std::memory_order_acquire)) return true;
    const timespec pause{0, 1'000'000};
    ::nanosleep(&pause, nullptr);
    if (stop_.load(std::memory_order_acquire)) ::pthread_exit(nullptr);
  }
  return false;
}

void SignalThread::finish() {
  if (has_launcher(job_)) drop_pending();
  unblock();
  job_.finish();
  __builtin_unreachable();  // gcc loses the attribute for virtual functions
}

void SignalThread::end_job(int status, const std::string& message, int signal) {
  const bool is_handled = rank_signals::takers(signal) > 0;
  const bool is_first =
      job_.request_end(status, message, is_handled ? Grace::kHandlers : Grace::kNone);
  if (is_handled) rank_signals::give(signal);
  // What was requested a moment ago counts. But a crash's handler ends the process itself, and
  // so does a job at its regular end: until then a signal does.
  if (!is_first) unblock();
  while (!is_first && !is_to_finish_.load(std::memory_order_acquire)) {
    const timespec pause{0, 1'000'000};
    ::nanosleep(&pause, nullptr);
    if (stop_.load(std::memory_order_acquire)) ::pthread_exit(nullptr);
  }
  finish();
}

void SignalThread::serve() {
  sigset_t set = taken_signals();
  // Sent only to this thread; other threads handle it as the program wants.
  sigset_t file_is_wanted;
  sigemptyset(&file_is_wanted);
  sigaddset(&file_is_wanted, kFileIsWanted);
  ::pthread_sigmask(SIG_BLOCK, &file_is_wanted, nullptr);
  sigaddset(&set, kFileIsWanted);
  loader::guard_files(::gettid(), kFileIsWanted);
  const uint64_t end_ns =
      sched::now_ns() + static_cast<uint64_t>(timeout_seconds_ * 1e9);
  for (;;) {
    int signal = 0;
    siginfo_t from{};
    if (timeout_seconds_ > 0) {
      const uint64_t now = sched::now_ns();
      const uint64_t left = now < end_ns ? end_ns - now : 0;
      const timespec wait{static_cast<time_t>(left / 1000000000u),
                          static_cast<long>(left % 1000000000u)};
      signal = ::sigtimedwait(&set, &from, &wait);
    } else {
      signal = ::sigwaitinfo(&set, &from);
    }
    if (stop_.load(std::memory_order_acquire)) return;
    if (is_to_finish_.load(std::memory_order_acquire)) finish();
    if (signal < 0 && errno == EAGAIN) {
      end_job(kExitTimeout,
              fmt::format("mpcrun: --timeout: the job ran for {} s; it is ended\n{}",
                          timeout_seconds_, table_of(job_)),
              0);
    }
    if (signal < 0) continue;
    if (signal == kFileIsWanted) {
      loader::leave_files();
      continue;
    }
    // Ctrl-\ or Ctrl-C of a terminal: a launcher also gets it, and tells all its processes.
    if (from.si_code == SI_KERNEL && has_launcher(job_)) continue;
    if (signal == SIGQUIT && job_.wireup() != nullptr && job_.wireup()->ask_tables())
      continue;
    if (signal == SIGQUIT) {
      give_table(job_, [](const std::string& table) {
        console::say("mpcrun: state of the job\n" + table);
      });
      continue;
    }
    if (has_launcher(job_) && is_ended_by_launcher()) finish();
    end_job(kExitSignal + signal,
            fmt::format("mpcrun: {}: the job is ended", ::strsignal(signal)), signal);
  }
}

}  // namespace mpc::job
