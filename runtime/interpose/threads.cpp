// Threads that a rank starts are kernel threads that belong to the rank: they may call MPI, and
// see the rank's own state of libc.

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <threads.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>

#include "base/log.h"
#include "base/rank_heap.h"
#include "runtime/interpose/affinity.h"
#include "runtime/interpose/clock.h"
#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/main_thread.h"
#include "runtime/interpose/next.h"
#include "runtime/interpose/rank_clock.h"
#include "runtime/interpose/rank_locale.h"
#include "runtime/interpose/working_directory.h"
#include "runtime/job/crash.h"
#include "scheduler/binding.h"
#include "scheduler/execution.h"

#define NEXT(name) MPC_NEXT(name, decltype(&::name))

extern "C" char __ehdr_start[];
extern "C" char _end[];

namespace {

using mpc::job::Rank;
using StartFunction = void* (*)(void*);

// A rank that waits in pthread_join; on its stack.
struct Joiner final : mpc::sched::WaitReason {
  mpc::sched::Execution* execution = &mpc::sched::Execution::self();
  std::atomic<bool> has_ended{
      false};  // release by the ending thread, acquire by the joiner
  std::string text() const override { return "pthread_join: a thread of the rank"; }
};

// A thread of a rank, from its creation until it ends. Under g_threads_mutex, which is held over
// short stretches without a switch.
struct Live {
  pthread_t id{};
  Joiner* joiner = nullptr;
  Live* next = nullptr;
};
constinit std::mutex g_threads_mutex;
constinit Live* g_threads = nullptr;

// A forked child must find it free.
__attribute__((constructor)) void register_mutex() {
  const auto unlock = [] { g_threads_mutex.unlock(); };
  ::pthread_atfork([] { g_threads_mutex.lock(); }, unlock, unlock);
}

void thread_ends(Live* live) {
  const std::lock_guard lock(g_threads_mutex);
  Live** link = &g_threads;
  while (*link != live) link = &(*link)->next;
  *link = live->next;
  if (Joiner* joiner = live->joiner) {
    mpc::sched::Execution* execution =
        joiner->execution;  // the joiner may go right away
    joiner->has_ended.store(true, std::memory_order_release);
    execution->unpark();
  }
  delete live;
}

struct Start {
  StartFunction function;
  void* argument;
  Rank* rank;
  Live* live;
  std::optional<mpc::interpose::CpusOfThread>
      cpus{};  // where it runs; none: as its creator, or as attributes say
};

// One thread more, or less, of `rank`. Returns how many there are then.
int count_thread(Rank& rank, int change) {
  if (mpc::sched::Scheduler* scheduler = rank.job->scheduler())
    mpc::sched::bindings_of(*scheduler)
        .count_threads(rank.job->worker_of(rank.world_rank), change);
  auto* state = rank.libc;
  if (state == nullptr) return 0;
  // Release pairs with the acquire in pthread_exit().
  return state->thread_count.fetch_add(change, std::memory_order_release) + change;
}

// Counts a thread until it ends, by return or by pthread_exit().
class Counted {
 public:
  Counted(Rank& rank, Live* live) : rank_(rank), live_(live) {}
  ~Counted() {
    thread_ends(live_);
    count_thread(rank_, -1);
  }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  Rank& rank_;
  Live* live_;
};

void* run_as_rank(void* argument) {
  const std::unique_ptr<Start> start(static_cast<Start*>(argument));
  mpc::enter_rank_heap(start->rank->world_rank, -1);
  const Counted counted(*start->rank, start->live);
  const mpc::job::crash::SignalStack signal_stack;
  mpc::sched::Execution::self().set_identity(start->rank);
  mpc::sched::expected_kernel_thread_is_here();
  if (start->cpus) mpc::interpose::bind_this_thread(*start->cpus);
  if (start->rank->copy != nullptr) start->rank->copy->enter_thread();
  mpc::interpose::enter_working_directory(*start->rank);
  const mpc::interpose::ThreadClock clock(*start->rank);
  mpc::interpose::use_rank_locale_here(*start->rank);
  return start->function(start->argument);
}

// The threads of the runtime itself belong to no rank.
bool is_own_function(StartFunction function) {
  const auto* address = reinterpret_cast<const char*>(function);
  return address >= __ehdr_start && address < _end;
}

// Do the attributes say where the thread may run? Libc answers with ones only if they do not; if
// they do, with zeros behind the end of what was given.
bool have_affinity(const pthread_attr_t& attributes) {
  cpu_set_t sets[8];
  if (pthread_attr_getaffinity_np(&attributes, sizeof sets, sets) != 0) return false;
  const auto* bytes = reinterpret_cast<const unsigned char*>(sets);
  return std::any_of(bytes, bytes + sizeof sets,
                     [](unsigned char byte) { return byte != 0xff; });
}

// What pthread_setattr_default_np() of the rank said, or null.
const pthread_attr_t* default_attributes(const Rank& rank) {
  const auto* state = rank.libc;
  return state != nullptr && state->has_thread_defaults ? &state->thread_defaults
                                                        : nullptr;
}

// libc's attributes, with a guard as wide as costs nothing: libc's own is one page, which a local
// array steps over.
class WideGuard {
 public:
  WideGuard() {
    constexpr size_t kGuardBytes = 1 << 20;
    pthread_attr_init(&attributes_);
    pthread_attr_setguardsize(&attributes_, kGuardBytes);
  }
  ~WideGuard() { pthread_attr_destroy(&attributes_); }
  WideGuard(const WideGuard&) = delete;
  WideGuard& operator=(const WideGuard&) = delete;
  const pthread_attr_t* get() const noexcept { return &attributes_; }

 private:
  pthread_attr_t attributes_;
};

int create(pthread_t* thread, const pthread_attr_t* attributes, StartFunction function,
           void* argument, Rank* rank) {
  auto live = std::unique_ptr<Live>(new (std::nothrow) Live);
  auto* start = new (std::nothrow) Start{function, argument, rank, live.get()};
  if (live == nullptr || start == nullptr) {
    delete start;
    return EAGAIN;
  }
  const WideGuard wide_guard;
  if (attributes == nullptr) attributes = default_attributes(*rank);
  if (attributes == nullptr) attributes = wide_guard.get();
  const int number = count_thread(*rank, 1);
  // A kernel thread gives its own affinity on; the one below a rank has its worker's.
  if (rank->copy != nullptr && mpc::sched::Execution::self().is_ult() &&
      !have_affinity(*attributes))
    start->cpus = mpc::interpose::cpus_for_thread(*rank, number);
  int error = 0;
  {
    // Held until the thread is in the list: it must find itself there when it ends.
    const std::lock_guard lock(g_threads_mutex);
    mpc::sched::expect_kernel_thread();
    error = NEXT(pthread_create)(thread, attributes, run_as_rank, start);
    if (error == 0) {
      live->id = *thread;
      live->next = g_threads;
      g_threads = live.release();
    }
  }
  if (error != 0) {
    mpc::sched::expected_kernel_thread_is_here();
    delete start;
    count_thread(*rank, -1);
  }
  return error;
}

struct C11Start {
  thrd_start_t function;
  void* argument;
};

void* run_c11(void* argument) {
  const std::unique_ptr<C11Start> start(static_cast<C11Start*>(argument));
  return reinterpret_cast<void*>(
      static_cast<intptr_t>(start->function(start->argument)));
}

}  // namespace

namespace {

// In a singleton, too: its rank is whoever calls MPI.
Rank* rank_of_caller() {
  if (!mpc::interpose::g_is_ready) return nullptr;
  return mpc::job::Job::existing() != nullptr ? mpc::job::current_rank() : nullptr;
}

}  // namespace

MPC_EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              StartFunction function, void* argument) noexcept {
  Rank* rank = is_own_function(function) ? nullptr : rank_of_caller();
  if (rank == nullptr)
    return NEXT(pthread_create)(thread, attributes, function, argument);
  return create(thread, attributes, function, argument, rank);
}

// The attributes of threads that are created without any, per rank. Libc has them once: it checks
// and copies them for us.
MPC_EXPORT int pthread_setattr_default_np(const pthread_attr_t* attributes) noexcept {
  mpc::interpose::LibcState* state = mpc::interpose::libc_state();
  if (state == nullptr) return NEXT(pthread_setattr_default_np)(attributes);
  const std::scoped_lock lock(g_threads_mutex, state->mutex);
  pthread_attr_t of_process;
  int error = NEXT(pthread_getattr_default_np)(&of_process);
  if (error != 0) return error;
  error = NEXT(pthread_setattr_default_np)(attributes);
  if (error == 0) {
    if (state->has_thread_defaults) pthread_attr_destroy(&state->thread_defaults);
    state->has_thread_defaults =
        NEXT(pthread_getattr_default_np)(&state->thread_defaults) == 0;
    NEXT(pthread_setattr_default_np)(&of_process);
  }
  pthread_attr_destroy(&of_process);
  return error;
}
MPC_EXPORT int pthread_getattr_default_np(pthread_attr_t* attributes) noexcept {
  mpc::interpose::LibcState* state = mpc::interpose::libc_state();
  if (state == nullptr) return NEXT(pthread_getattr_default_np)(attributes);
  const std::scoped_lock lock(g_threads_mutex, state->mutex);
  if (!state->has_thread_defaults) return NEXT(pthread_getattr_default_np)(attributes);
  pthread_attr_t of_process;
  int error = NEXT(pthread_getattr_default_np)(&of_process);
  if (error != 0) return error;
  NEXT(pthread_setattr_default_np)(&state->thread_defaults);
  error = NEXT(pthread_getattr_default_np)(attributes);
  NEXT(pthread_setattr_default_np)(&of_process);
  pthread_attr_destroy(&of_process);
  return error;
}

// --- the end ----------------------------------------------------------------------------------

namespace {

using mpc::interpose::deadline_of;
using mpc::interpose::kForEver;

// Enters the joiner for `thread`; false: nobody need wait, libc knows what there is to say.
bool enlist(Joiner& joiner, pthread_t thread) {
  const std::lock_guard lock(g_threads_mutex);
  for (Live* live = g_threads; live != nullptr; live = live->next) {
    if (pthread_equal(live->id, thread) == 0 || live->joiner != nullptr) continue;
    live->joiner = &joiner;
    return true;
  }
  return false;
}

void delist(Joiner& joiner) {
  const std::lock_guard lock(g_threads_mutex);
  for (Live* live = g_threads; live != nullptr; live = live->next)
    if (live->joiner == &joiner) live->joiner = nullptr;
}

// A rank that waits for one of its threads gives its core away: the thread may wait for another
// rank of this core. Returns when the thread has ended or the time is over; libc does the rest.
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

// One of the rank's threads waits for its main thread, which is in pthread_exit() in the end.
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
  // Most have ended by now. ThreadSanitizer does not know pthread_clockjoin_np().
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

// Libc's calls its own pthread_create, not ours.
MPC_EXPORT int thrd_create(thrd_t* thread, thrd_start_t function, void* argument) {
  Rank* rank = rank_of_caller();
  if (rank == nullptr) return NEXT(thrd_create)(thread, function, argument);
  auto start = std::make_unique<C11Start>(C11Start{function, argument});
  const int error = create(thread, nullptr, run_c11, start.get(), rank);
  if (error != 0) return error == ENOMEM || error == EAGAIN ? thrd_nomem : thrd_error;
  start.release();
  return thrd_success;
}

// The main thread of a rank runs on a thread of ours, which must not end. As in a process, the
// rank ends when its last thread has; cleanup handlers of the main thread do not run.
MPC_EXPORT void pthread_exit(void* value) {
  mpc::interpose::LibcState* state = mpc::interpose::libc_state();
  mpc::loader::Copy* copy = mpc::loader::running_copy();
  if (copy == nullptr || state == nullptr) NEXT(pthread_exit)(value);
  if (auto* main = main_thread(pthread_self())) {  // somebody may join it
    main->value = value;
    main->has_ended.store(1, std::memory_order_release);
    mpc::futex_wake(main->has_ended);
  }
  constexpr uint64_t kPollNs = 1'000'000;
  while (state->thread_count.load(std::memory_order_acquire) >
         0)  // pairs with ~Counted
    mpc::sched::sleep_until(mpc::sched::now_ns() + kPollNs);
  copy->exit(0);
}

// --- executable stacks ------------------------------------------------------------------------

namespace {

// A nested function whose address is taken (GNU C; Fortran's internal procedures as arguments)
// is called through a few instructions on the stack.
void make_stack_executable(mpc::job::Rank& rank) {
  if (rank.copy == nullptr || !rank.copy->image().needs_executable_stack()) return;
  const auto stack = mpc::sched::Execution::self().stack();
  if (stack.bytes == 0) return;
  if (::mprotect(const_cast<char*>(stack.low), stack.bytes,
                 PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
    mpc::log::error("rank {}: the stack cannot be made executable, which {} needs: {}",
                    rank.world_rank, rank.copy->image().path(), std::strerror(errno));
}

__attribute__((constructor)) void register_stack_hook() {
  mpc::job::Job::at_rank_start(mpc::job::HookOrder::kThreads, &make_stack_executable);
}

}  // namespace
