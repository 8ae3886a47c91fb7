#pragma once
// Carrier: a kernel thread that can run a worker's user-level threads.
//
// Role:      the "M" of the P/M/G scheme. It holds a worker, or is a spare. Its own stack and
//            control block run WorkerLoop only.
// Users:     scheduler only.
// Threads:   see each function. in_runtime_ and claim_ are the two sides of a biased lock: the carrier
//            pays a store and a load, the thread that takes its
//            worker pays a system call (membarrier).
// See also:  scheduler/monitor.h, docs/scheduler.md section "Hand-over".

#include <pthread.h>
#include <signal.h>

#include <atomic>

#include "base/futex.h"
#include "base/result.h"
#include "scheduler/context/fiber.h"
#include "scheduler/cpu_account.h"
#include "scheduler/ult.h"

namespace mpc::sched {

// First frame of each Ult.
void ult_main(void* message);

class Carrier final : public Execution {
 public:
  // What all carriers of a scheduler have in common.
  struct Plan {
    sigset_t signal_mask;        // of the thread that started the scheduler
    void (*on_kernel_thread)();  // called by each one first; may be null
    void (*run)(Carrier& carrier,
                void* scheduler);  // what it runs, until the scheduler ends
    void* scheduler;
  };
  explicit Carrier(const Plan& plan) : plan_(plan) {}
  ~Carrier() = default;

  Result<> start(Worker* worker);
  void stop() noexcept;  // joins the thread
  // Gives a worker to a spare carrier. Caller: the thread that took it from the list of spares.
  void adopt(Worker& worker) noexcept;
  // Sleeps until adopt() or stop(). Caller: the carrier itself.
  void wait_for_worker() noexcept;
  // True: the worker was taken away while its Ult was outside the runtime, so this carrier is a
  // spare now. Caller: the carrier itself.
  bool has_lost_worker() const noexcept {
    return claim_.load(std::memory_order_acquire) == kLostWorker;
  }
  // Runs an Ult, and those after it, until nothing is ready or the worker is lost. Caller: the carrier
  // itself, on its own stack.
  void resume(Ult& ult) noexcept;

  // Enters the runtime. Caller: the Ult that runs on this carrier.
  // True: the worker is ours until leave().
  // False: the worker was retaken; the Ult runs on alone. Cost: 1-2 ns.
  bool enter() noexcept {
    in_runtime_.store(1, std::memory_order_relaxed);
    // The monitor's membarrier() orders this store before the load; here only the compiler must
    // be kept from reordering them.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (__builtin_expect(claim_.load(std::memory_order_acquire) == kMine, 1))
      return true;
    return enter_slowly();
  }
  void leave() noexcept {
    // Pairs with the acquire in try_retake().
    in_runtime_.store(0, std::memory_order_release);
  }
  // Takes the worker away if the carrier is outside the runtime. Caller: the monitor.
  Worker* try_retake() noexcept;
  // Takes a ready Ult from a worker that computes, or returns null. The worker is stopped
  // meanwhile: its Ult waits if it enters the runtime. Caller: the owner of another worker.
  // Cost: a membarrier, which interrupts each core that runs a thread of this process.
  static Ult* take_ready_of(Worker& victim) noexcept;

  Worker* worker() const noexcept { return held_; }
  void set_in_region(bool on) noexcept {
    in_region_.store(on, std::memory_order_relaxed);
  }
  bool in_region() const noexcept { return in_region_.load(std::memory_order_relaxed); }
  bool is_in_runtime() const noexcept {
    return in_runtime_.load(std::memory_order_relaxed) != 0;
  }
  int tid() const noexcept { return tid_.load(std::memory_order_relaxed); }

  // Continues with the next ready Ult of the worker, or with the idle loop. Called on the stack
  // of `from`; returns there when some thread resumes `from`. The worker must be held (enter()).
  // kReturn: `from` is queued at its origin, which is another worker.
  enum class After : uint8_t {
    kParked,
    kParkedWithTimer,
    kRequeue,
    kReturn,
    kEnded,
    kLost
  };
  void switch_away(Ult& from, After after) noexcept;

  // What the arriving side does for the side that left. Called inside the runtime.
  void settle(Ult& from, After after) noexcept;

  Carrier* next_spare = nullptr;
  uint64_t hook_state =
      ~uint64_t{0};    // see switch_hook.h; the initial state is unknown
  CpuAccount account;  // of this kernel thread; used while counts_cpu_time()

 private:
  enum Claim : uint32_t { kMine, kTaking, kLostWorker };
  static void* thread_main(void* self);
  void run() noexcept;
  bool enter_slowly() noexcept;
  // Keeps the carrier out of the runtime until it is released (or has lost its worker). False: it
  // is inside, or another thread holds it. Caller: monitor, thieves.
  bool try_hold() noexcept;
  void let_go() noexcept;
  friend void ult_main(void* message);

  const Plan& plan_;
  Worker* held_ = nullptr;
  context::Fiber native_;
  std::atomic<uint32_t> in_runtime_{1};
  std::atomic<uint32_t> claim_{kMine};
  std::atomic<bool> in_region_{false};
  FutexWord gate_{0};  // a spare sleeps here; 1: go on
  std::atomic<int> tid_{0};
  pthread_t thread_{};
};

}  // namespace mpc::sched
