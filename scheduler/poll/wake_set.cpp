#include "scheduler/poll/wake_set.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/futex.h"
#include "scheduler/execution.h"

namespace mpc::sched {
namespace {

long control(int epoll, int operation, int descriptor, uint32_t events) noexcept {
  epoll_event event{};
  event.events = events;
  event.data.fd = descriptor;
  return raw_syscall(SYS_epoll_ctl, epoll, operation, descriptor,
                     reinterpret_cast<long>(&event));
}

Error no_descriptor(const char* what, long error) {
  return {Errc::kSystem, std::string("cannot sleep on descriptors: ") + what + ": " +
                             std::strerror(static_cast<int>(-error))};
}

}  // namespace

WakeSet::~WakeSet() {
  if (bell_ >= 0) close(bell_);
  if (epoll_ >= 0) close(epoll_);
}

Result<> WakeSet::open() {
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  if (epoll_ < 0) return no_descriptor("epoll_create1", -errno);
  bell_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (bell_ < 0) return no_descriptor("eventfd", -errno);
  if (const long error = control(epoll_, EPOLL_CTL_ADD, bell_, EPOLLIN); error != 0)
    return no_descriptor("epoll_ctl", error);
  return {};
}

Result<> WakeSet::add(int descriptor) noexcept {
  if (const long error = control(epoll_, EPOLL_CTL_ADD, descriptor, EPOLLONESHOT);
      error != 0)
    return no_descriptor("epoll_ctl of a net's descriptor", error);
  for (auto& slot : descriptors_) {
    int expected = -1;
    // Release pairs with change(): the descriptor is in the set.
    if (slot.compare_exchange_strong(expected, descriptor, std::memory_order_release,
                                     std::memory_order_relaxed))
      return {};
  }
  control(epoll_, EPOLL_CTL_DEL, descriptor, 0);
  return {Errc::kSystem, "too many sources of events"};
}

Result<> WakeSet::set_alarm(int descriptor) noexcept {
  if (const long error = control(epoll_, EPOLL_CTL_ADD, descriptor, EPOLLIN);
      error != 0)
    return no_descriptor("epoll_ctl of a timer", error);
  alarm_ = descriptor;
  return {};
}

void WakeSet::remove(int descriptor) noexcept {
  for (auto& slot : descriptors_) {
    int expected = descriptor;
    slot.compare_exchange_strong(expected, -1, std::memory_order_relaxed);
  }
  control(epoll_, EPOLL_CTL_DEL, descriptor, 0);
}

// A descriptor that has just been removed is not in the set: the call fails, and changes nothing.
void WakeSet::change(uint32_t events) noexcept {
  for (const auto& slot : descriptors_) {
    const int descriptor = slot.load(std::memory_order_acquire);
    if (descriptor >= 0)
      control(epoll_, EPOLL_CTL_MOD, descriptor, events | EPOLLONESHOT);
  }
}

// Relaxed: where it matters the two are ordered by the watch; see Watch, 4.
void WakeSet::listen() noexcept {
  is_listening_.store(true, std::memory_order_relaxed);
  change(EPOLLIN);
}

void WakeSet::ignore() noexcept {
  if (!is_listening_.load(std::memory_order_relaxed)) return;
  is_listening_.store(false, std::memory_order_relaxed);
  change(0);
}

WakeSet::Reason WakeSet::sleep(uint64_t deadline_ns) noexcept {
  constexpr int kMostEvents = kMost + 2;
  epoll_event events[kMostEvents];
  timespec left{};
  if (deadline_ns != kNoDeadline) {
    const uint64_t now = now_ns();
    const uint64_t rest = deadline_ns > now ? deadline_ns - now : 0;
    left = {static_cast<time_t>(rest / 1'000'000'000),
            static_cast<long>(rest % 1'000'000'000)};
  }
  const long count =
      raw_syscall(SYS_epoll_pwait2, epoll_, reinterpret_cast<long>(events), kMostEvents,
                  deadline_ns != kNoDeadline ? reinterpret_cast<long>(&left) : 0);
  Reason reason = kTime;  // or a signal, or the alarm: callers check again
  has_alarm_ = false;
  for (long i = 0; i < count; ++i) {
    if (events[i].data.fd == alarm_) {
      has_alarm_ = true;
      continue;
    }
    if (events[i].data.fd != bell_) {
      reason = kDescriptor;
      continue;
    }
    uint64_t rings;
    raw_syscall(SYS_read, bell_, reinterpret_cast<long>(&rings), sizeof rings);
    if (reason == kTime) reason = kBell;
  }
  return reason;
}

void WakeSet::ring() noexcept {
  const uint64_t one = 1;
  raw_syscall(SYS_write, bell_, reinterpret_cast<long>(&one), sizeof one);
}

}  // namespace mpc::sched
