// The end of a rank's thread, and waiting for it: pthread_join() and its relatives, pthread_exit().
// A rank that waits for one of its threads releases its core.

#include <pthread.h>
#include <threads.h>
#include <time.h>

#include <cerrno>
#include <mutex>

#include "base/futex.h"
#include "runtime/interpose/clock.h"
#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/live_threads.h"
#include "runtime/interpose/main_thread.h"
#include "runtime/interpose/next.h"
#include "scheduler/execution.h"

#define NEXT(name) MPC_NEXT(name, decltype(&::name))

namespace {

using mpc::interpose::deadline_of;
using mpc::interpose::Joiner;
using mpc::interpose::kForEver;
using mpc::interpose::rank_of_caller;
using mpc::job::Rank;

// A rank that waits for one of its threads releases its core, because
// the thread may wait for another rank of this core. Returns when the
// thread has ended or the time is over; libc does the rest.
void wait_for_end(pthread_t thread, uint64_t deadline_ns) {
  if (rank_of_caller() == nullptr || !mpc::sched::Execution::self().is_ult()) return;
  if (mpc::interpose::is_forked_child()) return;  // it must run no other ranks
  Joiner joiner;
  if (!enlist(joiner, thread)) return;
  bool is_over = false;
  while (!is_over && !joiner.has_ended.load(std::memory_order_acquire)) {
    if (deadline_ns == kForEver)
      joiner.execution->park(joiner);
    else
      is_over = !joiner.execution->park_until(deadline_ns, joiner);
  }
  if (is_over) delist(joiner);
}

// A thread of the rank waits for the main thread, which will be in pthread_exit() in the end.
int join_main(mpc::interpose::MainThread& main, void** value, uint64_t deadline_ns) {
  if (pthread_equal(main.id, pthread_self()) != 0) return EDEADLK;
  {
    const std::lock_guard lock(main.mutex);
    if (main.is_detached) return EINVAL;
  }
  // Acquire pairs with the release in pthread_exit(): the value.
  while (main.has_ended.load(std::memory_order_acquire) == 0) {
    if (deadline_ns == kForEver)
      mpc::futex_wait(main.has_ended, 0);
    else if (!mpc::futex_wait_until(main.has_ended, 0, deadline_ns))
      return ETIMEDOUT;
  }
  if (value != nullptr) *value = main.value;
  return 0;
}

// Null: the thread is not the main one of the caller's rank.
mpc::interpose::MainThread* main_thread(pthread_t thread) {
  Rank* rank = mpc::interpose::rank_with_main_thread(thread);
  return rank != nullptr ? &mpc::interpose::main_thread_of(*rank) : nullptr;
}

}  // namespace

MPC_EXPORT int pthread_join(pthread_t thread, void** value) {
  if (auto* main = main_thread(thread)) return join_main(*main, value, kForEver);
  wait_for_end(thread, kForEver);
  return NEXT(pthread_join)(thread, value);  // a thread that has ended: short
}
MPC_EXPORT int pthread_tryjoin_np(pthread_t thread, void** value) noexcept {
  if (auto* main = main_thread(thread)) {
    const int error = join_main(*main, value, 0);
    return error == ETIMEDOUT ? EBUSY : error;
  }
  return NEXT(pthread_tryjoin_np)(thread, value);
}
MPC_EXPORT int pthread_clockjoin_np(pthread_t thread, void** value, clockid_t clock,
                                    const timespec* time) {
  const uint64_t deadline_ns = time == nullptr ? kForEver : deadline_of(clock, time);
  if (auto* main = main_thread(thread)) return join_main(*main, value, deadline_ns);
  if (deadline_ns != 0) wait_for_end(thread, deadline_ns);
  // Most threads have ended by now. ThreadSanitizer does not know pthread_clockjoin_np().
  const int error = NEXT(pthread_tryjoin_np)(thread, value);
  if (error != EBUSY) return error;
  return NEXT(pthread_clockjoin_np)(thread, value, clock, time);
}
MPC_EXPORT int pthread_timedjoin_np(pthread_t thread, void** value,
                                    const timespec* time) {
  return pthread_clockjoin_np(thread, value, CLOCK_REALTIME, time);
}
MPC_EXPORT int thrd_join(thrd_t thread, int* result) {
  void* value = nullptr;
  if (::pthread_join(thread, &value) != 0)
    return thrd_error;  // ours, as in thrd_create()
  if (result != nullptr) *result = static_cast<int>(reinterpret_cast<intptr_t>(value));
  return thrd_success;
}

// The main thread of a rank runs on a thread of ours, which must not exit. As in a process, the
// rank ends when its last thread has ended; cleanup handlers of the main thread do not run.
MPC_EXPORT void pthread_exit(void* value) {
  mpc::interpose::LibcState* state = mpc::interpose::libc_state();
  mpc::loader::ProgramInstance* instance = mpc::loader::running_instance();
  if (instance == nullptr || state == nullptr) NEXT(pthread_exit)(value);
  if (auto* main = main_thread(pthread_self())) {  // another thread may join it
    main->value = value;
    main->has_ended.store(1, std::memory_order_release);
    mpc::futex_wake(main->has_ended);
  }
  constexpr uint64_t kPollNs = 1'000'000;
  while (state->thread_count.load(std::memory_order_acquire) >
         0)  // pairs with ~Counted
    mpc::sched::sleep_until(mpc::sched::now_ns() + kPollNs);
  instance->exit(0);
}
