// Threads that a rank starts are kernel threads that belong to the rank: they may call MPI, and
// see the rank's own state of libc.

#include <pthread.h>
#include <threads.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <mutex>
#include <new>
#include <optional>

#include "base/rank_heap.h"
#include "runtime/interpose/affinity.h"
#include "runtime/interpose/executable_stack.h"
#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/live_threads.h"
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

using mpc::interpose::g_threads_mutex;
using mpc::interpose::LiveThread;
using mpc::interpose::rank_of_caller;
using mpc::job::Rank;
using StartFunction = void* (*)(void*);

struct Start {
  StartFunction function;
  void* argument;
  Rank* rank;
  LiveThread* live;
  std::optional<mpc::interpose::CpusOfThread>
      cpus{};  // where it runs; none: like its creator, or as the attributes say
};

// Adds `change` (1 or -1) to the threads of `rank`. Returns how many there are then.
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
  Counted(Rank& rank, LiveThread* live) : rank_(rank), live_(live) {}
  ~Counted() {
    mpc::interpose::thread_ends(live_);
    count_thread(rank_, -1);
  }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  Rank& rank_;
  LiveThread* live_;
};

void* run_as_rank(void* argument) {
  const std::unique_ptr<Start> start(static_cast<Start*>(argument));
  mpc::enter_rank_heap(start->rank->world_rank, -1);
  const Counted counted(*start->rank, start->live);
  const mpc::job::crash::SignalStack signal_stack;
  mpc::sched::Execution::self().set_identity(start->rank);
  mpc::sched::expected_kernel_thread_is_here();
  mpc::interpose::make_thread_stack_executable(*start->rank);
  if (start->cpus) mpc::interpose::bind_this_thread(*start->cpus);
  if (start->rank->instance != nullptr) start->rank->instance->enter_thread();
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

// Do the attributes say where the thread may run? Libc returns all ones only if they do not; if
// they do, it returns zeros after the end of what was given.
bool have_affinity(const pthread_attr_t& attributes) {
  cpu_set_t sets[8];
  if (pthread_attr_getaffinity_np(&attributes, sizeof sets, sets) != 0) return false;
  const auto* bytes = reinterpret_cast<const unsigned char*>(sets);
  return std::any_of(bytes, bytes + sizeof sets,
                     [](unsigned char byte) { return byte != 0xff; });
}

// The attributes that the rank set by pthread_setattr_default_np(), or null.
const pthread_attr_t* default_attributes(const Rank& rank) {
  const auto* state = rank.libc;
  return state != nullptr && state->has_thread_defaults ? &state->thread_defaults
                                                        : nullptr;
}

// libc's attributes, with a guard as wide as possible at no cost: libc's
// own is one page, which a local array steps over.
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
  auto live = std::unique_ptr<LiveThread>(new (std::nothrow) LiveThread);
  auto* start = new (std::nothrow) Start{function, argument, rank, live.get()};
  if (live == nullptr || start == nullptr) {
    delete start;
    return EAGAIN;
  }
  const WideGuard wide_guard;
  if (attributes == nullptr) attributes = default_attributes(*rank);
  if (attributes == nullptr) attributes = wide_guard.get();
  const int number = count_thread(*rank, 1);
  // A kernel thread passes on its own affinity; the one below a rank has its worker's.
  if (rank->instance != nullptr && mpc::sched::Execution::self().is_ult() &&
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
      mpc::interpose::add_thread(live.release());
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

MPC_EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              StartFunction function, void* argument) noexcept {
  Rank* rank = is_own_function(function) ? nullptr : rank_of_caller();
  if (rank == nullptr)
    return NEXT(pthread_create)(thread, attributes, function, argument);
  return create(thread, attributes, function, argument, rank);
}

// Libc's function calls its own pthread_create, not ours.
MPC_EXPORT int thrd_create(thrd_t* thread, thrd_start_t function, void* argument) {
  Rank* rank = rank_of_caller();
  if (rank == nullptr) return NEXT(thrd_create)(thread, function, argument);
  auto start = std::make_unique<C11Start>(C11Start{function, argument});
  const int error = create(thread, nullptr, run_c11, start.get(), rank);
  if (error != 0) return error == ENOMEM || error == EAGAIN ? thrd_nomem : thrd_error;
  (void)start.release();  // now owned by the thread
  return thrd_success;
}

// The attributes of threads that are created without any, per rank. Libc has them once; here it
// checks and copies them for us.
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
