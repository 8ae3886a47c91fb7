#include "runtime/job/guarded.h"

#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "runtime/job/raw_signal.h"

namespace mpc::job {
namespace {

// The compiler's setjmp: libc's longjmp reads the thread's control block, which lies at the top
// of a rank's stack and may be overwritten.
void* g_way_back[5];
constinit std::atomic<pid_t> g_inside{
    0};  // the thread in guarded(); read by its own handlers
int g_timer = 0;
bool g_has_timer = false;

// A timer of this thread, because an alarm might hit another one. By system calls, because timers
// that a rank creates by libc's functions belong to the rank.
void make_timer() noexcept {
  raw::set_handler(SIGALRM, [](int, siginfo_t*, void*) { leave_guarded(); });
  raw::unblock(SIGALRM);
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = SIGALRM;
  event._sigev_un._tid = ::gettid();
  g_has_timer = ::syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &g_timer) == 0;
}

void set_timer(unsigned milliseconds) noexcept {
  if (!g_has_timer) return;
  itimerspec time{};
  time.it_value = {static_cast<time_t>(milliseconds / 1000),
                   static_cast<long>(milliseconds % 1000) * 1'000'000};
  ::syscall(SYS_timer_settime, g_timer, 0, &time, nullptr);
}

}  // namespace

void leave_guarded() noexcept {
  if (g_inside.load(std::memory_order_relaxed) == ::gettid())
    __builtin_longjmp(g_way_back, 1);
}

[[gnu::noinline]] bool guarded(unsigned milliseconds, void (*step)(void*),
                               void* argument) noexcept {
  static bool has_begun = false;
  if (!has_begun) {
    has_begun = true;
    make_timer();
  }
  volatile bool is_done = false;
  if (__builtin_setjmp(g_way_back) == 0) {
    g_inside.store(::gettid(), std::memory_order_relaxed);
    set_timer(milliseconds);
    step(argument);
    is_done = true;
  }
  g_inside.store(0, std::memory_order_relaxed);
  set_timer(0);
  return is_done;
}

}  // namespace mpc::job
