#pragma once
// Emulation: work takes the time that it would take on another machine, and sleeps that long.
//
// Role:      `mpcrun --emulate knl64` runs the real scheduler, placement, matching and engine
//            with one worker per core of a machine that does not exist. What would keep a core
//            busy (copies, reductions, computation) is done at once; then its core sleeps as long
//            as the work would take, so that 64 workers fit on 2 cores. A factor stretches all
//            times, so that the real machine's noise is small compared with them.
// Users:     runtime/job turns it on, mpi sets the costs and the clock; runtime/message,
//            nbc/engine and the program (MPCX_Emulated_compute) have work to charge.
// Threads:   turn_on() and set_costs() before ranks run; the rest any.
// See also:  docs/design/0012-emulation.md, docs/overlap.md.

#include <atomic>
#include <cstdint>

namespace mpc::sched {

// What work costs on the emulated machine; plain numbers, so that no model is named here.
struct EmulatedCosts {
  enum Reach {
    kCache,
    kNuma,
    kMachine,
    kReachCount
  };  // how far apart a copy's ends are
  struct Copy {
    double fixed_ns = 0, ns_per_byte = 0;
  };
  Copy copy[kReachCount];
  double node_ns = 0;           // starting and completing a node of a schedule
  double message_ns = 0;        // matching
  double numa_ns_per_byte = 0;  // all copies of one NUMA node together; 0: no limit
  double reduce_ns_per_byte = 0;
  int cores_per_cache = 1, cores_per_numa = 1;
};

class Emulation {
 public:
  static bool is_on() noexcept { return is_on_.load(std::memory_order_relaxed); }
  // Reads emulate.stretch and emulate.scale. Caller: the launcher, before workers start.
  static void turn_on() noexcept;
  static void set_costs(const EmulatedCosts& costs) noexcept;
  // The factor by which everything takes longer (emulate.stretch).
  static int stretch() noexcept;
  // How many bytes each real byte stands for (emulate.scale).
  static int64_t scale() noexcept;
  // Real to emulated time.
  static double emulated_ns(uint64_t real_ns) noexcept;
  static uint64_t emulated_now_ns() noexcept;
  // Keeps the core busy for that long, from `real_begin_ns` on: meanwhile no other user-level
  // thread of the worker runs, and the monitor does not hand the worker over. Caller: any.
  // Switches: no, unless the worker was taken away before.
  static void occupy(uint64_t real_begin_ns, double emulated_ns) noexcept;

 private:
  static std::atomic<bool> is_on_;
};

// Work is done for real while this object lives; the destructor waits for the rest of the time that
// the work takes on the emulated machine. Costs only a load where no machine is emulated.
class EmulatedWork {
 public:
  EmulatedWork(const EmulatedWork&) = delete;
  EmulatedWork& operator=(const EmulatedWork&) = delete;
  ~EmulatedWork() {
    if (duration_ns_ > 0) finish();
  }

 protected:
  EmulatedWork() = default;
  void begin(double duration_ns, int numa) noexcept;
  void finish() noexcept;

 private:
  double duration_ns_ = 0;
  uint64_t begin_ns_ = 0;
  int numa_ = -1;  // the node whose copies are counted
};

// A message's copy between ranks on these cores (logical numbers; below 0: unknown).
class EmulatedCopy : public EmulatedWork {
 public:
  EmulatedCopy(int64_t bytes, int core_from, int core_to) noexcept {
    if (Emulation::is_on()) start(bytes, core_from, core_to);
  }

 private:
  void start(int64_t bytes, int core_from, int core_to) noexcept;
};

// A reduction, or a copy inside one rank's memory.
class EmulatedLocal : public EmulatedWork {
 public:
  enum Kind : uint8_t { kReduce, kCopy };
  EmulatedLocal(Kind kind, int64_t bytes) noexcept {
    if (Emulation::is_on()) start(kind, bytes);
  }

 private:
  void start(Kind kind, int64_t bytes) noexcept;
};

}  // namespace mpc::sched
