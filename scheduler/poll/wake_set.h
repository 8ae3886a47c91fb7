#pragma once
// WakeSet: descriptors that end a thread's sleep when they are listened to; and a bell.
//
// Role:      a sleeping worker, or the listener, sleeps on it instead of on a futex.
// Users:     scheduler/poll; Worker::sleep().
// Threads:   any, but one sleeps at a time.
// See also:  scheduler/poll/watch.h, epoll(7).
//
// Each descriptor ends at most one sleep after each listen() (EPOLLONESHOT). A descriptor that is not
// listened to ends none, even if it is readable.

#include <atomic>
#include <cstdint>

#include "base/result.h"

namespace mpc::sched {

class WakeSet {
 public:
  WakeSet() = default;
  ~WakeSet();
  WakeSet(const WakeSet&) = delete;

  Result<> open();
  bool is_open() const noexcept { return epoll_ >= 0; }
  // The eventfd that ring() writes.
  int bell() const noexcept { return bell_; }
  // Adds a descriptor, which is not listened to yet. Errors: kSystem.
  Result<> add(int descriptor) noexcept;
  void remove(int descriptor) noexcept;

  // A descriptor that always ends sleeps, until it is not readable any more. Errors: kSystem.
  Result<> set_alarm(int descriptor) noexcept;

  // Listens to all descriptors, once. What is there already counts.
  void listen() noexcept;
  // Stops listening, as far as possible: a sleep that is just ending still ends.
  void ignore() noexcept;

  enum Reason { kTime, kBell, kDescriptor };
  // The alarm was among the reasons of the last sleep. Caller: who slept.
  bool has_alarm() const noexcept { return has_alarm_; }
  static constexpr uint64_t kNoDeadline = ~uint64_t{0};
  // Caller: one at a time. deadline_ns: of now_ns(). Touches no errno, no thread_local.
  Reason sleep(uint64_t deadline_ns) noexcept;
  // Ends the present sleep, or the next one. Caller: any.
  void ring() noexcept;

 private:
  static constexpr int kMost = 4;
  void change(uint32_t events) noexcept;

  int epoll_ = -1;
  int bell_ = -1;
  int alarm_ = -1;
  bool has_alarm_ = false;
  std::atomic<int> descriptors_[kMost] = {-1, -1, -1, -1};
  // Whether some descriptors may be listened to; a wrong "no" costs one futile wake-up.
  std::atomic<bool> is_listening_{false};
};

}  // namespace mpc::sched
