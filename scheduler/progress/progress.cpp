#include "scheduler/progress/progress.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/counter.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/trace.h"
#include "scheduler/scheduler_impl.h"

namespace mpc::sched {
namespace {

IntSetting min_bytes("progress.min_bytes", 16 << 10, "bytes",
                     "Smallest copy or reduction that is worth handing to another core", 0);
IntSetting wake_bytes("progress.wake_bytes", 256 << 10, "bytes",
                      "Smallest copy or reduction for which a sleeping core with ranks of its "
                      "own is woken",
                      0);
IntSetting spin_us("progress.spin_us", 200, "us",
                   "How long a communication core waits actively for more work, if work has "
                   "been coming that often",
                   0, 1'000'000);

Counter item_counter{"progress.items", "Pieces of work done by progress threads"};
Counter taken_counter{"progress.taken_back",
                      "Pieces of work that a waiting rank took back and did itself"};
Counter wake_counter{"progress.wakes", "Sleeping cores woken for background work"};
Counter move_counter{"progress.moves", "Progress threads moved to another core"};

constexpr trace::Site kSubmit{"progress", "submit", {"bytes", "to core"}};
constexpr trace::Site kMove{"progress", "move", {"from core", "to core"}};
constexpr trace::Site kWork{"progress", "background work", {"core"}, false, true};
constexpr trace::Site kPoll{"progress", "wait actively", {}, false, true};

// Waking a core takes as long as copying that much.
constexpr int64_t kWakeDedicatedBytes = 32 << 10;
constexpr uint64_t kShortSpinNs = 5'000;
constexpr uint64_t kLongestGapNs = 10'000'000;

struct PolicyName {
  ProgressPolicy policy;
  const char* name;
};
constexpr PolicyName kPolicyNames[] = {
    {ProgressPolicy::kOff, "off"},   {ProgressPolicy::kClosest, "closest"},
    {ProgressPolicy::kSame, "same"}, {ProgressPolicy::kNext, "next"},
    {ProgressPolicy::kNuma, "numa"}, {ProgressPolicy::kList, "list"},
    {ProgressPolicy::kTasks, "tasks"},
};

class IdleReason final : public WaitReason {
  std::string text() const override { return "progress thread without work"; }
};

// A worker as a place for progress threads.
struct alignas(64) Site {
  Worker* worker = nullptr;
  int core = 0;
  bool is_dedicated = false;
  // Progress threads that are there and have work, or wait actively for it.
  std::atomic<int> busy{0};
  std::atomic<bool> is_polling{false};  // a hint: one of them waits actively
  // When work ended here, and the usual time until more came. Hints; the progress threads of
  // this worker run one at a time.
  std::atomic<uint64_t> last_end_ns{0};
  std::atomic<uint64_t> usual_gap_ns{kLongestGapNs};

  bool is_free() const noexcept {
    return is_polling.load(std::memory_order_relaxed) ||
           (worker->is_sleeping() && !worker->has_ready());
  }
  void note_arrival() noexcept {
    const uint64_t end = last_end_ns.load(std::memory_order_relaxed);
    if (end == 0) return;
    const uint64_t gap = std::min(now_ns() - end, kLongestGapNs);
    const uint64_t usual = usual_gap_ns.load(std::memory_order_relaxed);
    usual_gap_ns.store((usual + 3 * gap) / 4, std::memory_order_relaxed);
  }
  uint64_t polling_ns() const noexcept {
    if (!is_dedicated) return kShortSpinNs;
    const uint64_t limit = static_cast<uint64_t>(spin_us.get()) * 1000;
    const uint64_t usual = usual_gap_ns.load(std::memory_order_relaxed);
    if (usual > limit) return std::min(kShortSpinNs, limit);
    return std::min(2 * usual + kShortSpinNs, limit);
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
      sites_[i].is_dedicated = static_cast<int>(i) >= config.application_workers;
    }
    order_by_distance(machine);
  }

  std::unique_ptr<ProgressThread> make_thread(void* identity, int rank,
                                              int home_worker) override;
  int communication_workers() const noexcept override {
    return static_cast<int>(sites_.size()) - config_.application_workers;
  }
  int application_workers() const noexcept override { return config_.application_workers; }
  ProgressPolicy policy() const noexcept override { return config_.policy; }

  SchedulerImpl& scheduler() noexcept { return scheduler_; }
  const Config& config() const noexcept { return config_; }
  Site& site(int worker) noexcept { return sites_[static_cast<size_t>(worker)]; }
  int site_count() const noexcept { return static_cast<int>(sites_.size()); }

  // The place for work of a rank at `home` that is at `present` now (or null); null: none.
  Site* closest(int home, Site* present, int64_t bytes) noexcept;

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
  if (present != nullptr && present->is_dedicated && present->is_free()) return present;
  Site* fewest = nullptr;
  Site* sleeping = nullptr;
  for (int worker : near_[static_cast<size_t>(home)]) {
    Site& candidate = site(worker);
    if (candidate.is_polling.load(std::memory_order_relaxed)) return &candidate;
    if (sleeping == nullptr && bytes >= kWakeDedicatedBytes && candidate.is_free())
      sleeping = &candidate;
    if (candidate.is_free()) continue;  // sleeps, and is not worth waking
    if (fewest == nullptr || candidate.busy.load(std::memory_order_relaxed) <
                                 fewest->busy.load(std::memory_order_relaxed))
      fewest = &candidate;
  }
  if (sleeping != nullptr) return sleeping;
  if (bytes >= wake_bytes.get()) {
    for (int worker : near_application_[static_cast<size_t>(home)])
      if (site(worker).is_free()) return &site(worker);
  }
  return fewest;
}

class Thread final : public ProgressThread {
 public:
  Thread(Cores& cores, void* identity, int rank, int home)
      : cores_(cores), identity_(identity), rank_(rank), home_(home), task_(*this) {}

  bool submit(ProgressItem& item, int64_t bytes, ProgressNeed need) noexcept override;
  bool take(ProgressItem* item) noexcept override;
  ProgressItem* take_any() noexcept override;
  bool is_running_here() const noexcept override { return t_running == this; }
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
  bool spawn(Site& site) noexcept;
  ProgressItem* pop() noexcept;
  void main() noexcept;
  void run_all() noexcept;
  bool wait_actively() noexcept;
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
  bool is_broken_ = false;  // could not be made
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
    case ProgressPolicy::kOff: return nullptr;
    case ProgressPolicy::kTasks:  // whoever is idle takes it: is anybody?
    case ProgressPolicy::kClosest:
      return cores_.closest(home_, site_.load(std::memory_order_relaxed), bytes);
    case ProgressPolicy::kSame: return &cores_.site(home_);
    case ProgressPolicy::kNext: return &cores_.site((home_ + 1) % cores_.site_count());
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

bool Thread::submit(ProgressItem& item, int64_t bytes, ProgressNeed need) noexcept {
  if (bytes < min_bytes.get()) return false;
  Site* target = choose(bytes);
  if (target == nullptr) return false;
  if (need == ProgressNeed::kFreeCore && !target->is_free()) return false;
  item.next = nullptr;
  bool must_wake = false;
  {
    const Lock lock(*this);
    if (is_broken_ || is_stopping_.load(std::memory_order_relaxed)) return false;
    const bool has_thread =
        is_task() || execution_.load(std::memory_order_relaxed) != nullptr;
    if (!has_thread && !spawn(*target)) return false;
    (last_ != nullptr ? last_->next : first_) = &item;
    last_ = &item;
    count_.store(count_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    must_wake = !is_active_;
    is_active_ = true;
  }
  trace::instant(kSubmit, {static_cast<uint64_t>(bytes), static_cast<uint64_t>(target->core)},
                 rank_);
  if (must_wake) wake(*target);
  return true;
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
        kMove, {static_cast<uint64_t>(before->core), static_cast<uint64_t>(site.core)}, rank_);
  }
  site.busy.fetch_add(1, std::memory_order_relaxed);
  if (site.worker->is_sleeping()) wake_counter.add();
  execution_.load(std::memory_order_relaxed)->unpark_on(*site.worker);
}

// Under the lock. The new thread finds nothing and parks, unless an item is there by then.
bool Thread::spawn(Site& site) noexcept {
  UltSpec spec;
  spec.entry = [this] { main(); };
  spec.worker = site.worker->index();
  spec.name = "progress";
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
  bool must_wake = false;
  {
    const Lock lock(*this);
    is_stopping_.store(true, std::memory_order_relaxed);
    must_wake = execution_.load(std::memory_order_relaxed) != nullptr && !is_active_;
    if (!is_task()) is_active_ = true;
  }
  if (must_wake) wake(*site_.load(std::memory_order_relaxed));
}

// ---- taking --------------------------------------------------------------------------------

ProgressItem* Thread::pop() noexcept {
  const Lock lock(*this);
  ProgressItem* item = first_;
  if (item == nullptr) return nullptr;
  first_ = item->next;
  if (first_ == nullptr) last_ = nullptr;
  count_.store(count_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  return item;
}

ProgressItem* Thread::take_any() noexcept {
  if (!has_items()) return nullptr;
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
  if (ProgressItem* item = self.pop()) {
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
  if (self.first_ != nullptr) return TaskResult::kAgain;
  self.is_active_ = false;
  return TaskResult::kDone;
}

void Thread::run_all() noexcept {
  Execution& self = Execution::self();
  ProgressItem* item = pop();
  if (item == nullptr) return;
  Site& site = *site_.load(std::memory_order_relaxed);
  site.note_arrival();
  t_running = this;
  self.set_identity(identity_);
  self.set_call("background progress");
  for (; item != nullptr; item = pop()) {
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
  site.last_end_ns.store(now_ns(), std::memory_order_relaxed);
}

// True if there is an item, or the end.
bool Thread::wait_actively() noexcept {
  Site& site = *site_.load(std::memory_order_relaxed);
  const uint64_t end = now_ns() + site.polling_ns();
  const trace::Span span(kPoll);
  constexpr int kPausesPerClockRead = 16;
  bool found = false;
  site.is_polling.store(true, std::memory_order_relaxed);
  for (int turn = 1;; ++turn) {
    found = has_items() || is_stopping_.load(std::memory_order_relaxed);
    if (found || site.worker->has_ready()) break;
    if (turn % kPausesPerClockRead == 0 && now_ns() >= end) break;
    __builtin_ia32_pause();
  }
  site.is_polling.store(false, std::memory_order_relaxed);
  return found;
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
  Execution::self().park(reason);
  return true;
}

void Thread::main() noexcept {
  trace::introduce(trace::Role::kProgress, identity_);
  for (;;) {
    run_all();
    if (wait_actively() && has_items()) continue;
    if (!rest()) break;
  }
  site_.load(std::memory_order_relaxed)->busy.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace

Result<ProgressPolicy> parse_progress_policy(std::string_view text) {
  std::string known;
  for (const PolicyName& entry : kPolicyNames) {
    if (text == entry.name) return entry.policy;
    known += known.empty() ? "" : ", ";
    known += entry.name;
  }
  return {Errc::kArg, fmt::format("'{}' is no policy for progress threads; known: {}", text,
                                  known)};
}

const char* name_of(ProgressPolicy policy) noexcept {
  for (const PolicyName& entry : kPolicyNames)
    if (entry.policy == policy) return entry.name;
  return "?";
}

std::unique_ptr<ProgressCores> ProgressCores::make(Scheduler& scheduler,
                                                   const topo::Machine& machine,
                                                   const Config& config) {
  return std::make_unique<Cores>(static_cast<SchedulerImpl&>(scheduler), machine, config);
}

}  // namespace mpc::sched
