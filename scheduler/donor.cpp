#include "scheduler/donor.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "base/service_thread.h"
#include "scheduler/annotate.h"
#include "scheduler/carrier.h"
#include "scheduler/limits.h"
#include "scheduler/worker.h"

namespace mpc::sched {

// Between the donor's frame and the Ult's first one. The Ult's first context is written while
// the donor still runs, so the stack frames of all that the donor calls from then on must fit in
// here: two leaf functions, or a sanitizer's run time.
#ifdef MPC_TSAN
constexpr size_t kRedZoneBytes = 64 * 1024;
#else
constexpr size_t kRedZoneBytes = 2048;
#endif

// From the push on, the Ult may run with this thread's control block, and below this frame on
// this thread's stack. So until the gate opens there must be no call that is not inlined, no
// thread_local and no instrumentation. Only for that reason does this repeat Worker::push_remote().
[[gnu::noinline]] MPC_NO_SANITIZE void Donor::publish_and_sleep(
    Ult& ult, Worker& first) noexcept {
  Ult** inbox = first.inbox_.raw();
  FutexWord& sleeping_word = first.sleeping_;
  auto* sleeping = reinterpret_cast<uint32_t*>(&sleeping_word);
  auto* gate = reinterpret_cast<uint32_t*>(&ult.donor_gate);
  Ult* top = __atomic_load_n(inbox, __ATOMIC_RELAXED);
  do {
    ult.next = top;
  } while (!__atomic_compare_exchange_n(inbox, &top, &ult, true, __ATOMIC_SEQ_CST,
                                        __ATOMIC_RELAXED));
  if (__atomic_load_n(sleeping, __ATOMIC_SEQ_CST) != 0) {
    const uint32_t on = __atomic_exchange_n(sleeping, 0, __ATOMIC_SEQ_CST);
    if (on != 0) Worker::end_sleep(sleeping_word, on);
  }
  // Acquire pairs with the release in Ult::end().
  while (__atomic_load_n(gate, __ATOMIC_ACQUIRE) == 0)
    raw_syscall(SYS_futex, reinterpret_cast<long>(gate), FUTEX_WAIT_PRIVATE, 0);
}

void* Donor::thread_main(void* argument) {
  Ult& ult = *static_cast<Ult*>(argument);
  Execution::current_ = &ult;
  auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  // publish_and_sleep() has its frame within the red zone.
  auto top = (here - kRedZoneBytes) & ~uintptr_t{63};
  auto bottom = reinterpret_cast<uintptr_t>(ult.stack);
  CHECK(top > bottom, "the stack is smaller than the thread's own data");
  Worker& first = *ult.first_inbox;
  MPC_HAPPENS_BEFORE(&first.inbox_);  // partner: the exchange in drain_inbox()
  context::prepare(ult.fiber, reinterpret_cast<void*>(top), top - bottom,
                   context::current_fs(), &ult_main);
  publish_and_sleep(ult, first);
  // What remains to run on this kernel thread: the destructors of the Ult's thread_locals.
  Execution::forget_current();
  return nullptr;
}

namespace {

bool is_affinity_here(const cpu_set_t& wanted) noexcept {
  cpu_set_t here;
  CPU_ZERO(&here);
  // For a rank libc's function answers with what the rank asked for; the system call does not.
  return raw_syscall(SYS_sched_getaffinity, 0, sizeof here,
                     reinterpret_cast<long>(&here)) > 0 &&
         CPU_EQUAL(&here, &wanted);
}

}  // namespace

Result<> Donor::start(Ult& ult, Worker& first, const cpu_set_t& allowed) {
  ult.first_inbox = &first;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, ult.stack, ult.stack_bytes);
  take_no_signals(attributes);
  // Not only on the core of the rank that creates a progress thread, because that core computes.
  // Otherwise the creator's affinity is good enough: a thread with
  // an affinity of its own first waits until it is set.
  if (CPU_COUNT(&allowed) > 0 && !is_affinity_here(allowed))
    pthread_attr_setaffinity_np(&attributes, sizeof allowed, &allowed);
  const int error = pthread_create(&ult.donor, &attributes, &thread_main, &ult);
  pthread_attr_destroy(&attributes);
  if (error == 0) return {};
  if (error == EINVAL) {
    return {
        Errc::kNoMem,
        fmt::format(
            "a stack of {} bytes has no room for the thread's own data (thread_local "
            "variables of all libraries): raise the stack size",
            ult.stack_bytes)};
  }
  return {Errc::kNoMem, fmt::format("cannot create the thread of a rank ({}): {}",
                                    std::strerror(error), thread_limit_advice(1))};
}

}  // namespace mpc::sched
