#pragma once
// Service thread: a kernel thread of the runtime's own, which
// receives none of the process's signals.
//
// Role:      starts it; hides signals from threads that a library starts meanwhile.
// Users:     scheduler, scheduler/poll, runtime/message, runtime/transport, runtime/wireup.
// Threads:   any kernel thread. A handler would run on whatever thread the kernel chose, with its
//            small stack and without a rank: signals are for the threads that wait for them.
// See also:  runtime/job/signals.cpp (the thread that waits).

#include <pthread.h>
#include <csignal>

#include "base/result.h"

namespace mpc {

// A thread created with these attributes has all signals blocked.
void take_no_signals(pthread_attr_t& attributes) noexcept;

// `what` is for the message: "the monitor". The caller must join or detach the thread.
// Errors: kSystem.
Result<pthread_t> start_service_thread(const char* what, void* (*main)(void*),
                                       void* argument);

// While this object lives the calling thread has all signals
// blocked, and so have the threads that it creates.
class WithoutSignals {
 public:
  WithoutSignals() noexcept;
  ~WithoutSignals();
  WithoutSignals(const WithoutSignals&) = delete;
  WithoutSignals& operator=(const WithoutSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace mpc
