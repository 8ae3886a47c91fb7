#pragma once
// Listener: the thread that polls when something arrives while all workers compute.
//
// Role:      sleeps on the sources' descriptors; Watch decides whether these are armed.
// Users:     scheduler/poll/poller.
// Threads:   start() and stop() by one thread; call() any.
// See also:  scheduler/poll/poller.h.

#include <pthread.h>

#include <atomic>

#include "base/result.h"
#include "scheduler/poll/wake_set.h"

namespace mpc::sched {

class Listener {
 public:
  // Polls on the listener's thread, because of a descriptor or of call(). False: found nothing,
  // although no other thread polled.
  using Answer = bool (*)(void* argument, bool by_descriptor) noexcept;
  Listener() = default;
  ~Listener() { stop(); }
  Listener(const Listener&) = delete;

  // The descriptor `alarm` has become readable: to be answered on the listener's thread.
  using AlarmAnswer = void (*)(void* argument) noexcept;
  struct Alarm {
    int descriptor;
    AlarmAnswer answer;
  };
  // prepare: the thread calls it first; may be null. Errors: kSystem.
  Result<> start(Answer answer, Alarm alarm, void* argument, void (*prepare)());
  bool is_started() const noexcept { return is_started_; }
  // Joins the thread. Caller: only once no thread calls call() any more.
  void stop() noexcept;

  WakeSet& set() noexcept { return set_; }
  // Makes the listener poll, whatever the descriptors say.
  void call() noexcept { set_.ring(); }

 private:
  static void* thread_main(void* self);
  void run() noexcept;

  WakeSet set_;
  Answer answer_ = nullptr;
  AlarmAnswer alarm_answer_ = nullptr;
  void* argument_ = nullptr;
  void (*prepare_)() = nullptr;
  std::atomic<bool> stop_{false};
  bool is_started_ = false;
  pthread_t thread_{};
};

}  // namespace mpc::sched
