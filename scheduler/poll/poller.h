#pragma once
// Poller: decides who polls the sources of events outside the job, and when.
//
// Role:      ranks that wait and workers without work poll for all ranks of the process. Where none
//            does, the sources' descriptors wake a worker that sleeps; if all workers compute, and
//            interrupts are wanted, they wake a thread of the scheduler's own, the listener.
// Users:     scheduler. The code that opens a network between processes adds its source.
// Threads:   see each function.
// See also:  scheduler/poll/watch.h (the state, and why no wake-up is lost),
//            docs/scheduler.md section "Polling", docs/design/0020-polling.md.

#include <atomic>
#include <cstdint>
#include <functional>

#include "base/mutex.h"
#include "base/result.h"
#include "scheduler/poll/demand.h"
#include "scheduler/poll/event_source.h"
#include "scheduler/poll/grace.h"
#include "scheduler/poll/listener.h"
#include "scheduler/poll/turns.h"
#include "scheduler/poll/wake_set.h"
#include "scheduler/poll/watch.h"

namespace mpc::sched {

// The processes whose messages a source brings.
enum class EventReach {
  kThisProcess,  // work under way is known (outside_work.h): if all ranks wait they are deadlocked
  // It is unknown: if all ranks wait they are quiet, see Scheduler::quiet().
  kOtherProcesses
};

// Totals of the process since its start. The same numbers are counters (net.polls ...).
struct PollCounts {
  uint64_t polls, useful_polls;  // number of polls; and of those that found something
  uint64_t interrupts, futile_interrupts;  // of a process whose workers all computed
  uint64_t wake_ups, futile_wake_ups;      // of a sleeping worker, by a descriptor
  uint64_t arms;                           // times that descriptors were armed
  uint64_t late_finds;                     // news that only the monitor's tick found
};

class Poller final : private Demand {
 public:
  // begin_use: tells the workers about this poller; called with the first source.
  // on_kernel_thread: the listener calls it first; may be null.
  Poller(std::function<void()> begin_use, void (*on_kernel_thread)());
  ~Poller();
  Poller(const Poller&) = delete;

  // Ownership: the source is polled and armed until remove()
  // has returned or the scheduler is destroyed.
  // Caller: a kernel thread, best before ranks run. Errors: kSystem.
  Result<> add(EventSource& source, EventReach reach);
  // After it has returned no thread calls the source any more, and its descriptor may be closed.
  // Waits for a poll() that is running. Caller: a kernel thread, not from poll().
  void remove(EventSource& source) noexcept;
  // Removes all of them: what still comes from there is not looked at. Caller: as remove().
  void remove_all(EventReach reach) noexcept;

  Demand& demand() noexcept { return *this; }
  // From now on demand is counted: while there is none no rank is interrupted. Ownership: the
  // account outlives the scheduler. Caller: a kernel thread, before ranks run.
  void keep_account(DemandAccount& account) noexcept;
  // Overrides the setting net.interrupts from now on. Caller: any, as Demand::raise().
  void set_interrupts(Interrupts when) noexcept { watch_.set_interrupts(when); }
  Interrupts interrupts() const noexcept { return watch_.interrupts(); }
  static PollCounts counts() noexcept;

  // ---- for the scheduler ----
  enum class Looker { kWaits, kIdle };
  // Between begin_look() and end_look() the caller promises to call turn() again soon, or to sleep
  // by go_to_sleep(). Meanwhile no computing rank is interrupted.
  // Caller of all of them: any thread that holds no lock. Switches: no.
  void begin_look() noexcept { watch_.begin_look(); }
  // has_work: of its own, so it should not make the network wake others that nobody may need soon.
  void end_look(bool has_work = false) noexcept {
    watch_.end_look(has_work && Grace::is_given());
  }
  // Polls, if the last poll of any thread is long enough ago. True: something has happened.
  bool turn(uint64_t now_ns, Looker who) noexcept {
    if (!is_due(now_ns, who)) return false;
    const bool found = poll_at(now_ns);
    if (!found) give_way();
    return found;
  }
  bool is_due(uint64_t now_ns, Looker who) const noexcept;
  // The same for a rank that waits for nothing else: polls several times in a row, while nothing
  // comes. One looker at a time, so that lookers do not take the network's lines away from each
  // other; the others poll when it is late. `looker`: the one that gives up this role before
  // end_look().
  bool turn_eagerly(uint64_t now_ns, const void* looker) noexcept;
  void give_up_eagerness(const void* looker) noexcept {
    if (eager_.load(std::memory_order_relaxed) == looker)
      eager_.store(nullptr, std::memory_order_relaxed);
  }
  // For CloseLook: the caller, who is `looker`, polls a source itself, as turn_eagerly() would. False: another one
  // is eager, or this is called from within a poll. Otherwise followed by end_close_look().
  bool begin_close_look(const void* looker) noexcept;
  void end_close_look(const void* looker, int polls, bool has_found) noexcept;
  // See DemandAccount. False if there is no account.
  bool may_help_caller() const noexcept;
  void look_away(bool is_over) noexcept;
  // See Demand.
  bool come_by(uint64_t now_ns, bool is_again) noexcept override;

  // How long a worker without work polls before it sleeps.
  uint64_t idle_spin_ns() const noexcept;

  // So many processes of the job share a core of this one. From 2 on a thread that polls gives the core
  // away after each turn, because the process whose message it awaits may need it, and polls for as many
  // times as long: of that time it has its share only. Caller: before ranks run.
  void share_core(int processes) noexcept { turns_.share(processes); }
  // 1 as well while other programs want the core: then it polls briefly, and sleeps (turns.h).
  uint64_t processes_per_core() const noexcept {
    return static_cast<uint64_t>(turns_.processes(&Poller::ticks));
  }
  // Gives the core away once. False: nothing has happened, as the process has it alone, or other programs
  // want it. Cost: a system call.
  bool give_way() noexcept;

  // The state of a worker that polled and goes to sleep, and polls again afterwards.
  struct Bed {
    WakeSet*
        descriptors;  // to sleep on; null: on its futex, another thread listens for it
  };
  Bed go_to_sleep() noexcept;
  // is_called: a descriptor has ended the sleep.
  void wake_up(Bed bed, bool is_called) noexcept;

  // For the monitor: polls if no thread has polled for long, whatever the state says.
  void tick(uint64_t now_ns) noexcept;

  // ---- for quiescence ----
  bool reaches_other_processes() const noexcept {
    return outer_sources_.load(std::memory_order_relaxed) != 0;
  }
  // No thread polls. Afterwards activity() counts all earlier polls that found something.
  bool is_at_rest() const noexcept { return watch_.lookers() == 0; }
  uint64_t activity() const noexcept { return finds_.load(std::memory_order_relaxed); }

 private:
  // The effects of the watch on the world outside.
  struct Outside {
    Poller& poller;
    bool poll() noexcept { return poller.poll_all(); }
    bool arm() noexcept { return poller.arm_all(); }
    void listen(Ear ear) noexcept { poller.set_of(ear).listen(); }
    void ignore() noexcept {
      poller.sleepers_.ignore();
      poller.listener_.set().ignore();
    }
    void call_listener() noexcept { poller.listener_.call(); }
    void set_alarm() noexcept { poller.grace_.begin(); }
  };
  static uint32_t urgent(uint32_t things, Urgency urgency) noexcept {
    return urgency == Urgency::kNow ? things : 0;
  }
  void raise(uint32_t things, Urgency urgency) noexcept override {
    watch_.raise(things, urgent(things, urgency), Grace::is_given());
    if (urgency == Urgency::kCanWait) grace_.note_call();
  }
  void hasten(uint32_t things) noexcept override { watch_.raise(0, things, false); }
  void call_now() noexcept override { watch_.cover_deferred(); }
  void lower(uint32_t things, Urgency urgency) noexcept override {
    watch_.lower(things, urgent(things, urgency));
  }
  WakeSet& set_of(Ear ear) noexcept {
    return ear == Ear::kSleeper ? sleepers_ : listener_.set();
  }
  bool poll_at(uint64_t now_ns) noexcept;
  static uint64_t ticks() noexcept;
  bool poll_all(int most_polls = 1) noexcept;
  void count_polls(int polls, bool found) noexcept;
  bool arm_all() noexcept;
  bool answer_call(bool by_descriptor) noexcept;
  static bool answer(void* poller, bool by_descriptor) noexcept;
  static void end_grace(void* poller) noexcept;

  static constexpr int kMostSources = 4;
  struct Source {
    std::atomic<EventSource*> source{nullptr};
    EventReach reach{};
  };

  const std::function<void()> begin_use_;
  void (*const on_kernel_thread_)();
  Source sources_[kMostSources];
  std::atomic<int> sources_in_use_{0}, outer_sources_{0};
  WakeSet sleepers_;
  Outside outside_{*this};
  alignas(64) Watch<Outside> watch_;
  alignas(64) std::atomic<uint64_t> last_poll_ns_{0};
  // The looker of turn_eagerly(). A hint: for a moment there may be two, or an unknown one.
  std::atomic<const void*> eager_{nullptr};
  std::atomic<DemandAccount*> account_{nullptr};
  Turns turns_;
  std::atomic<uint64_t> finds_{0};  // polls that found something
  // Threads that are in a function of a source; see remove().
  std::atomic<int> visitors_{0};
  Mutex lock_;  // of add() and remove()
  Grace grace_;
  Listener listener_;  // declared last: its thread ends first
};

// An active wait as a looker: from its first turn on, as long as this object lives.
class ActiveLook {
 public:
  explicit ActiveLook(Poller* poller) noexcept : poller_(poller) {}
  ~ActiveLook() { stop(); }
  ActiveLook(const ActiveLook&) = delete;
  void turn(uint64_t now_ns, Poller::Looker who) noexcept {
    if (poller_ == nullptr || !poller_->is_due(now_ns, who)) return;
    if (!looks_) poller_->begin_look();
    looks_ = true;
    poller_->turn(now_ns, who);
  }
  // Stops looking until the next turn, which may come late.
  void stop() noexcept {
    if (looks_) poller_->end_look();
    looks_ = false;
  }

 private:
  Poller* const poller_;
  bool looks_ = false;
};

}  // namespace mpc::sched
