#include "scheduler/poll/grace.h"

#include <sys/timerfd.h>
#include <unistd.h>
#include <x86intrin.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/futex.h"
#include "base/settings.h"

namespace mpc::sched {
namespace {

IntSetting grace_us{
    "net.grace_us",
    20,
    "us",
    "With several processes: how long a rank computes before short messages that it "
    "expects may interrupt it; 0: from the start, which costs microseconds for each "
    "call that does not wait",
    0,
    10'000};

// A job that calls all the time is looked at less and less often. So the
// first message after such a time may come this many times as late.
// See is_over(): the alarm after a look that came too early is the second look, one grace later; the one
// after that is far again.
constexpr uint64_t kMostFactor = 16;

uint64_t grace_ns() noexcept {
  return std::max<uint64_t>(static_cast<uint64_t>(grace_us.get()) * 1000, 1000);
}

}  // namespace

Grace::~Grace() {
  if (timer_ >= 0) close(timer_);
}

bool Grace::is_given() noexcept { return grace_us.get() != 0; }

Result<> Grace::open() {
  if (timer_ >= 0) return {};
  timer_ = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  if (timer_ < 0)
    return {Errc::kSystem, std::string("cannot make a timer for the listener: ") +
                               std::strerror(errno)};
  return {};
}

void Grace::begin() noexcept {
  last_begin_.store(__rdtsc(), std::memory_order_relaxed);
  if (!is_set_.exchange(true, std::memory_order_acq_rel))
    set(grace_ns() * factor_.load(std::memory_order_relaxed));
}

void Grace::silence() noexcept {
  uint64_t rings;
  raw_syscall(SYS_read, timer_, reinterpret_cast<long>(&rings), sizeof rings);
  is_set_.exchange(false, std::memory_order_acq_rel);
}

bool Grace::is_over(bool is_deferred) noexcept {
  const uint64_t now = __rdtsc(), grace = grace_ns();
  // The clock's rate is that of the time for which the alarm was set.
  const double ns_per_tick =
      static_cast<double>(set_for_ns_.load(std::memory_order_relaxed)) /
      static_cast<double>(
          std::max<uint64_t>(now - set_at_.load(std::memory_order_relaxed), 1));
  const auto ticks =
      static_cast<int64_t>(now - last_begin_.load(std::memory_order_relaxed));
  const auto age = static_cast<uint64_t>(
      static_cast<double>(std::max<int64_t>(ticks, 0)) * ns_per_tick);
  const uint64_t factor = factor_.load(std::memory_order_relaxed);
  if (is_deferred && age >= grace / 2) {
    factor_.store(1, std::memory_order_relaxed);
    looks_twice_ = false;
    return true;
  }
  if (age < grace && !looks_twice_)
    factor_.store(std::min(2 * factor, kMostFactor), std::memory_order_relaxed);
  looks_twice_ = is_deferred && !looks_twice_;
  if (is_deferred && !is_set_.exchange(true, std::memory_order_acq_rel))
    set(looks_twice_ ? grace : grace * factor);
  return false;
}

// Who has exchanged `is_set_` sets the alarm; nobody else does until it has rung.
void Grace::set(uint64_t ns) noexcept {
  set_at_.store(__rdtsc(), std::memory_order_relaxed);
  set_for_ns_.store(ns, std::memory_order_relaxed);
  itimerspec alarm{};
  alarm.it_value = {static_cast<time_t>(ns / 1'000'000'000),
                    static_cast<long>(ns % 1'000'000'000)};
  raw_syscall(SYS_timerfd_settime, timer_, 0, reinterpret_cast<long>(&alarm), 0);
}

}  // namespace mpc::sched
