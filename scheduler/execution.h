#pragma once
// Execution: a thread of execution that the runtime knows, and the one way in which it waits.
//
// Role:      identity (which rank runs here) and blocking for user-level threads and kernel
//            threads alike. A user-level thread (Ult) gives its worker to another one when it
//            parks; a kernel thread (a singleton's main thread, a pthread started by a rank,
//            a thread of our own) sleeps on a futex. The functions are defined in park.cpp,
//            kernel_thread.cpp, blocking.cpp and spin_budget.cpp.
// Users:     every layer above.
// Threads:   self() belongs to the caller; unpark() may be called by anyone.
// See also:  scheduler/scheduler.h (workers, spawning), docs/design/0002-identity.md.
//
// The FS base is switched together with the user-level thread, so a thread_local of this library
// belongs to the user-level thread, not to the kernel thread that happens to run it, and the
// compiler may cache its address across a switch. What belongs to the kernel thread (its
// Worker) is a field that the worker sets whenever it resumes the Ult: read it again after
// every call that says "Switches: yes".

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace mpc::sched {

class Worker;
class Carrier;
class Poller;
class Ult;

using Clock = std::chrono::steady_clock;  // CLOCK_MONOTONIC
inline uint64_t now_ns() noexcept {
  return static_cast<uint64_t>(Clock::now().time_since_epoch().count());
}

// What an Execution waits for: one entry of the deadlock report and of the Ctrl-\ table.
// Lives on the waiter's stack or in an object that outlives the wait.
// describe() may be called by any thread while the waiter is parked; the scheduler guarantees
// that the waiter does not leave park() meanwhile.
class WaitReason {
 public:
  // Two waiters with the same group_text() are printed as one line ("ranks 0-14,16: ...").
  virtual std::string text() const = 0;
  // May this wait end although no other execution of this job acts (a sleep, a timed wait, a
  // file or network event)? Such a waiter is never part of a deadlock.
  virtual bool can_end_by_itself() const { return false; }

 protected:
  ~WaitReason() = default;
};

// The monitor's clock: now_ns() of its last tick (10 to 100 ms ago); 0 without a scheduler.
uint64_t coarse_now_ns() noexcept;

class Execution {
 public:
  // Caller: any thread. A kernel thread that the runtime has not seen yet is attached
  // (without a rank) at its first call. Cost: one TLS load.
  static Execution& self() noexcept {
    Execution* e = current_;
    return e != nullptr ? *e : attach_current_thread();
  }

  // Blocks until there is a permit, and consumes it. At most one permit is stored, as with
  // LockSupport.park: an unpark() before park() makes park() return at once. May return
  // spuriously; callers loop over their own condition anyway, because a permit may stem
  // from an earlier wait.
  // Switches: yes (an Ult). Order: everything before unpark() happens before the return.
  void park(const WaitReason& reason) noexcept;
  // Like park(), but until a deadline at the latest. Returns false when the time ran out.
  bool park_until(uint64_t deadline_ns, const WaitReason& reason) noexcept;

  // Gives a permit; wakes the execution if it is parked.
  // Caller: any thread (not a signal handler). Switches: no. Order: release, see park().
  // Returns true if it was parked, so that this call has woken it.
  bool unpark() noexcept;
  // Like unpark(); if the execution was parked, it continues on `worker`, of the same scheduler.
  // For user-level threads that may run anywhere.
  void unpark_on(Worker& worker) noexcept;

  // Lets the other ready user-level threads of this worker run; a kernel thread: sched_yield.
  // Switches: yes.
  void yield() noexcept;

  // An upcall: the Ult calls `function` itself, once for any number of requests, when its next
  // park() or yield() ends, the one that it is in included; it is woken for that. The function may
  // leave by a jump. Caller: before the first request.
  static void set_upcall(void (*function)(Execution&)) noexcept { upcall_ = function; }
  // Caller: any thread (not a signal handler). A request that comes while the Ult leaves park() may
  // wait for the next one: who wants it soon asks again.
  void request_upcall() noexcept {
    has_upcall_.store(true, std::memory_order_release);  // pairs with make_upcall()
    unpark();
  }

  bool is_ult() const noexcept { return is_ult_; }
  // True from the beginning of park() to its end. A hint about
  // whether it will soon run again by itself.
  bool is_parked() const noexcept {
    return reason_.load(std::memory_order_relaxed) != nullptr;
  }

  // A hint: its stack has been left in park(). False also while it is in a system call that blocks.
  bool has_left_core() const noexcept {
    return state_.load(std::memory_order_relaxed) >= kParked;
  }

  // The rank that this execution acts for: a job::Rank, opaque here. A kernel thread started by a
  // rank inherits it; a progress thread that runs a user's function adopts it for that call.
  // Written by the execution itself, read by anyone.
  void* identity() const noexcept { return identity_.load(std::memory_order_relaxed); }
  void set_identity(void* identity) noexcept {
    identity_.store(identity, std::memory_order_relaxed);
  }

  // The worker that runs this Ult right now; null for kernel threads that are no worker.
  // Read it again after each switch. Other threads may read it as a hint (where it ran last).
  Worker* worker() const noexcept { return worker_.load(std::memory_order_relaxed); }

  // A hint: it is parked on a core that is awake, so unpark() is cheap. Caller: any.
  bool is_quickly_woken() const noexcept;
  // A hint: it is parked on a core other than the caller's, and that core is awake and idle.
  // Caller: any.
  bool is_on_idle_core() const noexcept;

  // A hint: the id (gettid) of the kernel thread that runs this Ult or ran it last; 0: it has not
  // run yet, or it is no Ult. Caller: any, also signal handlers, while the scheduler exists.
  int kernel_thread() const noexcept;
  // A hint: that thread is outside of the runtime, in the code of the Ult that it runs. Caller: as above.
  bool is_in_own_code() const noexcept;

  // Number of the core (logical index in the topology) of worker(), or -1.
  int core() const noexcept;

  // Detaches the calling thread; its next self() attaches it again. Only at the end of a thread.
  static void forget_current() noexcept { current_ = nullptr; }
  // The stack of an Ult, for crash reports: [low - guard_bytes, low) is the guard. All zero
  // for a kernel thread.
  struct StackRange {
    const char* low;
    size_t bytes, guard_bytes;
  };
  StackRange stack() const noexcept;

  // A slot for the layer that owns the identity's API state (the name of the MPI call in
  // progress), printed in reports. Points to a static string; null when in user code.
  void set_call(const char* name) noexcept {
    call_.store(name, std::memory_order_relaxed);
  }
  const char* call() const noexcept { return call_.load(std::memory_order_relaxed); }

  // What the execution waits for; null unless it is parked and held by
  // Scheduler::for_each_execution.
  const WaitReason* wait_reason() const noexcept {
    return state_.load(std::memory_order_acquire) >= kHeld
               ? reason_.load(std::memory_order_relaxed)
               : nullptr;
  }
  // Number of waits that have begun so far.
  uint64_t park_count() const noexcept {
    return park_count_.load(std::memory_order_relaxed);
  }
  // True in park_until(): the wait ends by itself.
  bool has_deadline() const noexcept {
    return has_deadline_.load(std::memory_order_relaxed);
  }
  uint64_t waiting_since_ns() const noexcept {
    return waiting_since_ns_.load(std::memory_order_relaxed);
  }

 protected:
  Execution() = default;
  ~Execution() = default;
  static Execution& attach_current_thread() noexcept;

  static thread_local constinit Execution* current_
      __attribute__((tls_model("initial-exec")));

  // The permit and the parked state in one word, and the functions that move it:
  //   kActive -> kPermit      unpark()
  //   kPermit -> kActive      park(), which then returns at once
  //   kActive -> kParked      park(), after the stack has been left (an Ult)
  //   kParked -> kActive      unpark() or the end of the time; that thread makes it ready
  //   kParked -> kHeld        for_each_execution(); back to kParked when the visit ends
  //   kHeld   -> kHeldPermit  unpark() during the visit; the visitor makes it ready
  enum State : uint32_t { kActive, kPermit, kParked, kHeld, kHeldPermit };
  friend class Donor;
  friend void ult_main(void* message);
  friend class Worker;
  friend class Carrier;
  friend class Hold;

  const Carrier* carrier_hint() const noexcept;
  // Release, paired with an acquire in carrier_hint(): other threads get a hint, but always of a
  // carrier that is fully constructed. The execution itself reads carrier_ directly.
  void run_on(Carrier* carrier) noexcept {
    std::atomic_ref(carrier_).store(carrier, std::memory_order_release);
  }
  void begin_wait(const WaitReason& reason) noexcept;
  bool take_permit() noexcept;  // kPermit -> kActive
  bool
  publish_parked() noexcept;  // kActive -> kParked; false (and kActive): a permit came
  bool claim_wake(
      uint32_t& seen) noexcept;  // kParked -> kActive by the end of the time
  bool give_permit() noexcept;   // true: it was parked, and the caller makes it ready
  void make_ready() noexcept;    // after (kParked or kHeldPermit) -> kActive
  void take_upcall() noexcept {
    if (has_upcall_.load(std::memory_order_relaxed)) [[unlikely]]
      make_upcall();
  }
  void make_upcall() noexcept;

  std::atomic<uint32_t> state_{kActive};
  std::atomic<Worker*> worker_{nullptr};
  // The kernel thread that runs it; null for foreign threads. Written by run_on() only.
  Carrier* carrier_ = nullptr;
  std::atomic<void*> identity_{nullptr};
  bool is_ult_ = false;
  std::atomic<uint64_t> park_count_{0};  // written by the execution itself
  std::atomic<const char*> call_{nullptr};
  std::atomic<const WaitReason*> reason_{nullptr};
  std::atomic<uint64_t> waiting_since_ns_{0};
  std::atomic<bool> has_deadline_{false};
  std::atomic<bool> has_upcall_{false};
  using Upcall = void (*)(Execution&);
  static inline constinit Upcall upcall_ = nullptr;
};

// A bounded busy wait before park(). Spins only while the worker has nothing else to run, and
// for at most `sched.spin_us`: spinning costs the user's other work, sleeping costs a wake-up.
//   SpinBudget spin;
//   while (!done()) { if (!spin.once()) { prepare; park; } }
class SpinBudget {
 public:
  SpinBudget() noexcept;
  ~SpinBudget() {
    if (count_ != 0) end();
  }
  // Starts a new budget; what remains of the old one is dropped.
  SpinBudget& operator=(SpinBudget&& other) noexcept {
    if (count_ != 0) end();
    count_ = other.count_;
    end_ns_ = other.end_ns_;
    other.count_ = 0;
    return *this;
  }
  // One pause of a few ns. False when it is time to park: another Ult is ready here (checked
  // at every call, one load from our own cache line), or the budget is used up.
  // While it spins it polls the sources of events now and then, if there are any.
  bool once() noexcept;

 private:
  void end() noexcept;
  void look_outside(Poller& poller, uint64_t now) noexcept;
  void stop_looking() noexcept;
  bool let_threads_run(uint64_t now) noexcept;
  bool give_up() noexcept {
    if ((count_ & kIsLooking) != 0) [[unlikely]]
      stop_looking();
    return false;
  }

  // A bit of count_: see Poller.
  static constexpr uint32_t kIsLooking = uint32_t{1} << 31;
  uint32_t count_ = 0;
  uint64_t end_ns_ = 0;
};

// Would SpinBudget let an Ult spin right now, for something that another worker of the process may
// do? False for executions without a worker. Cost: a few loads from our own cache lines.
bool spinning_pays() noexcept;

// Polls the sources of events, if there are any and nobody has polled them for long. For calls that
// test and find nothing. Caller: any execution that holds no lock. Switches: no.
void look_outside() noexcept;

// A blocking system call or pthread wait of a rank: while its kernel thread sleeps, the worker's other ranks
// run on a spare one. Regions may be nested. Caller: any. Switches: at the end, if the
// worker was handed over. The scheduler also retakes workers that block without a region, but later.
class BlockingRegion {
 public:
  BlockingRegion() noexcept;
  ~BlockingRegion();
  BlockingRegion(const BlockingRegion&) = delete;
  BlockingRegion& operator=(const BlockingRegion&) = delete;
};

// Announces a kernel thread that will have an identity: until it has one, executions that wait for
// it are not deadlocked. The first function is called before the thread is created; the second by
// the thread once it has its identity, or by its creator if no thread could be created.
// Caller: any. Switches: no.
void expect_kernel_thread() noexcept;
void expected_kernel_thread_is_here() noexcept;

// Sleeps; other user-level threads of the worker run meanwhile. Switches: yes.
void sleep_until(uint64_t deadline_ns) noexcept;
// Sleeps but keeps the core, as a computation would: no other user-level thread runs there
// meanwhile, and the monitor does not take the worker away. For emulated machines.
// Switches: no, unless the worker was taken away before.
void sleep_on_core(uint64_t deadline_ns) noexcept;

}  // namespace mpc::sched
