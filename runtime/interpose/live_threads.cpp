#include "runtime/interpose/live_threads.h"

#include "runtime/interpose/libc_state.h"

namespace mpc::interpose {

constinit std::mutex g_threads_mutex;

namespace {

constinit LiveThread* g_threads = nullptr;

// A forked child must find it free.
__attribute__((constructor)) void register_mutex() {
  const auto unlock = [] { g_threads_mutex.unlock(); };
  ::pthread_atfork([] { g_threads_mutex.lock(); }, unlock, unlock);
}

}  // namespace

void add_thread(LiveThread* thread) {
  thread->next = g_threads;
  g_threads = thread;
}

void thread_ends(LiveThread* live) {
  const std::lock_guard lock(g_threads_mutex);
  LiveThread** link = &g_threads;
  while (*link != live) link = &(*link)->next;
  *link = live->next;
  if (Joiner* joiner = live->joiner) {
    // The joiner may return right away.
    sched::Execution* execution = joiner->execution;
    joiner->has_ended.store(true, std::memory_order_release);
    execution->unpark();
  }
  delete live;
}

bool enlist(Joiner& joiner, pthread_t thread) {
  const std::lock_guard lock(g_threads_mutex);
  for (LiveThread* live = g_threads; live != nullptr; live = live->next) {
    if (pthread_equal(live->id, thread) == 0 || live->joiner != nullptr) continue;
    live->joiner = &joiner;
    return true;
  }
  return false;
}

void delist(Joiner& joiner) {
  const std::lock_guard lock(g_threads_mutex);
  for (LiveThread* live = g_threads; live != nullptr; live = live->next)
    if (live->joiner == &joiner) live->joiner = nullptr;
}

job::Rank* rank_of_caller() {
  if (!g_is_ready) return nullptr;
  return job::Job::existing() != nullptr ? job::current_rank() : nullptr;
}

}  // namespace mpc::interpose
