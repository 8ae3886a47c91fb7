#pragma once
// Thread-safety annotations: which lock guards what, checked by clang (-Wthread-safety); and Locked.
//
// Role:      names for clang's attributes; empty with other compilers. A lock is a capability; a
//            member says which one guards it, and a function which ones its caller holds.
// Users:     base/mutex.h, base/spin_lock.h, and every layer that has locks.
// Threads:   no state of its own.
// See also:  base/spin_lock.h, base/mutex.h; "Thread Safety Analysis" in clang's manual.

#if defined(__clang__)
#define MPC_THREAD_SAFETY(attribute) __attribute__((attribute))
#else
#define MPC_THREAD_SAFETY(attribute)
#endif

// For a class: its objects are locks; or its objects hold a lock while they live.
#define MPC_CAPABILITY(name) MPC_THREAD_SAFETY(capability(name))
#define MPC_SCOPED_CAPABILITY MPC_THREAD_SAFETY(scoped_lockable)

// For a variable: only a thread that holds the lock touches it, or what it points to.
#define MPC_GUARDED_BY(lock) MPC_THREAD_SAFETY(guarded_by(lock))
#define MPC_PT_GUARDED_BY(lock) MPC_THREAD_SAFETY(pt_guarded_by(lock))

// For a function: the caller holds the lock; the function
// acquires, releases, or tries to acquire it.
#define MPC_REQUIRES(...) MPC_THREAD_SAFETY(requires_capability(__VA_ARGS__))
#define MPC_ACQUIRE(...) MPC_THREAD_SAFETY(acquire_capability(__VA_ARGS__))
#define MPC_RELEASE(...) MPC_THREAD_SAFETY(release_capability(__VA_ARGS__))
#define MPC_TRY_ACQUIRE(...) MPC_THREAD_SAFETY(try_acquire_capability(__VA_ARGS__))

// For a function that the analysis cannot follow. A comment says why it is correct anyway.
#define MPC_NO_THREAD_SAFETY_ANALYSIS MPC_THREAD_SAFETY(no_thread_safety_analysis)

namespace mpc {

// Holds a Mutex or a SpinLock while it lives.
template <class Lock>
class MPC_SCOPED_CAPABILITY Locked {
 public:
  explicit Locked(Lock& lock) MPC_ACQUIRE(lock) : lock_(lock) { lock_.lock(); }
  ~Locked() MPC_RELEASE() { lock_.unlock(); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  Lock& lock_;
};

}  // namespace mpc
