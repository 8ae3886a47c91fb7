#include "scheduler/scheduler.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>

#include <algorithm>

#include "base/check.h"
#include "base/counter.h"
#include "base/trace.h"
#include "scheduler/donor.h"
#include "scheduler/hold.h"
#include "scheduler/kernel_thread.h"
#include "scheduler/limits.h"
#include "scheduler/scheduler_impl.h"

namespace mpc::sched {
namespace {

Counter steal_counter{"sched.steals", "Ready ranks taken by an idle worker"};

int current_worker() {
  const Worker* worker = Execution::self().worker();
  return worker != nullptr ? worker->index() : -1;
}

int allowed_core_count() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return CPU_COUNT(&set);
}

}  // namespace

Result<std::unique_ptr<Scheduler>> Scheduler::start(const SchedulerConfig& config) {
  raw_syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
  auto scheduler = std::make_unique<SchedulerImpl>(config);
  trace::set_core_source(&current_worker);
  MPC_TRY(scheduler->start_workers());
  return std::unique_ptr<Scheduler>(std::move(scheduler));
}

Result<> Scheduler::check_limits(int count) { return check_thread_limits(count); }

SchedulerImpl::SchedulerImpl(const SchedulerConfig& config)
    : config_(config), stacks_(config.stack_bytes), pen_(*this, -1, -1, false) {
  pthread_sigmask(SIG_SETMASK, nullptr, &signal_mask_);
  if (sched_getaffinity(0, sizeof allowed_cpus_, &allowed_cpus_) != 0)
    CPU_ZERO(&allowed_cpus_);
}

Result<> SchedulerImpl::start_workers() {
  for (int i = 0; config_.machine != nullptr && i < config_.machine->core_count(); ++i)
    if (config_.machine->core(i).numa != 0) has_several_nodes_ = true;
  std::vector<int> cores = config_.cores;
  if (cores.empty()) {
    const int count = config_.machine != nullptr ? config_.machine->core_count()
                                                 : allowed_core_count();
    for (int core = 0; core < count; ++core) cores.push_back(core);
  }
  for (size_t i = 0; i < cores.size(); ++i)
    workers_.push_back(
        std::make_unique<Worker>(*this, static_cast<int>(i), cores[i],
                                 steal_group(static_cast<int>(i)) == kEager));
  for (auto& worker : workers_) thefts_.push_back(make_theft(*worker));
  add_bindings();
  tasks_.build(config_.machine, workers_);
  for (auto& worker : workers_) {
    auto carrier = std::make_unique<Carrier>(*this);
    MPC_TRY(carrier->start(worker.get()));
    carriers_.push_back(std::move(carrier));
  }
  return monitor_.start();
}

SchedulerImpl::~SchedulerImpl() {
  wait_all();
  tasks_.finish();
  monitor_.stop();
  stopping_.store(true, std::memory_order_seq_cst);
  for (auto& worker : workers_) worker->wake();
  for (auto& carrier : carriers_) carrier->stop();
}

int SchedulerImpl::node_of(const Worker& worker) const {
  const topo::Machine* machine = config_.machine;
  if (machine == nullptr || !machine->is_real() || !has_several_nodes_)
    return StackArena::kAnyNode;
  return machine->core(worker.core()).os_numa;
}

void SchedulerImpl::add_bindings() {
  const topo::Machine* machine = config_.machine;
  for (const auto& worker : workers_) {
    cpu_set_t start = allowed_cpus_;
    if (config_.bind && machine != nullptr && machine->is_real()) {
      CPU_ZERO(&start);
      CPU_SET(static_cast<size_t>(machine->core(worker->core()).os_pu), &start);
    }
    bindings_.add(start);
  }
}

Bindings& bindings_of(Scheduler& scheduler) noexcept {
  return static_cast<SchedulerImpl&>(scheduler).bindings();
}

// ---- user-level threads ------------------------------------------------------------------

Result<Execution*> SchedulerImpl::spawn(UltSpec spec) {
  if (spec.worker < 0 || spec.worker >= worker_count())
    return {Errc::kArg, "spawn: no such worker"};
  Worker& worker = *workers_[static_cast<size_t>(spec.worker)];
  Result<char*> stack = stacks_.allocate(node_of(worker));
  if (!stack) return stack.error();
  auto* ult = new Ult;
  ult->scheduler = this;
  ult->number = next_number_.fetch_add(1, std::memory_order_relaxed);
  ult->entry = std::move(spec.entry);
  ult->name = spec.name;
  ult->set_identity(spec.identity);
  ult->may_move = spec.may_move;
  ult->stack = *stack;
  ult->stack_bytes = stacks_.stack_bytes();
  ult->guard_bytes = stacks_.guard_bytes(*stack);
  ult->place_on(worker);
  ult->origin = &worker;

  std::lock_guard lock(hold_lock_);
  list(*ult);
  if (Result<> started = Donor::start(*ult, held_ ? pen_ : worker); !started) {
    unlist(*ult);
    stacks_.release(ult->stack);
    delete ult;
    return started.error();
  }
  if (held_) ++penned_;
  return static_cast<Execution*>(ult);
}

// Before the donor starts, which may take long: is_quiescent() must not see a live Ult that
// is not listed, nor a list of parked ones while another one is on its way.
void SchedulerImpl::list(Ult& ult) {
  std::lock_guard lock(ults_lock_);
  live_.fetch_add(1, std::memory_order_relaxed);
  ults_.push_back(&ult);
}

void SchedulerImpl::unlist(Ult& ult) {
  std::lock_guard lock(ults_lock_);
  live_.fetch_sub(1, std::memory_order_relaxed);
  std::erase(ults_, &ult);
}

void SchedulerImpl::on_ended(Ult& ult) noexcept {
  ult.ended.store(true, std::memory_order_release);
  Donor::dismiss(ult);
  // Release pairs with the acquire in wait_all(). After the last one the scheduler may end:
  // nothing of `ult` is touched after this.
  if (live_.fetch_sub(1, std::memory_order_acq_rel) == 1) futex_wake_all(live_);
}

// Start with the next worker, so that thieves do not all go to the first one; nearer ones first.
std::unique_ptr<Theft> SchedulerImpl::make_theft(const Worker& thief) const {
  if (steal_group(thief.index()) != kPatient) return nullptr;
  const topo::Machine* machine = config_.machine;
  const auto distance = [&](const Worker* other) {
    return machine == nullptr ? 0 : machine->distance(thief.core(), other->core());
  };
  std::vector<Worker*> others;
  for (size_t i = 1; i < workers_.size(); ++i) {
    Worker* other =
        workers_[(static_cast<size_t>(thief.index()) + i) % workers_.size()].get();
    if (steal_group(other->index()) == kPatient) others.push_back(other);
  }
  if (others.empty()) return nullptr;
  std::stable_sort(others.begin(), others.end(), [&](const Worker* a, const Worker* b) {
    return distance(a) < distance(b);
  });
  std::vector<Theft::Neighbour> neighbours;
  for (Worker* other : others)
    neighbours.push_back(
        {other,
         machine != nullptr &&
             machine->shared_level(thief.core(), other->core()) > topo::Level::kNuma});
  return std::make_unique<Theft>(neighbours);
}

Ult* SchedulerImpl::steal_for(Worker& thief) noexcept {
  if (bindings_.is_wide(thief.index())) return nullptr;
  Ult* ult = nullptr;
  if (Theft* theft = theft_of(thief)) {
    if (theft->is_due()) ult = theft->take();
  } else if (steal_group(thief.index()) == kEager) {
    ult = steal_at_once(thief);
  }
  if (ult != nullptr) steal_counter.add();
  return ult;
}

Ult* SchedulerImpl::steal_at_once(Worker& thief) noexcept {
  for (size_t i = 1; i < workers_.size(); ++i) {
    Worker& victim =
        *workers_[(static_cast<size_t>(thief.index()) + i) % workers_.size()];
    if (steal_group(victim.index()) != kEager || bindings_.is_wide(victim.index()))
      continue;
    if (Ult* ult = thief.steal(victim)) return ult;
  }
  return nullptr;
}

void SchedulerImpl::wake_thief(const Worker& victim) noexcept {
  const StealGroup group = steal_group(victim.index());
  if (group == kNobody) return;
  for (auto& worker : workers_) {
    if (!worker->is_sleeping() || steal_group(worker->index()) != group) continue;
    worker->wake();
    return;
  }
}

void SchedulerImpl::hold() {
  std::lock_guard lock(hold_lock_);
  held_ = true;
}

void SchedulerImpl::release() {
  std::lock_guard lock(hold_lock_);
  held_ = false;
  std::vector<Ult*> penned;
  while (penned.size() < penned_) {
    Ult* ult = pen_.pop_all();
    if (ult == nullptr) pen_.sleep();  // a donor is on its way
    for (; ult != nullptr; ult = ult->next) penned.push_back(ult);
  }
  penned_ = 0;
  // Donors arrive in any order; the Ults start in the order of spawn(), all at once.
  std::sort(penned.begin(), penned.end(),
            [](const Ult* a, const Ult* b) { return a->number < b->number; });
  // All chains first: an Ult that runs may be stolen, which changes its home and its link.
  std::vector<Ult*> first(workers_.size(), nullptr);
  std::vector<Ult**> link;
  for (Ult*& head : first) link.push_back(&head);
  for (Ult* ult : penned) {
    const auto home = static_cast<size_t>(ult->home().index());
    *link[home] = ult;
    link[home] = &ult->next;
  }
  for (Ult** last : link) *last = nullptr;
  for (size_t i = 0; i < workers_.size(); ++i)
    if (first[i] != nullptr) workers_[i]->push_chain(*first[i]);
}

void SchedulerImpl::wait_all() {
  uint32_t live;
  while ((live = live_.load(std::memory_order_acquire)) != 0) futex_wait(live_, live);
  std::vector<Ult*> ended;
  {
    std::lock_guard lock(ults_lock_);
    ended.swap(ults_);
  }
  for (Ult* ult : ended) {
    pthread_join(ult->donor, nullptr);
    stacks_.release(ult->stack);
    delete ult;
  }
}

// ---- spare carriers ----------------------------------------------------------------------

void SchedulerImpl::add_spare(Carrier& carrier) noexcept {
  std::lock_guard lock(carriers_lock_);
  carrier.next_spare = spares_;
  spares_ = &carrier;
}

Carrier* SchedulerImpl::take_spare() noexcept {
  std::lock_guard lock(carriers_lock_);
  if (Carrier* spare = spares_) {
    spares_ = spare->next_spare;
    return spare;
  }
  auto carrier = std::make_unique<Carrier>(*this);
  if (!carrier->start(nullptr)) return nullptr;
  carriers_.push_back(std::move(carrier));
  return carriers_.back().get();
}

// ---- reports -----------------------------------------------------------------------------

void SchedulerImpl::set_quiescence_handler(QuiescenceHandler handler) {
  std::lock_guard lock(handler_lock_);
  handler_ = std::move(handler);
}

void SchedulerImpl::call_quiescence_handler() noexcept {
  QuiescenceHandler handler;
  {
    std::lock_guard lock(handler_lock_);
    handler = handler_;
  }
  if (handler) handler();
}

namespace {

// Parked, and only another execution can end that.
bool waits_for_others(Execution& execution) {
  Hold hold(execution);
  return hold.is_held() && !execution.has_deadline() &&
         !execution.wait_reason()->can_end_by_itself();
}

}  // namespace

bool SchedulerImpl::is_quiescent(uint64_t& activity) noexcept {
  activity = 0;

  {
    std::lock_guard lock(handler_lock_);
    if (!handler_) return false;
  }
  for (auto& worker : workers_) {
    activity += worker->switch_count.load(std::memory_order_relaxed);
    if (worker->next_deadline_ns() != kNever) return false;
  }
  activity += tasks_.finished();
  if (!tasks_.is_at_rest()) return false;
  bool quiescent = false;
  {
    std::lock_guard lock(ults_lock_);
    quiescent = live_.load(std::memory_order_relaxed) > 0;
    for (size_t i = 0; quiescent && i < ults_.size(); ++i)
      quiescent = ults_[i]->ended.load(std::memory_order_acquire) ||
                  waits_for_others(*ults_[i]);
  }
  if (!quiescent || is_kernel_thread_expected()) return false;
  for_each_kernel_thread([&](KernelThread& thread) {
    if (thread.identity() == nullptr) return;
    activity += thread.park_count();
    if (!waits_for_others(thread)) quiescent = false;
  });
  return quiescent;
}

void SchedulerImpl::for_each_execution(
    const std::function<void(const Execution&)>& visit) {
  {
    std::lock_guard lock(ults_lock_);
    for (Ult* ult : ults_) {
      if (ult->ended.load(std::memory_order_acquire)) continue;
      Hold hold(*ult);
      visit(*ult);
    }
  }
  for_each_kernel_thread([&](KernelThread& thread) {
    Hold hold(thread);
    visit(thread);
  });
}

}  // namespace mpc::sched
