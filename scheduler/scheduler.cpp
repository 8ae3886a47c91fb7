#include "scheduler/scheduler.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>

#include "base/check.h"
#include "scheduler/donor.h"
#include "scheduler/hold.h"
#include "scheduler/kernel_thread.h"
#include "scheduler/scheduler_impl.h"

namespace mpc::sched {
namespace {

int allowed_core_count() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return CPU_COUNT(&set);
}

}  // namespace

Result<std::unique_ptr<Scheduler>> Scheduler::start(const SchedulerConfig& config) {
  raw_syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
  auto scheduler = std::make_unique<SchedulerImpl>(config);
  MPC_TRY(scheduler->start_workers());
  return std::unique_ptr<Scheduler>(std::move(scheduler));
}

SchedulerImpl::SchedulerImpl(const SchedulerConfig& config)
    : config_(config), stacks_(config.stack_bytes), pen_(*this, -1, -1) {}

Result<> SchedulerImpl::start_workers() {
  std::vector<int> cores = config_.cores;
  if (cores.empty()) {
    const int count = config_.machine != nullptr ? config_.machine->core_count()
                                                 : allowed_core_count();
    for (int core = 0; core < count; ++core) cores.push_back(core);
  }
  for (size_t i = 0; i < cores.size(); ++i)
    workers_.push_back(std::make_unique<Worker>(*this, static_cast<int>(i), cores[i]));
  for (auto& worker : workers_) {
    auto carrier = std::make_unique<Carrier>(*this);
    MPC_TRY(carrier->start(worker.get()));
    carriers_.push_back(std::move(carrier));
  }
  return {};
}

SchedulerImpl::~SchedulerImpl() {
  wait_all();
  stopping_.store(true, std::memory_order_release);
  for (auto& worker : workers_) worker->wake();
  for (auto& carrier : carriers_) carrier->stop();
}

void SchedulerImpl::bind_here(int core) noexcept {
  if (!config_.bind || config_.machine == nullptr || !config_.machine->is_real()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<size_t>(config_.machine->core(core).os_pu), &set);
  sched_setaffinity(0, sizeof set, &set);
}

// ---- user-level threads ------------------------------------------------------------------

Result<Execution*> SchedulerImpl::spawn(UltSpec spec) {
  if (spec.worker < 0 || spec.worker >= worker_count())
    return {Errc::kArg, "spawn: no such worker"};
  Result<char*> stack = stacks_.allocate();
  if (!stack) return stack.error();
  auto* ult = new Ult;
  ult->scheduler = this;
  ult->entry = std::move(spec.entry);
  ult->name = spec.name;
  ult->set_identity(spec.identity);
  ult->stack = *stack;
  ult->stack_bytes = stacks_.stack_bytes();
  Worker& worker = *workers_[spec.worker];
  ult->place_on(worker);

  std::lock_guard lock(hold_lock_);
  live_.fetch_add(1, std::memory_order_relaxed);
  if (Result<> started = Donor::start(*ult, held_ ? pen_ : worker); !started) {
    live_.fetch_sub(1, std::memory_order_relaxed);
    stacks_.release(ult->stack);
    delete ult;
    return started.error();
  }
  if (held_) ++penned_;
  std::lock_guard ults(ults_lock_);
  ults_.push_back(ult);
  return static_cast<Execution*>(ult);
}

void SchedulerImpl::on_ended(Ult& ult) noexcept {
  ult.ended.store(true, std::memory_order_release);
  Donor::dismiss(ult);
  // Release pairs with the acquire in wait_all(). After the last one the scheduler may end:
  // nothing of `ult` is touched after this.
  if (live_.fetch_sub(1, std::memory_order_acq_rel) == 1) futex_wake_all(live_);
}

void SchedulerImpl::hold() {
  std::lock_guard lock(hold_lock_);
  held_ = true;
}

void SchedulerImpl::release() {
  std::lock_guard lock(hold_lock_);
  held_ = false;
  while (penned_ > 0) {
    Ult* ult = pen_.pop_all();
    if (ult == nullptr) pen_.sleep();  // a donor is on its way
    while (ult != nullptr) {
      Ult* next = ult->next;
      ult->home().push_remote(*ult);
      ult = next;
      --penned_;
    }
  }
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

// ---- reports -----------------------------------------------------------------------------

void SchedulerImpl::set_quiescence_handler(QuiescenceHandler handler) {
  std::lock_guard lock(handler_lock_);
  handler_ = std::move(handler);
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

uint64_t coarse_now_ns() noexcept { return now_ns(); }

}  // namespace mpc::sched
