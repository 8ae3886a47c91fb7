// Threads that a rank starts are kernel threads that belong to the rank: they may call MPI, and
// see the rank's own state of libc.

#include <pthread.h>
#include <sched.h>
#include <threads.h>

#include <cerrno>
#include <memory>
#include <new>

#include "runtime/interpose/libc_state.h"
#include "runtime/interpose/next.h"

#define NEXT(name) MPC_NEXT(name, decltype(&::name))

extern "C" char __ehdr_start[];
extern "C" char _end[];

namespace {

using mpc::job::Rank;
using StartFunction = void* (*)(void*);

struct Start {
  StartFunction function;
  void* argument;
  Rank* rank;
};

// Where this process may run: a worker is bound to one core, but a rank's own threads are not.
cpu_set_t g_allowed;
__attribute__((constructor)) void remember_affinity() {
  ::sched_getaffinity(0, sizeof g_allowed, &g_allowed);
}

// Counts a thread until it ends, by return or by pthread_exit().
class Counted {
 public:
  explicit Counted(Rank& rank)
      : state_(static_cast<mpc::interpose::LibcState*>(rank.libc)) {}
  ~Counted() {
    if (state_ != nullptr)
      state_->thread_count.fetch_sub(1, std::memory_order_release);  // pthread_exit
  }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  mpc::interpose::LibcState* state_;
};

void* run_as_rank(void* argument) {
  const std::unique_ptr<Start> start(static_cast<Start*>(argument));
  const Counted counted(*start->rank);
  mpc::sched::Execution::self().set_identity(start->rank);
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
  auto* start = new (std::nothrow) Start{function, argument, rank};
  if (start == nullptr) return EAGAIN;
  auto* state = static_cast<mpc::interpose::LibcState*>(rank->libc);
  if (state != nullptr) state->thread_count.fetch_add(1, std::memory_order_relaxed);
  pthread_attr_t own;
  pthread_attr_init(&own);
  const bool sets_affinity =
      attributes == nullptr && rank->copy != nullptr &&
      pthread_attr_setaffinity_np(&own, sizeof g_allowed, &g_allowed) == 0;
  const int error = NEXT(pthread_create)(thread, sets_affinity ? &own : attributes,
                                         run_as_rank, start);
  pthread_attr_destroy(&own);
  if (error != 0) {
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
