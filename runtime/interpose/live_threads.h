#pragma once
// LiveThreads: threads that ranks have created and that have not ended, and their joiners.
//
// Role:      lets a rank that joins one of its threads release its core until the thread ends.
// Users:     runtime/interpose/threads.cpp (creation), runtime/interpose/thread_join.cpp.
// Threads:   any; add_thread() under g_threads_mutex.
// See also:  docs/scheduler.md section "Threads of ranks".

#include <pthread.h>

#include <atomic>
#include <mutex>
#include <string>

#include "runtime/job/rank.h"
#include "scheduler/execution.h"

namespace mpc::interpose {

// A rank that waits in pthread_join; on its stack.
struct Joiner final : sched::WaitReason {
  sched::Execution* execution = &sched::Execution::self();
  std::atomic<bool> has_ended{
      false};  // release by the ending thread, acquire by the joiner
  std::string text() const override { return "pthread_join: a thread of the rank"; }
};

// A thread of a rank, from its creation until it ends.
struct LiveThread {
  pthread_t id{};
  Joiner* joiner = nullptr;
  LiveThread* next = nullptr;
};

// Guards the list, and the set-up of threads that libc creates meanwhile. Held over short stretches
// without a switch.
extern constinit std::mutex g_threads_mutex;

// Ownership: the list's, until thread_ends().
void add_thread(LiveThread* thread);
// Wakes the thread's joiner.
void thread_ends(LiveThread* thread);

// Registers the joiner for `thread`; false: it need not wait, libc knows the result.
bool enlist(Joiner& joiner, pthread_t thread);
void delist(Joiner& joiner);

// The rank whose threads the caller creates and joins, or null. Also in a singleton, whose rank is
// any thread that calls MPI.
job::Rank* rank_of_caller();

}  // namespace mpc::interpose
