#pragma once
// Progress threads: run what a rank leaves to the background, on a core chosen by the policy.
//
// Role:      one progress thread per rank, a user-level thread created when first needed. It
//            takes items (copies, reductions, nodes of a schedule) from the rank's queue on
//            the core that the policy names, and moves when cores become idle or busy.
// Users:     runtime/job makes one per rank; runtime/message and nbc/engine submit items.
// Threads:   submit(), take(), take_any() any; stop() the rank. Items run one after the other
//            on the progress thread, or earlier on the thread that takes them back.
// See also:  docs/overlap.md; Denis et al. 2018, sections 3 and 5; Trahay and Denis 2009.
//
// A communication core is a worker without ranks (`mpcrun --comm-cores`, or what the ranks
// leave free). An item is accepted only if some core can be expected to run it soon; otherwise
// the caller does the work itself, as if there were no progress threads.

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "scheduler/execution.h"
#include "topology/machine.h"

namespace mpc::sched {

class Scheduler;
class ProgressThread;

enum class ProgressPolicy : uint8_t {
  kOff,      // no background work: it is done in MPI calls only
  kClosest,  // the closest idle core, communication cores first; chosen again each time
  kSame,     // the rank's own core, when the rank waits
  kNext,     // the next worker, whatever it does
  kNuma,  // communication cores of the rank's NUMA node in turn (all, if it has none)
  kList,  // worker list[rank % size]
  kTasks,  // no thread: a task in the machine's queue, for whichever core has nothing to do
};
// "closest", "same", ... Errors: kArg with the known names.
Result<ProgressPolicy> parse_progress_policy(std::string_view text);
const char* name_of(ProgressPolicy policy) noexcept;

enum class ProgressNeed : uint8_t {
  kAnyCore,   // the caller does not want to do it: also where others are queued
  kFreeCore,  // only where it begins at once: the caller could do it just as well
};

// Where the data of an operation lie; an item does all or a part of the operation.
struct ProgressData {
  bool is_near = false;  // of ranks on the caller's core: in its cache, if they are few
  int64_t bytes = 0;     // of the whole operation
};

// True: submit() would refuse an item with such data in any case, because it is too small or its
// data are in the caller's cache. Asking first saves the preparations of a hand-over. Caller: any.
bool is_kept_here(int64_t bytes, ProgressData data) noexcept;

// One piece of background work, embedded in its owner's memory. The queue does not touch it
// after `run` has begun, nor after take() has returned it.
struct ProgressItem {
  using Run = void (*)(ProgressItem& self) noexcept;
  Run run;             // must not park; set before submit()
  ProgressItem* next;  // the queue's
};

// The cores of one scheduler as places for progress threads.
class ProgressCores {
 public:
  struct Config {
    ProgressPolicy policy = ProgressPolicy::kClosest;
    std::vector<int> list{};  // kList: workers
    int application_workers =
        1;  // workers 0..n-1 have ranks, the others are for communication
  };
  // Ownership: scheduler and machine outlive it.
  static std::unique_ptr<ProgressCores> make(Scheduler& scheduler,
                                             const topo::Machine& machine,
                                             const Config& config);
  virtual ~ProgressCores() = default;
  // The progress thread of a rank. `identity` is its Execution::identity while it runs items.
  virtual std::unique_ptr<ProgressThread> make_thread(void* identity, int rank,
                                                      int home_worker) = 0;
  virtual int communication_workers() const noexcept = 0;
  virtual int application_workers() const noexcept = 0;
  virtual ProgressPolicy policy() const noexcept = 0;
};

class ProgressThread {
 public:
  virtual ~ProgressThread() = default;

  // Queues `item`, whose work is about `bytes` of copying. False: no core is available for it
  // (nothing was stored). If the thread naps, the item may wait for the rest of the nap, some
  // 100 us. Switches: no. Order: release; run() sees what was written before.
  // Cost: 50 ns; some us if a sleeping core is woken; the first call creates the thread.
  virtual bool submit(ProgressItem& item, int64_t bytes, ProgressNeed need,
                      ProgressData data = {}) noexcept = 0;
  // Takes `item` back if its run has not begun. `item` is only compared, never read, unless it
  // is queued here.
  virtual bool take(ProgressItem* item) noexcept = 0;
  // Takes the oldest item; null if there is none. For the rank itself, when it waits.
  virtual ProgressItem* take_any() noexcept = 0;
  bool has_items() const noexcept {
    return count_.load(std::memory_order_relaxed) != 0;  // a hint
  }
  // A hint: a new item would wait for others of this thread.
  bool is_busy() const noexcept {
    return has_items() || is_working_.load(std::memory_order_relaxed);
  }
  // A hint: the thread sleeps for a moment, and items may wait that long.
  virtual bool is_napping() const noexcept = 0;
  // True on the progress thread itself.
  virtual bool is_running_here() const noexcept = 0;
  // Accepts no further items; the thread ends when it has run those that
  // are queued. Waits for that: the thread may still wake others after
  // the last completion. Caller: the rank. Switches: yes.
  virtual void stop() noexcept = 0;

 protected:
  std::atomic<uint32_t> count_{0};
  std::atomic<bool> is_working_{false};  // the thread has taken an item, which runs
};

}  // namespace mpc::sched
