#pragma once
// NetDriver: a thread that moves a network on.
//
// Role:      polls a source of events, and sleeps on its descriptor while there is nothing. It stands
//            where a scheduler that polls by itself would, and is all that has to go then.
// Users:     runtime/message/process_net.cpp.
// Threads:   start() and stop() by one thread.
// See also:  scheduler/poll/event_source.h.

#include <pthread.h>

#include <atomic>

#include "base/result.h"
#include "scheduler/poll/event_source.h"

namespace mpc::msg {

class NetDriver {
 public:
  // Ownership: the source outlives it.
  explicit NetDriver(sched::EventSource& source) noexcept : source_(source) {}
  ~NetDriver() { stop(); }
  NetDriver(const NetDriver&) = delete;
  NetDriver& operator=(const NetDriver&) = delete;

  // Errors: kSystem.
  Result<> start();
  void stop() noexcept;

 private:
  static void* thread_main(void* self);
  void run() noexcept;
  void sleep() const noexcept;

  sched::EventSource& source_;
  std::atomic<bool> stop_{false};
  int bell_ = -1;  // eventfd: stop() rings
  bool is_started_ = false;
  pthread_t thread_{};
};

}  // namespace mpc::msg
