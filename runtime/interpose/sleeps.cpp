// sched_yield() and sleeps of a rank's main thread give the core to the other ranks of its core: libc knows the kernel thread
// only. Programs wait for each other by them, for a flag in shared memory or in a file, and would wait for a tick
// of the monitor each time.
//
// A sleep of 2 ms at most parks. A longer one is libc's, which a handler interrupts at once, and out of which it may jump; the
// monitor lends the core to others meanwhile, and when it is over the rank runs beside them.

#include <sched.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>

#include "runtime/interpose/clock.h"
#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/next.h"
#include "runtime/interpose/signals.h"
#include "scheduler/execution.h"
#include "scheduler/worker.h"

#define NEXT(name) MPC_NEXT(name, decltype(&::name))

namespace mpc::interpose {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kLongestParkNs = 2'000'000;

// Is the caller a rank's main thread on a worker? Not in a signal handler: its frame may be on a stack that another
// rank's handler would use.
bool may_leave_core(const void* return_address) noexcept {
  if (!g_is_ready || is_own_call(return_address) || is_forked_child()) return false;
  const job::Rank* const rank = own_rank();
  const sched::Execution& self = sched::Execution::self();
  return rank != nullptr && rank->libc != nullptr && rank->execution == &self &&
         self.is_ult() && self.worker() != nullptr && !runs_handler(*rank);
}

bool is_valid(const timespec* time) noexcept {
  return time != nullptr && time->tv_sec >= 0 && time->tv_nsec >= 0 &&
         time->tv_nsec < static_cast<long>(kSecond) &&
         static_cast<uint64_t>(time->tv_sec) < kForEver / kSecond / 2;
}

uint64_t ns_of(const timespec& time) noexcept {
  return static_cast<uint64_t>(time.tv_sec) * kSecond +
         static_cast<uint64_t>(time.tv_nsec);
}

// True: the rank has slept.
bool slept(const timespec* time, const void* return_address) noexcept {
  if (!is_valid(time)) return false;
  const uint64_t ns = ns_of(*time);
  if (ns > kLongestParkNs || !may_leave_core(return_address)) return false;
  sched::sleep_until(sched::now_ns() + ns);
  return true;
}

bool yielded(const void* return_address) noexcept {
  if (!may_leave_core(return_address)) return false;
  sched::Execution& self = sched::Execution::self();
  if (!self.worker()->needs_switch()) return false;
  self.yield();
  return true;
}

}  // namespace
}  // namespace mpc::interpose

using mpc::interpose::slept;
using mpc::interpose::yielded;

MPC_EXPORT int sched_yield() noexcept {
  return yielded(__builtin_return_address(0)) ? 0 : NEXT(sched_yield)();
}
MPC_EXPORT void thrd_yield() {
  if (!yielded(__builtin_return_address(0))) NEXT(thrd_yield)();
}
MPC_EXPORT int nanosleep(const timespec* time, timespec* left) {
  return slept(time, __builtin_return_address(0)) ? 0 : NEXT(nanosleep)(time, left);
}
MPC_EXPORT int thrd_sleep(const timespec* time, timespec* left) {
  return slept(time, __builtin_return_address(0)) ? 0 : NEXT(thrd_sleep)(time, left);
}
MPC_EXPORT int usleep(useconds_t us) {
  const timespec time{static_cast<time_t>(us / 1'000'000), us % 1'000'000 * 1000L};
  return slept(&time, __builtin_return_address(0)) ? 0 : NEXT(usleep)(us);
}
MPC_EXPORT unsigned sleep(unsigned seconds) {
  const timespec time{static_cast<time_t>(seconds), 0};
  return slept(&time, __builtin_return_address(0)) ? 0 : NEXT(sleep)(seconds);
}
MPC_EXPORT int clock_nanosleep(clockid_t clock, int flags, const timespec* time,
                               timespec* left) {
  const auto next = NEXT(clock_nanosleep);
  if ((clock != CLOCK_MONOTONIC && clock != CLOCK_REALTIME) || time == nullptr)
    return next(clock, flags, time, left);
  timespec rest = *time;
  if ((flags & TIMER_ABSTIME) != 0) {
    const uint64_t end_ns = mpc::interpose::deadline_of(clock, time);
    const uint64_t now_ns = mpc::sched::now_ns();
    if (end_ns <= now_ns || end_ns == mpc::interpose::kForEver)
      return next(clock, flags, time, left);
    rest = {static_cast<time_t>((end_ns - now_ns) / mpc::interpose::kSecond),
            static_cast<long>((end_ns - now_ns) % mpc::interpose::kSecond)};
  }
  return slept(&rest, __builtin_return_address(0)) ? 0 : next(clock, flags, time, left);
}
