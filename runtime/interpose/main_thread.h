#pragma once
// MainThread: a rank's main thread as the rank's other threads see it.
//
// Role:      libc takes the main thread for a thread that sleeps all the time
//            (scheduler/donor.h), so names, the end by pthread_exit(),
//            pthread_join() and pthread_detach() are handled here.
// Users:     runtime/interpose.
// Threads:   see each field.
// See also:  docs/limits.md section "Threads and signals".

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <mutex>
#include <string>

#include "base/futex.h"
#include "runtime/job/rank.h"

namespace mpc::interpose {

struct MainThread {
  const pthread_t id = pthread_self();  // initialised on the main thread
  std::mutex mutex;
  std::string name;          // guarded by mutex; empty: no name was set
  bool is_detached = false;  // guarded by mutex
  void* value = nullptr;     // of pthread_exit(); written before has_ended
  FutexWord has_ended{0};    // 1, by a release: the main thread is in pthread_exit()
};

MainThread& main_thread_of(const job::Rank& rank) noexcept;
// The rank of the caller, if `thread` is that rank's main thread; else null.
job::Rank* rank_with_main_thread(pthread_t thread) noexcept;

}  // namespace mpc::interpose
