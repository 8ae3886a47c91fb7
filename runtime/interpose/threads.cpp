// Threads that a rank starts are kernel threads that belong to the rank: they may call MPI, and
// see the rank's own state of libc.

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <threads.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>

#include "base/log.h"
#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/next.h"
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
  std::atomic<bool> has_ended{false};  // release by the ending thread, acquire by the joiner
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

void thread_ends(Live* live) {
  const std::lock_guard lock(g_threads_mutex);
  Live** link = &g_threads;
  while (*link != live) link = &(*link)->next;
  *link = live->next;
  if (Joiner* joiner = live->joiner) {
    mpc::sched::Execution* execution = joiner->execution;  // the joiner may go right away
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
};

// Where this process may run: a worker is bound to one core, but a rank's own threads are not.
cpu_set_t g_allowed;
__attribute__((constructor)) void remember_affinity() {
  ::sched_getaffinity(0, sizeof g_allowed, &g_allowed);
}

// Counts a thread until it ends, by return or by pthread_exit().
class Counted {
 public:
  Counted(Rank& rank, Live* live)
      : state_(static_cast<mpc::interpose::LibcState*>(rank.libc)), live_(live) {}
  ~Counted() {
    thread_ends(live_);
    if (state_ != nullptr)
      state_->thread_count.fetch_sub(1, std::memory_order_release);  // pthread_exit
  }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  mpc::interpose::LibcState* state_;
  Live* live_;
};

void* run_as_rank(void* argument) {
  const std::unique_ptr<Start> start(static_cast<Start*>(argument));
  const Counted counted(*start->rank, start->live);
  mpc::sched::Execution::self().set_identity(start->rank);
  mpc::sched::expected_kernel_thread_is_here();
  if (start->rank->copy != nullptr) start->rank->copy->enter_thread();
  return start->function(start->argument);
}

// The threads of the runtime itself belong to no rank.
bool is_own_function(StartFunction function) {
  const auto* address = reinterpret_cast<const char*>(function);
  return address >= __ehdr_start && address < _end;
}

int create(pthread_t* thread, const pthread_attr_t* attributes, StartFunction function,
           void* argument, Rank* rank) {
  auto live = std::unique_ptr<Live>(new (std::nothrow) Live);
  auto* start = new (std::nothrow) Start{function, argument, rank, live.get()};
  if (live == nullptr || start == nullptr) {
    delete start;
    return EAGAIN;
  }
  auto* state = static_cast<mpc::interpose::LibcState*>(rank->libc);
  if (state != nullptr) state->thread_count.fetch_add(1, std::memory_order_relaxed);
  pthread_attr_t own;
  pthread_attr_init(&own);
  const bool sets_affinity =
      attributes == nullptr && rank->copy != nullptr &&
      pthread_attr_setaffinity_np(&own, sizeof g_allowed, &g_allowed) == 0;
  int error = 0;
  {
    // Held until the thread is in the list: it must find itself there when it ends.
    const std::lock_guard lock(g_threads_mutex);
    mpc::sched::expect_kernel_thread();
    error = NEXT(pthread_create)(thread, sets_affinity ? &own : attributes, run_as_rank, start);
    if (error == 0) {
      live->id = *thread;
      live->next = g_threads;
      g_threads = live.release();
    }
  }
  pthread_attr_destroy(&own);
  if (error != 0) {
    mpc::sched::expected_kernel_thread_is_here();
    delete start;
    if (state != nullptr) state->thread_count.fetch_sub(1, std::memory_order_relaxed);
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

// A rank that waits for one of its threads gives its core away: the thread may wait for another
// rank of this core.
MPC_EXPORT int pthread_join(pthread_t thread, void** value) {
  if (rank_of_caller() != nullptr && mpc::sched::Execution::self().is_ult()) {
    Joiner joiner;
    bool waits = false;
    {
      const std::lock_guard lock(g_threads_mutex);
      for (Live* live = g_threads; live != nullptr; live = live->next) {
        if (pthread_equal(live->id, thread) == 0 || live->joiner != nullptr) continue;
        live->joiner = &joiner;
        waits = true;
      }
    }
    while (waits && !joiner.has_ended.load(std::memory_order_acquire)) {
      joiner.execution->park(joiner);
    }
  }
  return NEXT(pthread_join)(thread, value);  // a thread that has ended: short
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
  constexpr uint64_t kPollNs = 1'000'000;
  while (state->thread_count.load(std::memory_order_acquire) >
         0)  // pairs with ~Counted
    mpc::sched::sleep_until(mpc::sched::now_ns() + kPollNs);
  copy->exit(0);
}

// --- where a rank may run ---------------------------------------------------------------------

namespace {

// A rank moves with its worker: binding the kernel thread under it would bind all ranks there.
// The wish is remembered, and what the rank asks for it gets as an answer.
struct Affinity {
  bool is_set = false;
  cpu_set_t set{};
};
Affinity* affinity_of_rank(pid_t thread) {
  thread_local constinit Affinity affinity;  // belongs to the rank's main thread
  if (thread != 0 || !mpc::interpose::g_is_ready) return nullptr;
  if (mpc::loader::running_copy() == nullptr) return nullptr;
  return &affinity;
}

int remember(Affinity& affinity, size_t size, const cpu_set_t* set) {
  cpu_set_t wanted;
  CPU_ZERO(&wanted);
  std::memcpy(&wanted, set, std::min(size, sizeof wanted));
  cpu_set_t possible;
  CPU_AND(&possible, &wanted, &g_allowed);
  if (CPU_COUNT(&possible) == 0) return EINVAL;
  affinity = {true, possible};
  return 0;
}

int recall(const Affinity& affinity, size_t size, cpu_set_t* set) {
  const cpu_set_t& answer = affinity.is_set ? affinity.set : g_allowed;
  std::memset(set, 0, size);
  std::memcpy(set, &answer, std::min(size, sizeof answer));
  return 0;
}

}  // namespace

MPC_EXPORT int sched_setaffinity(pid_t thread, size_t size,
                                 const cpu_set_t* set) noexcept {
  Affinity* affinity = affinity_of_rank(thread);
  if (affinity == nullptr) return NEXT(sched_setaffinity)(thread, size, set);
  errno = remember(*affinity, size, set);
  return errno == 0 ? 0 : -1;
}
MPC_EXPORT int sched_getaffinity(pid_t thread, size_t size, cpu_set_t* set) noexcept {
  Affinity* affinity = affinity_of_rank(thread);
  if (affinity == nullptr) return NEXT(sched_getaffinity)(thread, size, set);
  return recall(*affinity, size, set);
}
MPC_EXPORT int pthread_setaffinity_np(pthread_t thread, size_t size,
                                      const cpu_set_t* set) noexcept {
  Affinity* affinity =
      pthread_equal(thread, pthread_self()) ? affinity_of_rank(0) : nullptr;
  if (affinity == nullptr) return NEXT(pthread_setaffinity_np)(thread, size, set);
  return remember(*affinity, size, set);
}
MPC_EXPORT int pthread_getaffinity_np(pthread_t thread, size_t size,
                                      cpu_set_t* set) noexcept {
  Affinity* affinity =
      pthread_equal(thread, pthread_self()) ? affinity_of_rank(0) : nullptr;
  if (affinity == nullptr) return NEXT(pthread_getaffinity_np)(thread, size, set);
  return recall(*affinity, size, set);
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
  mpc::job::Job::at_rank_start(&make_stack_executable);
}

}  // namespace
