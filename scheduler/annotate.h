#pragma once
// Annotations: tell ThreadSanitizer which order a switch and raw atomics establish.
//
// Role:      a user-level thread runs on a parked pthread's control block and stack, so a
//            sanitizer takes it for an ordinary thread; only "this happens before that" between
//            accesses to the worker's own data must be said. Empty in other builds.
// Users:     scheduler, runtime, mpi/objects.
// Threads:   any.
// See also:  docs/scheduler.md, section "Sanitizers".

#if defined(MPC_TSAN)  // for code without instrumentation in a build that has it
#elif defined(__SANITIZE_THREAD__)
#define MPC_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MPC_TSAN 1
#endif
#endif

#define MPC_NO_SANITIZE __attribute__((no_sanitize("thread", "address", "undefined")))

// A function whose accesses are races by the letter, and by its comment are none.
#ifdef MPC_TSAN
#define MPC_UNSEEN_BY_TSAN [[gnu::noinline]] MPC_NO_SANITIZE
#else
#define MPC_UNSEEN_BY_TSAN
#endif

#ifdef MPC_TSAN
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#define MPC_HAPPENS_BEFORE(address) \
  __tsan_release(const_cast<void*>(static_cast<const void*>(address)))
#define MPC_HAPPENS_AFTER(address) \
  __tsan_acquire(const_cast<void*>(static_cast<const void*>(address)))
#else
#define MPC_HAPPENS_BEFORE(address) static_cast<void>(address)
#define MPC_HAPPENS_AFTER(address) static_cast<void>(address)
#endif
