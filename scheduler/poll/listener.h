#pragma once
// Listener: the thread that polls when all workers compute and something comes.
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
  // Looks, on the listener's thread, because of a descriptor or of call(). False: found nothing,
  // though nobody else looked.
  using Answer = bool (*)(void* argument, bool by_descriptor) noexcept;
  Listener() = default;
  ~Listener() { stop(); }
  Listener(const Listener&) = delete;

  // prepare: called by the thread first; may be null. Errors: kSystem.
  Result<> start(Answer answer, void* argument, void (*prepare)());
  // With join. Caller: nobody calls any more.
  void stop() noexcept;

  WakeSet& set() noexcept { return set_; }
  // It is to look, whatever the descriptors say.
  void call() noexcept { set_.ring(); }

 private:
  static void* thread_main(void* self);
  void run() noexcept;

  WakeSet set_;
  Answer answer_ = nullptr;
  void* argument_ = nullptr;
  void (*prepare_)() = nullptr;
  std::atomic<bool> stop_{false};
  bool is_started_ = false;
  pthread_t thread_{};
};

}  // namespace mpc::sched
