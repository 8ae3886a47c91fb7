#pragma once
// Theft: which ready user-level threads an idle worker takes from other workers, and when.
//
// Role:      a user-level thread moves to an idle worker if it is ready while its own worker
//            computes with another one, and for longer than a wait usually lasts. So a rank that
//            sends to a rank of its own core and continues to compute gives work to the other
//            cores.
// Users:     WorkerLoop (when it is idle), SpinBudget (a rank
//            that polls while others may be taken).
// Threads:   look() and take(): the code that runs on the worker. The state consists of hints,
//            which two threads may write while a worker changes hands.
// See also:  docs/scheduler.md section "Stealing".

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "scheduler/ult.h"
#include "scheduler/worker.h"

namespace mpc::sched {

class Theft {
 public:
  // Victims: the other workers of the thief's group, those with the nearest cores first.
  // far: the core is so distant that a thread's data would have to come from another node.
  struct Neighbour {
    Worker* worker;
    bool is_far;
  };
  explicit Theft(const std::vector<Neighbour>& neighbours);
  Theft(const Theft&) = delete;

  // A thread that has waited for less than this does not look at all: waits of a collective are
  // shorter, and a look costs the thread that it waits for.
  static constexpr uint64_t kWaitBeforeLookNs = 4'000;

  enum class Verdict : uint8_t {
    kNothing,  // nobody has a ready thread to spare
    kSoon,     // some worker has one, which it may yet run itself
    kDue,      // take() is worth a try
  };
  // Checks the victims at most every kLookNs. Caller: the worker's owner, or the thread that polls
  // on it. Cost: two lines of each victim, which the victim fetches back when it writes them next.
  Verdict look(uint64_t now_ns) noexcept;

  // The result of the last look.
  bool is_due() const noexcept {
    return verdict_.load(std::memory_order_relaxed) == Verdict::kDue;
  }
  // After this time kSoon has changed to another verdict, unless the victim keeps switching.
  uint64_t longest_patience_ns() const noexcept;

  // A thread that is due, or null. Caller: the owner of the thief. Cost: a membarrier.
  Ult* take() noexcept;

 private:
  struct Victim {
    Worker* worker = nullptr;
    uint64_t patience_ns = 0;
    // The victim's switch_count when it was first seen with a ready thread, and the time of that;
    // 0: it had none at the last look. Hints (see above).
    std::atomic<uint64_t> switch_count{0};
    std::atomic<uint64_t> since_ns{0};
    std::atomic<uint32_t> tries{0};  // tries in vain, at this switch_count
  };
  static Verdict judge(Victim& victim, uint64_t now_ns) noexcept;

  std::unique_ptr<Victim[]> victims_;
  size_t victim_count_;
  std::atomic<uint64_t> next_look_ns_{0};
  std::atomic<Verdict> verdict_{Verdict::kNothing};
};

}  // namespace mpc::sched
