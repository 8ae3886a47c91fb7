#include "scheduler/progress/progress.h"

#include <algorithm>

#include "base/check.h"
#include "base/counter.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/trace.h"
#include "scheduler/emulation/emulation.h"
#include "scheduler/progress/rhythm.h"
#include "scheduler/scheduler_impl.h"

namespace mpc::sched {
namespace {

IntSetting min_bytes("progress.min_bytes", 16 << 10, "bytes",
                     "Smallest copy or reduction that is worth handing to another core",
                     0);
IntSetting near_bytes(
    "progress.near_bytes", 256 << 10, "bytes",
    "The same where the operation's data are of ranks of the core that has them, "
    "and no more than that: in its cache a copy takes a fraction of the time",
    0);
IntSetting wake_bytes(
    "progress.wake_bytes", 256 << 10, "bytes",
    "Smallest copy or reduction for which a sleeping core with ranks of its "
    "own is woken",
    0);
IntSetting spin_us(
    "progress.spin_us", 200, "us",
    "How long a communication core waits actively for more work, if work has "
    "been coming that often",
    0, 1'000'000);
IntSetting nap_us(
    "progress.nap_us", 100, "us",
    "How long a communication core sleeps at a time between looks for more work, "
    "where work comes too rarely to wait actively for it; 0: until it is woken",
    0, 1'000'000);

Counter item_counter{"progress.items", "Pieces of work done by progress threads"};
Counter taken_counter{"progress.taken_back",
                      "Pieces of work that a waiting rank took back and did itself"};
Counter wake_counter{"progress.wakes", "Sleeping cores woken for background work"};
Counter wake_time_counter{"progress.wake_us",
                          "Time that those who woke sleeping cores spent on it (us)"};
Counter nap_counter{"progress.naps",
                    "Times that a communication core slept for a moment only"};
Counter move_counter{"progress.moves", "Progress threads moved to another core"};

constexpr trace::Site kSubmit{"progress", "submit", {"bytes", "to core"}};
constexpr trace::Site kMove{"progress", "move", {"from core", "to core"}};
constexpr trace::Site kWork{"progress", "background work", {"core"}, false, true};
constexpr trace::Site kPoll{"progress", "wait actively", {}, false, true};
constexpr trace::Site kNap{"progress", "nap", {}, false, true};

constexpr int64_t kCopiedPerNs = 16;  // bytes, about: memory of today's servers
constexpr uint64_t kFirstWakeCostNs = 2'000;
constexpr uint64_t kHighestWakeCostNs = 200'000;
constexpr uint64_t kShortSpinNs = 5'000;
constexpr uint64_t kLongestGapNs = 10'000'000;
// Shorter naps than that cost more processor time than waiting actively.
constexpr uint64_t kShortestNapNs = 20'000;
constexpr uint64_t kFirstLatenessNs = 5'000;
constexpr uint64_t kMostLatenessNs = 200'000;

class IdleReason final : public WaitReason {
  std::string text() const override { return "progress thread without work"; }
};

// A worker as a place for progress threads.
struct alignas(64) Site {
  Worker* worker = nullptr;
  int core = 0;
  int numa = 0;
  bool is_dedicated = false;
  // Progress threads that are there and have work, or wait actively for it.
  std::atomic<int> busy{0};
  std::atomic<bool> is_polling{false};  // a hint: one of them waits actively
  // When work was offered or ended here last, and the longest usual time between two pieces
  // of work. Hints: several ranks may write them at once.
  std::atomic<uint64_t> last_work_ns{0};
  std::atomic<uint64_t> usual_gap_ns{kLongestGapNs};
  // When work comes, where it comes regularly; how late this core is after a nap, usually.
  Rhythm rhythm;
  std::atomic<uint64_t> lateness_ns{kFirstLatenessNs};
  // What ranks have copied themselves lately, as this core slept; under the same terms.
  std::atomic<int64_t> refused_bytes{0};

  bool is_free() const noexcept {
    if (is_taken()) return false;
    return is_polling.load(std::memory_order_relaxed) ||
           (worker->is_idle.load(std::memory_order_relaxed) && !worker->has_ready());
  }
  // Threads of ranks have this core.
  bool is_taken() const noexcept {
    return worker->scheduler().bindings().is_taken(worker->index());
  }
  // Free, and it begins at once.
  bool is_awake() const noexcept { return is_free() && !worker->is_sleeping(); }
  // Work is offered. Only pauses that a short wait does not cover count, or the pieces of one
  // message would hide the pause before the next message. A long one counts at once, shorter
  // ones by and by: a core that is awake in vain costs less than one that must be woken.
  void note_offer() noexcept {
    const uint64_t now = now_ns();
    const uint64_t last = last_work_ns.exchange(now, std::memory_order_relaxed);
    if (last == 0 || now < last + kShortSpinNs) return;
    rhythm.note_burst(now);
    const uint64_t gap = std::min(now - last, kLongestGapNs);
    const uint64_t usual = usual_gap_ns.load(std::memory_order_relaxed);
    usual_gap_ns.store(gap > usual ? gap : usual - (usual - gap) / 16,
                       std::memory_order_relaxed);
    if (gap == kLongestGapNs) refused_bytes.store(0, std::memory_order_relaxed);
  }
  // How long to wait actively for more work.
  uint64_t polling_ns(uint64_t now) const noexcept {
    if (is_taken()) return 0;
    if (!is_dedicated) return kShortSpinNs;
    // It comes regularly: nothing is missed before it is due.
    if (appointment(now).from >
        now + kShortestNapNs + lateness_ns.load(std::memory_order_relaxed))
      return kShortSpinNs;
    const uint64_t limit = static_cast<uint64_t>(spin_us.get()) * 1000;
    const uint64_t usual = usual_gap_ns.load(std::memory_order_relaxed);
    if (usual > limit) return std::min(kShortSpinNs, limit);
    return std::min(2 * usual + kShortSpinNs, limit);
  }
  // How long to look for more work from time to time after that, and how often.
  uint64_t napping_ns() const noexcept {
    const uint64_t usual = usual_gap_ns.load(std::memory_order_relaxed);
    if (!is_dedicated || usual >= kLongestGapNs || nap_us.get() == 0 || is_taken())
      return 0;
    return 4 * usual;
  }
  uint64_t nap_length_ns(uint64_t now) const noexcept {
    return nap_length(now, last_work_ns.load(std::memory_order_relaxed),
                      static_cast<uint64_t>(nap_us.get()) * 1000);
  }
  // When this core ought to be awake, as work comes regularly; {0, 0}: nobody knows.
  Rhythm::Window appointment(uint64_t now) const noexcept {
    if (!rhythm.is_steady() || Emulation::is_on()) return {};
    return rhythm.next(now);
  }
  void note_lateness(uint64_t ns) noexcept {
    const uint64_t usual = lateness_ns.load(std::memory_order_relaxed);
    lateness_ns.store((7 * usual + std::min(ns, kMostLatenessNs)) / 8,
                      std::memory_order_relaxed);
  }
};

class Cores final : public ProgressCores {
 public:
  Cores(SchedulerImpl& scheduler, const topo::Machine& machine, const Config& config)
      : scheduler_(scheduler), config_(config), sites_(scheduler.workers().size()) {
    const auto& workers = scheduler.workers();
    for (size_t i = 0; i < workers.size(); ++i) {
      sites_[i].worker = workers[i].get();
      sites_[i].core = workers[i]->core();
      sites_[i].numa = machine.core(sites_[i].core).numa;
      sites_[i].is_dedicated = static_cast<int>(i) >= config.application_workers;
    }
    order_by_distance(machine);
  }

  std::unique_ptr<ProgressThread> make_thread(void* identity, int rank,
                                              int home_worker) override;
  int communication_workers() const noexcept override {
    return static_cast<int>(sites_.size()) - config_.application_workers;
  }
  int application_workers() const noexcept override {
    return config_.application_workers;
  }
  ProgressPolicy policy() const noexcept override { return config_.policy; }

  SchedulerImpl& scheduler() noexcept { return scheduler_; }
  const Config& config() const noexcept { return config_; }
  Site& site(int worker) noexcept { return sites_[static_cast<size_t>(worker)]; }
  // Is a ready progress thread waiting for a communication core that does something else?
  bool has_backlog() const noexcept {
    return std::any_of(sites_.begin() + config_.application_workers, sites_.end(),
                       [](const Site& site) {
                         return site.worker->has_ready() &&
                                !site.worker->is_idle.load(std::memory_order_relaxed);
                       });
  }
  int site_count() const noexcept { return static_cast<int>(sites_.size()); }

  // The place for work of a rank at `home` that is at `present` now (or null); null: none.
  Site* closest(int home, Site* present, int64_t bytes) noexcept;
  // The communication core on which such a rank's work is counted; null: there is none.
  Site* usual_site(int home, Site* present) noexcept {
    if (present != nullptr && present->is_dedicated) return present;
    const auto& near = near_[static_cast<size_t>(home)];
    return near.empty() ? nullptr : &site(near.front());
  }

  // Is it worth its price to wake `site` for so many bytes, which the caller could copy too?
  // It is for those that ranks had to copy themselves lately, as well: a stream of pieces that
  // are too small one by one wakes the core in the end.
  bool is_worth_waking(Site& site, int64_t bytes) noexcept {
    if (Emulation::is_on()) return true;  // wake-ups of the host are not the machine's
    const int64_t price =
        kCopiedPerNs *
        static_cast<int64_t>(wake_cost_ns_.load(std::memory_order_relaxed));
    return bytes + site.refused_bytes.load(std::memory_order_relaxed) >= price;
  }
  void note_wake_cost(uint64_t ns) noexcept {
    const uint64_t usual = wake_cost_ns_.load(std::memory_order_relaxed);
    wake_cost_ns_.store((7 * usual + std::min(ns, kHighestWakeCostNs)) / 8,
                        std::memory_order_relaxed);
  }

  // Workers for communication in the NUMA node of `home`; all of them if it has none; all
  // workers if there are none at all.
  const std::vector<int>& numa_sites(int home) const noexcept {
    return numa_[static_cast<size_t>(home)];
  }

 private:
  void order_by_distance(const topo::Machine& machine);

  SchedulerImpl& scheduler_;
  const Config config_;
  std::vector<Site> sites_;
  std::atomic<uint64_t> wake_cost_ns_{kFirstWakeCostNs};  // a hint: to whoever wakes
  std::vector<std::vector<int>> near_;  // by home: dedicated workers, the closest first
  std::vector<std::vector<int>> near_application_;
  std::vector<std::vector<int>> numa_;
};

void Cores::order_by_distance(const topo::Machine& machine) {
  const int n = site_count();
  for (int home = 0; home < n; ++home) {
    std::vector<int> dedicated, application, local;
    for (int step = 1; step <= n; ++step) {
      const int worker = (home + step) % n;  // ties: the next one, so that homes differ
      (site(worker).is_dedicated ? dedicated : application).push_back(worker);
    }
    auto nearer = [&](int a, int b) {
      return machine.distance(site(home).core, site(a).core) <
             machine.distance(site(home).core, site(b).core);
    };
    std::stable_sort(dedicated.begin(), dedicated.end(), nearer);
    std::stable_sort(application.begin(), application.end(), nearer);
    for (int worker : dedicated) {
      if (machine.core(site(worker).core).numa == machine.core(site(home).core).numa)
        local.push_back(worker);
    }
    if (local.empty()) local = dedicated.empty() ? application : dedicated;
    near_.push_back(std::move(dedicated));
    near_application_.push_back(std::move(application));
    numa_.push_back(std::move(local));
  }
}

Site* Cores::closest(int home, Site* present, int64_t bytes) noexcept {
  if (present != nullptr && present->is_dedicated && present->is_free() &&
      present->numa == site(home).numa &&
      (present->is_awake() || is_worth_waking(*present, bytes)))
    return present;
  Site* fewest = nullptr;
  Site* idle = nullptr;
  Site* sleeping = nullptr;
  for (int worker : near_[static_cast<size_t>(home)]) {
    Site& candidate = site(worker);
    if (candidate.is_taken()) continue;
    if (candidate.is_polling.load(std::memory_order_relaxed)) return &candidate;
    if (candidate.is_free()) {
      const bool is_good = candidate.is_awake() || is_worth_waking(candidate, bytes);
      if (idle == nullptr && is_good) idle = &candidate;
      if (sleeping == nullptr) sleeping = &candidate;
      continue;
    }
    if (fewest == nullptr || candidate.busy.load(std::memory_order_relaxed) <
                                 fewest->busy.load(std::memory_order_relaxed))
      fewest = &candidate;
  }
  if (idle != nullptr) return idle;
  if (bytes >= wake_bytes.get()) {
    for (int worker : near_application_[static_cast<size_t>(home)])
      if (site(worker).is_free()) return &site(worker);
  }
  // It waits behind others: a reason to wake that core next time.
  if (fewest != nullptr && sleeping != nullptr)
    sleeping->refused_bytes.fetch_add(bytes, std::memory_order_relaxed);
  return fewest;
}

class Thread final : public ProgressThread {
 public:
  Thread(Cores& cores, void* identity, int rank, int home)
      : cores_(cores), identity_(identity), rank_(rank), home_(home), task_(*this) {}

  ~Thread() override;
  bool submit(ProgressItem& item, int64_t bytes, ProgressNeed need,
              ProgressData data) noexcept override;
  bool take(ProgressItem* item) noexcept override;
  ProgressItem* take_any() noexcept override;
  bool is_running_here() const noexcept override { return t_running == this; }
  bool is_napping() const noexcept override {
    return is_napping_hint_.load(std::memory_order_relaxed);
  }
  void stop() noexcept override;

 private:
  class Lock {
   public:
    explicit Lock(Thread& thread) noexcept : thread_(thread) {
      // acquire pairs with the destructor's release: the list.
      while (thread_.locked_.exchange(true, std::memory_order_acquire)) wait();
    }
    ~Lock() { thread_.locked_.store(false, std::memory_order_release); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    void wait() noexcept {
      if (++turns_ < 1000)
        __builtin_ia32_pause();
      else
        sched_yield();  // held for some ns, unless its holder has lost its core
    }
    Thread& thread_;
    int turns_ = 0;
  };

  // Policy kTasks: the thread's work as a task.
  struct OwnTask : Task {
    explicit OwnTask(Thread& owner) noexcept : Task(&Thread::run_task), thread(owner) {}
    Thread& thread;
  };

  static TaskResult run_task(Task& task);
  bool is_task() const noexcept { return cores_.policy() == ProgressPolicy::kTasks; }
  Site* choose(int64_t bytes) noexcept;
  void wake(Site& site) noexcept;
  void move_to(Site& site) noexcept;
  bool spawn(Site& site) noexcept;
  ProgressItem* pop() noexcept;
  ProgressItem* pop_to_run() noexcept;
  void main() noexcept;
  Site& arrive() noexcept;
  void run_all() noexcept;
  // Both under the lock. Who naps keeps no core busy.
  void begin_nap() noexcept {
    is_napping_ = true;
    is_napping_hint_.store(true, std::memory_order_relaxed);
    site_.load(std::memory_order_relaxed)->busy.fetch_sub(1, std::memory_order_relaxed);
  }
  void end_nap() noexcept {
    is_napping_ = false;
    is_napping_hint_.store(false, std::memory_order_relaxed);
    site_.load(std::memory_order_relaxed)->busy.fetch_add(1, std::memory_order_relaxed);
  }
  bool is_due() const noexcept {
    return has_items() || is_stopping_.load(std::memory_order_relaxed);
  }
  bool poll_until(uint64_t end_ns, bool gives_way) noexcept;
  bool wait_actively() noexcept;
  bool nap() noexcept;
  void nap_until(Site& site, uint64_t deadline_ns) noexcept;
  bool rest() noexcept;

  Cores& cores_;
  void* const identity_;
  const int rank_;
  const int home_;
  std::atomic<Execution*> execution_{nullptr};

  std::atomic<bool> locked_{false};
  // Under the lock:
  ProgressItem* first_ = nullptr;
  ProgressItem* last_ = nullptr;
  bool is_active_ = false;  // it runs, or has been woken; then nobody need wake it
  // Active, but parked: it looks at the queue in a moment. Who turns this off owes an unpark().
  bool is_napping_ = false;
  std::atomic<bool> is_napping_hint_{false};  // the same for others, without the lock
  bool is_broken_ = false;                    // could not be made
  std::atomic<bool> is_stopping_{false};
  // Written by whoever sets is_active_; read by the thread afterwards.
  std::atomic<Site*> site_{nullptr};
  OwnTask task_;

  // Whose items run on this execution.
  static thread_local constinit Thread* t_running;
};

thread_local constinit Thread* Thread::t_running = nullptr;

std::unique_ptr<ProgressThread> Cores::make_thread(void* identity, int rank,
                                                   int home_worker) {
  return std::make_unique<Thread>(*this, identity, rank, home_worker);
}

// ---- submitting ----------------------------------------------------------------------------

Site* Thread::choose(int64_t bytes) noexcept {
  const auto rank = static_cast<size_t>(rank_);
  switch (cores_.policy()) {
    case ProgressPolicy::kOff:
      return nullptr;
    case ProgressPolicy::kTasks:  // whoever is idle takes it: is anybody?
    case ProgressPolicy::kClosest:
      return cores_.closest(home_, site_.load(std::memory_order_relaxed), bytes);
    case ProgressPolicy::kSame:
      return &cores_.site(home_);
    case ProgressPolicy::kNext:
      return &cores_.site((home_ + 1) % cores_.site_count());
    case ProgressPolicy::kNuma: {
      const auto& sites = cores_.numa_sites(home_);
      return &cores_.site(sites[rank % sites.size()]);
    }
    case ProgressPolicy::kList: {
      const auto& list = cores_.config().list;
      return &cores_.site(list[rank % list.size()]);
    }
  }
  return nullptr;
}

bool Thread::submit(ProgressItem& item, int64_t bytes, ProgressNeed need,
                    ProgressData data) noexcept {
  if (is_kept_here(bytes, data)) return false;
  Site* const usual = cores_.usual_site(home_, site_.load(std::memory_order_relaxed));
  if (usual != nullptr) usual->note_offer();
  Site* const target = choose(bytes);
  const bool is_at_once = target != nullptr && target->is_free();
  item.next = nullptr;
  bool must_wake = false, disturbs = false, moves = false;
  {
    const Lock lock(*this);
    const bool is_wanted =
        need == ProgressNeed::kFreeCore ? is_at_once : target != nullptr || is_napping_;
    if (is_broken_ || is_stopping_.load(std::memory_order_relaxed) || !is_wanted) {
      if (usual != nullptr)
        usual->refused_bytes.fetch_add(bytes, std::memory_order_relaxed);
      return false;
    }
    const bool has_thread =
        is_task() || execution_.load(std::memory_order_relaxed) != nullptr;
    if (!has_thread && !spawn(*target)) return false;
    (last_ != nullptr ? last_->next : first_) = &item;
    last_ = &item;
    count_.store(count_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    must_wake = !is_active_;
    is_active_ = true;
    // A nap is left alone: the thread sees the item soon, and we need not pay for a wake-up.
    // Unless that costs nothing, as its core is awake, or the item is not to wait.
    const Site* const place = site_.load(std::memory_order_relaxed);
    disturbs = is_napping_ &&
               (need == ProgressNeed::kFreeCore || !place->worker->is_sleeping());
    if (disturbs) end_nap();
    // Its core has come to other work.
    moves = disturbs && target != nullptr && !place->is_free();
  }
  if (usual != nullptr) usual->refused_bytes.store(0, std::memory_order_relaxed);
  trace::instant(
      kSubmit,
      {static_cast<uint64_t>(bytes), static_cast<uint64_t>(target ? target->core : -1)},
      rank_);
  if (must_wake)
    wake(*target);
  else if (moves)
    move_to(*target);
  else if (disturbs)
    execution_.load(std::memory_order_relaxed)->unpark();
  return true;
}

// Ends a nap, on another core. Caller: who has turned is_napping_ off.
void Thread::move_to(Site& site) noexcept {
  site_.load(std::memory_order_relaxed)->busy.fetch_sub(1, std::memory_order_relaxed);
  wake(site);
}

void Thread::wake(Site& site) noexcept {
  if (is_task()) {
    task_.identity = identity_;
    cores_.scheduler().tasks().submit_near(task_, home_, TaskScope::kMachine);
    return;
  }
  Site* before = site_.exchange(&site, std::memory_order_relaxed);
  if (before != &site && before != nullptr) {
    move_counter.add();
    trace::instant(
        kMove, {static_cast<uint64_t>(before->core), static_cast<uint64_t>(site.core)},
        rank_);
  }
  site.busy.fetch_add(1, std::memory_order_relaxed);
  Execution& thread = *execution_.load(std::memory_order_relaxed);
  if (!site.worker->is_sleeping()) return thread.unpark_on(*site.worker);
  const uint64_t begin = now_ns();
  thread.unpark_on(*site.worker);
  const uint64_t cost = now_ns() - begin;
  cores_.note_wake_cost(cost);
  wake_counter.add();
  wake_time_counter.add((cost + 500) / 1000);
}

// Under the lock. The new thread finds nothing and parks, unless an item is there by then.
bool Thread::spawn(Site& site) noexcept {
  UltSpec spec;
  spec.entry = [this] { main(); };
  spec.worker = site.worker->index();
  spec.name = "progress";
  spec.may_move = cores_.policy() == ProgressPolicy::kClosest;  // the others say where
  auto made = cores_.scheduler().spawn(std::move(spec));
  if (!made) {
    is_broken_ = true;
    log::warn("rank {} has no progress thread: {}", rank_, made.error().message);
    return false;
  }
  execution_.store(*made, std::memory_order_relaxed);
  site_.store(&site, std::memory_order_relaxed);
  site.busy.fetch_add(1, std::memory_order_relaxed);
  is_active_ = true;
  return true;
}

void Thread::stop() noexcept {
  bool must_wake = false, disturbs = false;
  {
    const Lock lock(*this);
    is_stopping_.store(true, std::memory_order_relaxed);
    must_wake = execution_.load(std::memory_order_relaxed) != nullptr && !is_active_;
    disturbs = is_napping_;
    if (disturbs) end_nap();
    if (!is_task()) is_active_ = true;
  }
  if (must_wake)
    wake(*site_.load(std::memory_order_relaxed));
  else if (disturbs)
    execution_.load(std::memory_order_relaxed)->unpark();
  const auto is_busy = [this] {
    const Lock lock(*this);
    return is_working_.load(std::memory_order_relaxed) || first_ != nullptr;
  };
  while (is_busy()) Execution::self().yield();
}

// A task may still be on its way out of run_task(), its last item long complete.
Thread::~Thread() {
  const auto is_leaving = [this] {
    const Lock lock(*this);
    return is_active_ && first_ == nullptr;
  };
  while (is_task() && is_leaving()) sched_yield();
}

// ---- taking --------------------------------------------------------------------------------

// Under the lock.
ProgressItem* Thread::pop() noexcept {
  ProgressItem* item = first_;
  if (item == nullptr) return nullptr;
  first_ = item->next;
  if (first_ == nullptr) last_ = nullptr;
  count_.store(count_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  return item;
}

// For the thread itself; the item before, if any, has run.
ProgressItem* Thread::pop_to_run() noexcept {
  const Lock lock(*this);
  ProgressItem* item = pop();
  is_working_.store(item != nullptr, std::memory_order_relaxed);
  return item;
}

ProgressItem* Thread::take_any() noexcept {
  if (!has_items()) return nullptr;
  const Lock lock(*this);
  ProgressItem* item = pop();
  if (item != nullptr) taken_counter.add();
  return item;
}

bool Thread::take(ProgressItem* wanted) noexcept {
  if (!has_items()) return false;
  const Lock lock(*this);
  ProgressItem* before = nullptr;
  for (ProgressItem* item = first_; item != nullptr; before = item, item = item->next) {
    if (item != wanted) continue;
    (before != nullptr ? before->next : first_) = item->next;
    if (last_ == item) last_ = before;
    count_.store(count_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    taken_counter.add();
    return true;
  }
  return false;
}

// ---- the thread ----------------------------------------------------------------------------

// One item a run, so that a worker with other things to do sees them in between.
TaskResult Thread::run_task(Task& task) {
  Thread& self = static_cast<OwnTask&>(task).thread;
  if (ProgressItem* item = self.pop_to_run()) {
    Thread* const outer = std::exchange(t_running, &self);
    {
      const trace::Span span(kWork, {static_cast<uint64_t>(Execution::self().core())},
                             self.rank_);
      item->run(*item);
    }
    item_counter.add();
    t_running = outer;
  }
  const Lock lock(self);
  self.is_working_.store(false, std::memory_order_relaxed);
  if (self.first_ != nullptr) return TaskResult::kAgain;
  self.is_active_ = false;
  return TaskResult::kDone;
}

// Where the thread runs: another core may have taken it over, as it had nothing to do.
Site& Thread::arrive() noexcept {
  Site& before = *site_.load(std::memory_order_relaxed);
  Site& here = cores_.site(Execution::self().worker()->index());
  if (&here == &before) return here;
  move_counter.add();
  trace::instant(
      kMove, {static_cast<uint64_t>(before.core), static_cast<uint64_t>(here.core)});
  before.busy.fetch_sub(1, std::memory_order_relaxed);
  here.busy.fetch_add(1, std::memory_order_relaxed);
  site_.store(&here, std::memory_order_relaxed);
  return here;
}

void Thread::run_all() noexcept {
  Execution& self = Execution::self();
  ProgressItem* item = pop_to_run();
  if (item == nullptr) return;
  Site& site = arrive();
  t_running = this;
  self.set_identity(identity_);
  self.set_call("background progress");
  for (; item != nullptr; item = pop_to_run()) {
    {
      const trace::Span span(kWork, {static_cast<uint64_t>(site.core)});
      item->run(*item);
    }
    item_counter.add();
    // Others of this worker are not kept waiting for a long queue.
    self.yield();
  }
  self.set_call(nullptr);
  self.set_identity(nullptr);
  t_running = nullptr;
  site.last_work_ns.store(now_ns(), std::memory_order_relaxed);
}

// Polls. True if there is an item, or the end. `gives_way`: it ends when another thread of this
// core is ready; else they take turns.
bool Thread::poll_until(uint64_t end_ns, bool gives_way) noexcept {
  Site& site = *site_.load(std::memory_order_relaxed);
  const trace::Span span(kPoll);
  constexpr int kPausesPerClockRead = 16;
  bool found = false;
  site.is_polling.store(true, std::memory_order_relaxed);
  for (int turn = 1;; ++turn) {
    found = is_due();
    if (found) break;
    if (site.worker->has_ready()) {
      if (gives_way) break;
      Execution::self().yield();
    }
    if (turn % kPausesPerClockRead == 0) {
      const uint64_t now = now_ns();
      if (now >= end_ns) break;
      if (now >= site.worker->next_deadline_ns())
        Execution::self().yield();  // others nap here
    }
    __builtin_ia32_pause();
  }
  site.is_polling.store(false, std::memory_order_relaxed);
  return found;
}

// True if there is an item, or the end.
bool Thread::wait_actively() noexcept {
  const Site& site = *site_.load(std::memory_order_relaxed);
  const uint64_t now = now_ns();
  return poll_until(now + site.polling_ns(now), true);
}

// Looks at the queue from time to time, as long as an item is likely to come: none of those
// who submit pays for waking this core. Where items come regularly it is awake when one is
// due, and sleeps until then. True if there is an item, or the end.
bool Thread::nap() noexcept {
  Site& site = *site_.load(std::memory_order_relaxed);
  const uint64_t end = now_ns() + site.napping_ns();
  for (uint64_t now = now_ns(); now < end && !is_due(); now = now_ns()) {
    // To a common beat, so that several threads of a core need one wake-up of it.
    const uint64_t length = site.nap_length_ns(now);
    uint64_t until = (now / length + 1) * length;
    if (const Rhythm::Window due = site.appointment(now); due.to != 0) {
      until = due.from - site.lateness_ns.load(std::memory_order_relaxed);
      if (now + kShortestNapNs > until) {
        if (poll_until(due.to, false)) return true;
        continue;
      }
    }
    {
      const Lock lock(*this);
      if (is_due()) return true;
      begin_nap();
    }
    nap_until(site, until);
    nap_counter.add();
  }
  return is_due();
}

void Thread::nap_until(Site& site, uint64_t deadline_ns) noexcept {
  const trace::Span span(kNap);
  const IdleReason reason;
  Execution::self().worker()->note_spun();
  const bool was_woken = Execution::self().park_until(deadline_ns, reason);
  if (!was_woken) site.note_lateness(std::max(now_ns(), deadline_ns) - deadline_ns);
  bool is_disturbed = false;
  {
    const Lock lock(*this);
    is_disturbed = !is_napping_;
    if (!is_disturbed) end_nap();
  }
  // Just when the time was over: the permit is on its way, and no later park() may take it.
  if (is_disturbed && !was_woken) Execution::self().park(reason);
}

// Parks until the next submit(). False: the end.
bool Thread::rest() noexcept {
  {
    const Lock lock(*this);
    if (first_ != nullptr) return true;
    if (is_stopping_.load(std::memory_order_relaxed)) return false;
    is_active_ = false;
    site_.load(std::memory_order_relaxed)->busy.fetch_sub(1, std::memory_order_relaxed);
  }
  // A submit() from here on gives a permit; if it comes before we are parked, we go on here,
  // on the old core, with the new one's name: a hint is wrong for once.
  const IdleReason reason;
  Execution::self().worker()->note_spun();
  Execution::self().park(reason);
  return true;
}

void Thread::main() noexcept {
  trace::introduce(trace::Role::kProgress, identity_);
  for (;;) {
    run_all();
    // Others may be ready on a core that is busy: this one takes them over once it is idle.
    if (!cores_.has_backlog()) {
      if (wait_actively() && has_items()) continue;
      if (nap() && has_items()) continue;
    }
    if (!rest()) break;
  }
  site_.load(std::memory_order_relaxed)->busy.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace

bool is_kept_here(int64_t bytes, ProgressData data) noexcept {
  if (bytes < min_bytes.get()) return true;
  return data.is_near && std::max(bytes, data.bytes) < near_bytes.get() &&
         !Emulation::is_on();
}

std::unique_ptr<ProgressCores> ProgressCores::make(Scheduler& scheduler,
                                                   const topo::Machine& machine,
                                                   const Config& config) {
  return std::make_unique<Cores>(static_cast<SchedulerImpl&>(scheduler), machine,
                                 config);
}

}  // namespace mpc::sched
