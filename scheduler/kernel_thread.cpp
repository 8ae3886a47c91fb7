#include "scheduler/kernel_thread.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>

#include "base/mutex.h"
#include "base/thread_safety.h"

namespace mpc::sched {
namespace {

// Both live as long as the process: threads may end after the destructors of statics.
constinit Mutex registry_lock;
constinit KernelThread* registry MPC_GUARDED_BY(registry_lock) = nullptr;
constinit std::atomic<int> expected{0};

// A forked child must find it free. While it is held no other
// mutex that fork() also takes is acquired.
__attribute__((constructor)) void register_lock() {
  const auto lock = []() MPC_NO_THREAD_SAFETY_ANALYSIS { registry_lock.lock(); };
  const auto unlock = []() MPC_NO_THREAD_SAFETY_ANALYSIS { registry_lock.unlock(); };
  ::pthread_atfork(lock, unlock, unlock);  // held from one function to the next
}

void enlist(KernelThread& thread) {
  const Locked lock(registry_lock);
  thread.next = registry;
  if (registry != nullptr) registry->previous = &thread;
  registry = &thread;
}

void delist(KernelThread& thread) {
  const Locked lock(registry_lock);
  if (thread.next != nullptr) thread.next->previous = thread.previous;
  if (thread.previous != nullptr)
    thread.previous->next = thread.next;
  else
    registry = thread.next;
}

// Detaches when the thread ends.
struct Holder {
  KernelThread* thread = nullptr;
  ~Holder();
};

thread_local Holder holder;
thread_local constinit bool holder_gone = false;

Holder::~Holder() {
  holder_gone = true;
  if (thread == nullptr) return;
  delist(*thread);
  Execution::forget_current();
  // In a program without mpcrun the main thread's is its rank's, which other threads may still unpark while the
  // process ends: the one that buries jobs with which it was connected.
  [[gnu::used, maybe_unused]] static KernelThread* kept = nullptr;  // for leak checkers
  if (::gettid() == ::getpid())
    kept = thread;
  else
    delete thread;
  thread = nullptr;
}

}  // namespace

thread_local constinit Execution* Execution::current_
    __attribute__((tls_model("initial-exec"))) = nullptr;

Execution& Execution::attach_current_thread() noexcept {
  auto* thread = new KernelThread;
  enlist(*thread);
  // A destructor of another thread_local may call us after
  // ours has run; then the Execution lives on.
  if (!holder_gone) holder.thread = thread;
  current_ = thread;
  return *thread;
}

void expect_kernel_thread() noexcept {
  expected.fetch_add(1, std::memory_order_relaxed);
}

void expected_kernel_thread_is_here() noexcept {
  // Release pairs with is_kernel_thread_expected(): it publishes the thread and its identity.
  expected.fetch_sub(1, std::memory_order_release);
}

bool is_kernel_thread_expected() noexcept {
  return expected.load(std::memory_order_acquire) > 0;
}

void for_each_kernel_thread(const std::function<void(KernelThread&)>& visit) {
  const Locked lock(registry_lock);
  for (KernelThread* thread = registry; thread != nullptr; thread = thread->next)
    visit(*thread);
}

}  // namespace mpc::sched
