// The cost of a task: an empty one is created, submitted and run, and its end noticed, at each
// level of the tree of queues. Repeats tables I and II of Trahay & Denis 2009.
#include <benchmark/benchmark.h>

#include <atomic>
#include <memory>
#include <string>

#include "scheduler/scheduler.h"
#include "scheduler/task/queues.h"
#include "topology/machine.h"

namespace mpc::sched {
namespace {

struct Empty : Task {
  Empty() : Task(&finish) {}
  static TaskResult finish(Task& task) {
    // Release pairs with the acquire of the waiting side; the task may be destroyed after it.
    static_cast<Empty&>(task).done.store(true, std::memory_order_release);
    return TaskResult::kDone;
  }
  bool is_done() const { return done.load(std::memory_order_acquire); }
  std::atomic<bool> done{false};
};

const topo::Machine& machine() {
  static const std::unique_ptr<topo::Machine> detected =
      std::move(topo::Machine::detect()).value();
  return *detected;
}

std::unique_ptr<Scheduler> start(int workers) {
  SchedulerConfig config;
  config.machine = &machine();
  for (int i = 0; i < workers; ++i) config.cores.push_back(i);
  return std::move(Scheduler::start(config)).value();
}

// The submitter is an Ult of worker 0, as core #0 in the paper; `entry` is its body.
template <class Entry>
void run_on_worker_0(Scheduler& scheduler, Entry entry) {
  (void)scheduler.spawn({[&] { entry(scheduler.tasks()); }, 0});
  scheduler.wait_all();
}

// One worker, everything on one core: create, submit, switch to the carrier, take, run, notice.
void BM_TaskOwnCore(benchmark::State& state) {
  auto scheduler = start(1);
  run_on_worker_0(*scheduler, [&](TaskQueues& tasks) {
    for (auto _ : state) {
      Empty task;
      tasks.submit(task, TaskScope::kCore);
      Execution::self().yield();
      if (!task.is_done()) state.SkipWithError("the task did not run at the switch");
    }
  });
}
BENCHMARK(BM_TaskOwnCore);

// The same, 16 tasks at a time: without the two switches per task.
void BM_TaskOwnCoreBatch(benchmark::State& state) {
  constexpr int kBatch = 16;
  auto scheduler = start(1);
  run_on_worker_0(*scheduler, [&](TaskQueues& tasks) {
    for (auto _ : state) {
      Empty batch[kBatch];
      for (Empty& task : batch) tasks.submit(task, TaskScope::kCore);
      while (!batch[kBatch - 1].is_done()) Execution::self().yield();
    }
  });
  state.SetItemsProcessed(kBatch * state.iterations());
}
BENCHMARK(BM_TaskOwnCoreBatch);

// Queued for worker `near` at level `level` of its path. Core 0 submits and polls for the end
// (it does not run tasks), the idle workers below the object compete for the task.
void BM_TaskRemote(benchmark::State& state) {
  const int workers = machine().core_count();
  const int near = static_cast<int>(state.range(0));
  const int level = static_cast<int>(state.range(1));
  auto scheduler = start(workers);
  const TaskQueue& queue = scheduler->tasks().queue(near, level);
  run_on_worker_0(*scheduler, [&](TaskQueues& tasks) {
    for (auto _ : state) {
      Empty task;
      tasks.submit_near(task, near, queue.scope);
      while (!task.is_done()) __builtin_ia32_pause();
    }
  });
  constexpr const char* kScopes[] = {"core", "cache", "numa", "chip", "machine"};
  state.SetLabel(std::string(kScopes[static_cast<int>(queue.scope)]) + " queue, " +
                 std::to_string(queue.workers.size()) + " cores");
}
void remote_arguments(benchmark::internal::Benchmark* benchmark) {
  const int workers = machine().core_count();
  if (workers < 2) return;
  auto scheduler = start(workers);
  TaskQueues& tasks = scheduler->tasks();
  for (int near = 1; near < workers; ++near) benchmark->Args({near, 0});
  // Each shared object once, seen from its last worker; objects with core 0 alone do not count.
  for (int near = 1; near < workers; ++near)
    for (int level = 1; level < tasks.level_count(near); ++level)
      if (tasks.queue(near, level).workers.back() == near)
        benchmark->Args({near, level});
}
BENCHMARK(BM_TaskRemote)->Apply(remote_arguments)->UseRealTime();

// The machine's queue with `n` submitters, each on its own worker, that take part in running:
// each keeps one task in flight and yields until it is done.
void BM_TaskMachineAllCores(benchmark::State& state) {
  const int workers = static_cast<int>(state.range(0));
  constexpr int kRounds = 2000;
  auto scheduler = start(workers);
  for (auto _ : state) {
    scheduler->hold();
    for (int worker = 0; worker < workers; ++worker)
      (void)scheduler->spawn({[&] {
                                for (int i = 0; i < kRounds; ++i) {
                                  Empty task;
                                  scheduler->tasks().submit(task, TaskScope::kMachine);
                                  while (!task.is_done()) Execution::self().yield();
                                }
                              },
                              worker});
    scheduler->release();
    scheduler->wait_all();
  }
  state.SetItemsProcessed(state.iterations() * workers * kRounds);
}
void worker_arguments(benchmark::internal::Benchmark* benchmark) {
  for (int workers = 1; workers <= machine().core_count(); workers *= 2)
    benchmark->Arg(workers);
}
BENCHMARK(BM_TaskMachineAllCores)->Apply(worker_arguments)->UseRealTime();

// A sleeping worker is woken for each task: the cost for the submitter, and the time until the
// task has run.
void BM_TaskWakesASleeper(benchmark::State& state) {
  if (machine().core_count() < 2) {
    state.SkipWithError("needs two cores");
    return;
  }
  auto scheduler = start(2);
  run_on_worker_0(*scheduler, [&](TaskQueues& tasks) {
    for (auto _ : state) {
      state.PauseTiming();
      // Long enough for the other worker to fall asleep (sched.spin_us is 20).
      const uint64_t end = now_ns() + 100'000;
      while (now_ns() < end) __builtin_ia32_pause();
      Empty task;
      state.ResumeTiming();
      tasks.submit_near(task, 1, TaskScope::kCore);
      while (!task.is_done()) __builtin_ia32_pause();
    }
  });
}
BENCHMARK(BM_TaskWakesASleeper)->UseRealTime()->Iterations(2000);

}  // namespace
}  // namespace mpc::sched

BENCHMARK_MAIN();
