#include "scheduler/task/queues.h"

#include <unistd.h>

#include <algorithm>

#include "base/check.h"
#include "base/counter.h"
#include "base/trace.h"
#include "scheduler/execution.h"
#include "scheduler/worker.h"

// No wake-up is lost. Let Q be the queue of a task, and W a worker below it.
//   submitter                            W
//   (1) push to Q                        (a) Q.idle: spinning (begin_idle)
//   (2) read Q.idle:                     (b) take() finds nothing
//       spinner: done; sleeper: wake     (c) sleeping_ = 1, Q.idle: sleeping (begin_sleep)
//                                        (d) check Q: something? do not sleep
//                                        (e) Q.idle: neither (end_idle); then check Q:
//                                            (a) again, or pass_on()
// All are seq_cst. If (2) sees W spinning, then (c) or (e) come later, and the check that
// follows them sees the push. If (2) sees W sleeping, it finds sleeping_ set and wakes W (or
// another submitter did, for which W returns to (b)). If (2) sees neither, (a) comes later, and
// (b) or (d) see the push; or W is busy, and then checks when it switches or has finished.
// A check that finds Q's lock held counts as "something is there".

namespace mpc::sched {
namespace {

Counter run_counters[kTaskScopes] = {
    {"sched.tasks_core", "Tasks run that were queued for one core"},
    {"sched.tasks_cache", "Tasks run that were queued for the cores of a cache"},
    {"sched.tasks_numa", "Tasks run that were queued for the cores of a NUMA node"},
    {"sched.tasks_chip", "Tasks run that were queued for the cores of a chip"},
    {"sched.tasks_machine", "Tasks run that were queued for any core"},
};
Counter moved_counter{"sched.tasks_moved",
                      "Tasks run by another worker than the one that submitted them"};
Counter wake_counter{"sched.task_wakes", "Sleeping workers woken for a task"};

// Named after the queue; the trace joins the repetitions of a task that polls.
constexpr trace::Site kSubmit{"task", "submit", {"scope"}};
constexpr trace::Site kRun{
    "task", "task", {"scope", nullptr, nullptr, nullptr, "repeated"}, true, true};

const char* name_of(TaskScope scope) noexcept {
  switch (scope) {
    case TaskScope::kCore:
      return "task for the core";
    case TaskScope::kCache:
      return "task for the cache";
    case TaskScope::kNuma:
      return "task for the NUMA node";
    case TaskScope::kChip:
      return "task for the chip";
    case TaskScope::kMachine:
      return "task for any core";
  }
  return "task";
}

topo::Level level_of(TaskScope scope) noexcept {
  switch (scope) {
    case TaskScope::kCore:
      return topo::Level::kCore;
    case TaskScope::kCache:
      return topo::Level::kL3;
    case TaskScope::kNuma:
      return topo::Level::kNuma;
    case TaskScope::kChip:
      return topo::Level::kPackage;
    case TaskScope::kMachine:
      return topo::Level::kMachine;
  }
  return topo::Level::kMachine;
}

// The scope under which tasks of a queue are counted.
TaskScope scope_of(const TaskQueue& queue) noexcept {
  if (queue.low == topo::Level::kCore) return TaskScope::kCore;
  for (TaskScope scope : {TaskScope::kMachine, TaskScope::kChip, TaskScope::kNuma})
    if (queue.high >= level_of(scope)) return scope;
  return TaskScope::kCache;
}

topo::Level shared_level(const topo::Machine* machine, int core_a, int core_b) {
  if (core_a == core_b) return topo::Level::kCore;
  if (machine == nullptr) return topo::Level::kMachine;
  return machine->shared_level(core_a, core_b);
}

}  // namespace

// ---- the tree ----------------------------------------------------------------------------

// At each level, a worker's object is the set of workers that share that level or a smaller
// one with it; an object equal to the one below is the same queue.
void TaskQueues::build(const topo::Machine* machine,
                       std::vector<std::unique_ptr<Worker>>& workers) {
  const int count = static_cast<int>(workers.size());
  for (auto& worker : workers) workers_.push_back(worker.get());
  shares_ = std::vector<Share>(workers.size());
  const auto level_between = [&](int a, int b) {
    if (a == b) return topo::Level::kCore;
    return std::max(topo::Level::kL1,
                    shared_level(machine, workers_[static_cast<size_t>(a)]->core(),
                                 workers_[static_cast<size_t>(b)]->core()));
  };
  const auto add = [&](TaskQueue& queue, topo::Level level, int worker) {
    queue.high = level;
    TaskPath& path = shares_[static_cast<size_t>(worker)].path;
    if (path.count == 0 || path.queues[path.count - 1] != &queue)
      path.queues[path.count++] = &queue;
  };
  for (int number = 0; number <= static_cast<int>(topo::Level::kMachine); ++number) {
    const auto level = static_cast<topo::Level>(number);
    std::vector<bool> placed(workers.size(), false);
    for (int first = 0; first < count; ++first) {
      if (placed[static_cast<size_t>(first)]) continue;
      std::vector<int> members;
      for (int other = first; other < count; ++other)
        if (level == topo::Level::kMachine || level_between(first, other) <= level)
          members.push_back(other);
      const TaskPath& below = shares_[static_cast<size_t>(first)].path;
      TaskQueue* queue = below.count > 0 ? below.queues[below.count - 1] : nullptr;
      if (queue == nullptr || queue->workers != members) {
        queues_.push_back(std::make_unique<TaskQueue>());
        queue = queues_.back().get();
        queue->low = level;
        queue->workers = members;
        for (int member : members) queue->worker_set.add(member);
      }
      for (int member : members) {
        placed[static_cast<size_t>(member)] = true;
        add(*queue, level, member);
      }
    }
  }
  for (auto& queue : queues_) queue->scope = scope_of(*queue);
  for (int worker = 0; worker < count; ++worker) {
    workers_[static_cast<size_t>(worker)]->set_tasks(path(worker));
    std::vector<int>& nearest = shares_[static_cast<size_t>(worker)].nearest;
    for (int other = 0; other < count; ++other) nearest.push_back(other);
    std::stable_sort(nearest.begin(), nearest.end(), [&](int a, int b) {
      return level_between(worker, a) < level_between(worker, b);
    });
  }
}

TaskQueue& TaskQueues::select(const TaskPath& path, TaskScope scope) noexcept {
  int level = path.count - 1;
  while (level > 0 && path.queues[level]->low > level_of(scope)) --level;
  return *path.queues[level];
}

const TaskQueue& TaskQueues::queue_of(int worker, TaskScope scope) const noexcept {
  return select(path(worker), scope);
}

TaskQueues::Share& TaskQueues::share(const Worker& worker) noexcept {
  return shares_[static_cast<size_t>(worker.index())];
}

// ---- submitting --------------------------------------------------------------------------

void TaskQueues::submit(Task& task, TaskScope scope) noexcept {
  const Worker* here = Execution::self().worker();
  if (here == nullptr)
    submit_near(task, 0, TaskScope::kMachine);
  else
    submit_near(task, here->index(), scope);
}

void TaskQueues::submit_near(Task& task, int worker, TaskScope scope) noexcept {
  const Worker* here = Execution::self().worker();
  task.allowed_ = nullptr;
  task.submitter_ = here != nullptr ? here->index() : -1;
  enqueue(task, select(path(worker), scope), worker);
}

void TaskQueues::submit_to(Task& task, const WorkerSet& allowed) noexcept {
  const Worker* here = Execution::self().worker();
  int near = here != nullptr ? here->index() : 0;
  task.submitter_ = here != nullptr ? near : -1;
  // The smallest object around one worker of the set that covers the set.
  for (int other : shares_[static_cast<size_t>(near)].nearest) {
    if (!allowed.contains(other)) continue;
    near = other;
    break;
  }
  CHECK(allowed.contains(near), "submit_to: no worker is in the set");
  int last = near, first = near;
  for (int i = 0; i < static_cast<int>(workers_.size()); ++i)
    if (allowed.contains(i)) {
      first = std::min(first, i);
      last = std::max(last, i);
    }
  const TaskPath& up = path(near);
  int level = 0;
  const auto covers = [&](const TaskQueue& queue) {
    for (int i = first; i <= last; ++i)
      if (allowed.contains(i) && !queue.worker_set.contains(i)) return false;
    return true;
  };
  while (level < up.count - 1 && !covers(*up.queues[level])) ++level;
  TaskQueue& queue = *up.queues[level];
  bool restricted = false;
  for (int member : queue.workers) restricted = restricted || !allowed.contains(member);
  task.allowed_ = restricted ? &allowed : nullptr;
  enqueue(task, queue, near);
}

// Relaxed: switches and polling ranks only get a hint of tasks. A worker that becomes idle checks
// the queues themselves, so the argument at the top holds whatever value it sees here.
void TaskQueues::begin_use() noexcept {
  for (Worker* worker : workers_) worker->begin_tasks();
  is_in_use_.store(true, std::memory_order_relaxed);
}

void TaskQueues::enqueue(Task& task, TaskQueue& queue, int near) noexcept {
  if (!is_in_use()) [[unlikely]]
    begin_use();
  // The task may be destroyed once it is queued.
  const WorkerSet* allowed = task.allowed_;
  trace::instant(kSubmit, {static_cast<uint64_t>(queue.scope)});
  queue.push(task);
  wake_one(queue, near, allowed);
}

void TaskQueues::wake_one(const TaskQueue& queue, int near,
                          const WorkerSet* allowed) noexcept {
  const TaskQueue::Idle idle = queue.idle();  // partner: begin_sleep(), end_idle()
  if (idle.sleepers == 0) return;
  // A spinner will check; but it may be outside the set.
  if (idle.spinners != 0 && allowed == nullptr) return;
  for (int other : shares_[static_cast<size_t>(near)].nearest) {
    if (!queue.worker_set.contains(other)) continue;
    if (allowed != nullptr && !allowed->contains(other)) continue;
    Worker& worker = *workers_[static_cast<size_t>(other)];
    if (!worker.is_sleeping() || !worker.wake()) continue;
    wake_counter.add();
    return;
  }
}

// ---- running -----------------------------------------------------------------------------

TaskQueues::Taken TaskQueues::take(Worker& worker) noexcept {
  Share& share = this->share(worker);
  for (int level = 0; level < share.path.count; ++level) {
    TaskQueue& queue = *share.path.queues[level];
    if (queue.looks_empty()) continue;
    // Before the task leaves the queue, see is_at_rest().
    share.busy.store(true, std::memory_order_relaxed);
    if (Task* task = queue.take(worker.index())) return {task, &queue};
    share.busy.store(false, std::memory_order_relaxed);
  }
  return {};
}

bool TaskQueues::run(Worker& worker, Taken taken) noexcept {
  Share& share = this->share(worker);
  Task& task = *taken.task;
  worker.count_switch();  // a sign of life for the monitor
  ++share.run_count[static_cast<size_t>(taken.queue->scope)];
  if (task.submitter_ != worker.index()) ++share.moved_count;
  Execution& self = Execution::self();
  self.set_identity(task.identity);
  trace::begin(kRun, {trace::text(name_of(taken.queue->scope))});
  const TaskResult result = task.run(task);  // kDone: the task is not touched any more
  trace::end(kRun);
  self.set_identity(nullptr);
  // A repeated task is queued before `busy` is cleared, see is_at_rest().
  const bool again =
      result == TaskResult::kAgain && !finishing_.load(std::memory_order_relaxed);
  if (again) taken.queue->push(task);
  worker.count_switch();
  // Release pairs with the acquire loads in is_at_rest() and finished().
  share.finished.store(share.finished.load(std::memory_order_relaxed) + 1,
                       std::memory_order_release);
  share.busy.store(false, std::memory_order_release);
  return again;
}

void TaskQueues::run_one(Worker& worker) noexcept {
  const Taken taken = take(worker);
  if (taken.task == nullptr) return;
  if (run(worker, taken)) pass_on(worker);
}

void TaskQueues::pass_on(Worker& worker) noexcept {
  const TaskPath& up = path(worker.index());
  // This worker checks its core's own queue in any case.
  for (int level = 1; level < up.count; ++level) {
    TaskQueue& queue = *up.queues[level];
    if (!queue.may_have_work()) continue;
    wake_one(queue, worker.index(), nullptr);
    if (queue.has_restricted()) wake_eligible(queue);
  }
}

// The set of a restricted task is read only under the queue's lock, so this asks for each sleeper.
void TaskQueues::wake_eligible(TaskQueue& queue) noexcept {
  for (int member : queue.workers) {
    Worker& worker = *workers_[static_cast<size_t>(member)];
    if (worker.is_sleeping() && queue.may_have_work(member) && worker.wake()) return;
  }
}

// ---- idle workers ------------------------------------------------------------------------

void TaskQueues::begin_idle(const Worker& worker) noexcept {
  path(worker.index()).change_idle(TaskQueue::kSpinner);
}

void TaskQueues::end_idle(const Worker& worker) noexcept {
  path(worker.index()).change_idle(0 - TaskQueue::kSpinner);
}

void TaskQueues::flush_counts(const Worker& worker) noexcept {
  Share& share = this->share(worker);
  for (size_t scope = 0; scope < kTaskScopes; ++scope) {
    if (share.run_count[scope] == 0) continue;
    run_counters[scope].add(share.run_count[scope]);
    share.run_count[scope] = 0;
  }
  if (share.moved_count == 0) return;
  moved_counter.add(share.moved_count);
  share.moved_count = 0;
}

// ---- the end -----------------------------------------------------------------------------

// A task leaves its queue after its taker has set `busy`, and all that it submits is queued before
// `busy` is cleared. So if a task escapes both checks, it ended in between: finished() tells.
bool TaskQueues::is_at_rest() const noexcept {
  for (const auto& queue : queues_)
    if (queue->may_have_work()) return false;
  for (const Share& share : shares_)
    if (share.busy.load(std::memory_order_acquire)) return false;
  return true;
}

uint64_t TaskQueues::finished() const noexcept {
  uint64_t sum = 0;
  for (const Share& share : shares_)
    sum += share.finished.load(std::memory_order_acquire);
  return sum;
}

void TaskQueues::finish() noexcept {
  constexpr useconds_t kPauseUs = 50;
  finishing_.store(true, std::memory_order_relaxed);
  for (;;) {
    const uint64_t before = finished();
    if (is_at_rest() && finished() == before) return;
    usleep(kPauseUs);
  }
}

}  // namespace mpc::sched
