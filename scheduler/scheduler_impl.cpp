#include "scheduler/scheduler_impl.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>

#include <algorithm>

#include "base/check.h"
#include "base/trace.h"
#include "scheduler/donor.h"
#include "scheduler/hold.h"
#include "scheduler/kernel_thread.h"
#include "scheduler/limits.h"
#include "scheduler/poll/thread_polls.h"
#include "scheduler/worker_loop.h"

namespace mpc::sched {
namespace {

int current_worker() {
  const Worker* worker = Execution::self().worker();
  return worker != nullptr ? worker->index() : -1;
}

}  // namespace

int allowed_core_count() noexcept {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return CPU_COUNT(&set);
}

Result<std::unique_ptr<Scheduler>> Scheduler::start(const SchedulerConfig& config) {
  raw_syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
  auto scheduler = std::make_unique<SchedulerImpl>(config);
  trace::set_core_source(&current_worker);
  MPC_TRY(scheduler->start_workers());
  return std::unique_ptr<Scheduler>(std::move(scheduler));
}

Result<> Scheduler::check_limits(int count) { return check_thread_limits(count); }

SchedulerImpl::SchedulerImpl(const SchedulerConfig& config)
    : config_(config),
      stacks_(config.stack_bytes),
      stealing_({config.steal, config.steal_below, config.steal_from}, workers_,
                bindings_),
      carriers_(plan_of_carriers()),
      pen_(*this, stopping_, -1, -1, false),
      poller_([this] { begin_polling(); }, config.on_kernel_thread),
      quiescence_(workers_, tasks_, ults_, poller_),
      monitor_(workers_, stealing_, carriers_, poller_, quiescence_) {
  poller_.share_core(config.processes_per_core);
  if (sched_getaffinity(0, sizeof allowed_cpus_, &allowed_cpus_) != 0)
    CPU_ZERO(&allowed_cpus_);
}

Carrier::Plan SchedulerImpl::plan_of_carriers() {
  Carrier::Plan plan{{}, config_.on_kernel_thread, &run_carrier, this};
  pthread_sigmask(SIG_SETMASK, nullptr, &plan.signal_mask);
  return plan;
}

void SchedulerImpl::run_carrier(Carrier& carrier, void* scheduler) {
  auto& self = *static_cast<SchedulerImpl*>(scheduler);
  WorkerLoop(carrier, {self.tasks_, self.stealing_, self.bindings_, self.carriers_,
                       self.monitor_, self.stopping_, self.worker_count()})
      .run();
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
    workers_.push_back(std::make_unique<Worker>(
        *this, stopping_, static_cast<int>(i), cores[i],
        stealing_.group(static_cast<int>(i)) == Stealing::kEager));
  if (workers_.size() > 1)
    for (auto& worker : workers_) worker->set_spins(Worker::Spins::kForWorkers);
  stealing_.build(config_.machine);
  add_bindings();
  tasks_.build(config_.machine, workers_);
  for (auto& worker : workers_) MPC_TRY(carriers_.start(*worker));
  return monitor_.start();
}

SchedulerImpl::~SchedulerImpl() {
  wait_all();
  tasks_.finish();
  monitor_.stop();
  stopping_.store(true, std::memory_order_seq_cst);
  for (auto& worker : workers_) worker->wake();
  carriers_.stop();
}

// Workers that sleep already are made to sleep again, now on the descriptors.
void SchedulerImpl::begin_polling() noexcept {
  // Then the kernel threads poll, or the listener does.
  if (poller_of_threads() == &poller_) return;
  for (auto& worker : workers_) {
    worker->set_poller(poller_);
    worker->wake();
  }
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

void watch_rest(Scheduler& scheduler, QuiescenceHandler handler, TrafficCount traffic) {
  static_cast<SchedulerImpl&>(scheduler).quiescence().set_handler(std::move(handler),
                                                                  std::move(traffic));
}

void ask_rest(Scheduler& scheduler) noexcept {
  static_cast<SchedulerImpl&>(scheduler).monitor().ask_rest();
}

Rest rest_of(Scheduler& scheduler) noexcept {
  return static_cast<SchedulerImpl&>(scheduler).quiescence().rest();
}

// ---- user-level threads ------------------------------------------------------------------

Result<Execution*> SchedulerImpl::spawn(UltSpec spec) {
  if (spec.worker < 0 || spec.worker >= worker_count())
    return {Errc::kArg, "spawn: no such worker"};
  Worker& worker = *workers_[static_cast<size_t>(spec.worker)];
  Result<char*> stack = stacks_.allocate(node_of(worker));
  if (!stack) return stack.error();
  auto* ult = new Ult;
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

  const Locked lock(hold_lock_);
  ults_.add(*ult);
  if (Result<> started = Donor::start(*ult, held_ ? pen_ : worker, allowed_cpus_);
      !started) {
    ults_.remove(*ult);
    stacks_.release(ult->stack);
    ended_.emplace_back(ult);
    return started.error();
  }
  if (held_) ++penned_;
  return static_cast<Execution*>(ult);
}

bool SchedulerImpl::has_idle_core() const noexcept {
  const Worker* const own = Execution::self().worker();
  return std::any_of(workers_.begin(), workers_.end(), [own](const auto& worker) {
    return worker.get() != own && !worker->has_ready() &&
           (worker->is_sleeping() || worker->is_idle.load(std::memory_order_relaxed));
  });
}

void SchedulerImpl::hold() {
  const Locked lock(hold_lock_);
  held_ = true;
}

void SchedulerImpl::release() {
  const Locked lock(hold_lock_);
  held_ = false;
  std::vector<Ult*> penned;
  while (penned.size() < penned_) {
    Ult* ult = pen_.pop_all();
    if (ult == nullptr) pen_.sleep();  // a donor has yet to push its Ult
    for (; ult != nullptr; ult = ult->next) penned.push_back(ult);
  }
  penned_ = 0;
  // Donors arrive in any order; the Ults start in the order of spawn(), all at once.
  std::sort(penned.begin(), penned.end(),
            [](const Ult* a, const Ult* b) { return a->number < b->number; });
  // Links all chains first: a running Ult may be stolen, which changes its home and its link.
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
  for (Ult* ult : ults_.wait_for_all()) {
    pthread_join(ult->donor, nullptr);
    stacks_.release(ult->stack);
    ended_.emplace_back(ult);
  }
}

void SchedulerImpl::for_each_execution(
    const std::function<void(const Execution&)>& visit) {
  ults_.for_each([&](Ult& ult) {
    Hold hold(ult);
    visit(ult);
  });
  for_each_kernel_thread([&](KernelThread& thread) {
    Hold hold(thread);
    visit(thread);
  });
}

}  // namespace mpc::sched
